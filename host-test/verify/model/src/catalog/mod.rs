//! The worlds that are explored, by name: small ones in every order, larger ones at random.

mod base;
mod cascades;
mod large;
mod small;

use crate::setting::Setting;

/// Worlds small enough for every order of events.
#[must_use]
pub fn small() -> Vec<Setting> {
    small::small().into_iter().chain(cascades::small()).collect()
}

/// Larger worlds, for random orders.
#[must_use]
pub fn large() -> Vec<Setting> {
    large::large().into_iter().chain(cascades::large()).collect()
}

/// Every world.
pub fn all() -> impl Iterator<Item = Setting> {
    small().into_iter().chain(large())
}

/// The world of that name.
#[must_use]
pub fn named(name: &str) -> Option<Setting> {
    all().find(|setting| setting.name == name)
}
