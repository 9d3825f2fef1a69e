//! What must be true of a write by itself: I6 and I10.

use super::violation::Violation;
use crate::{
    quota::Quota,
    setting::Entity,
    store::{Item, Landed},
};

/// I10: an attribute that is not ours stays as it is.
pub(super) fn foreign_survives(before: &Item, after: &Item) -> Result<(), Violation> {
    if before.get("foreign") == after.get("foreign") {
        return Ok(());
    }
    Err(Violation::new("I10", "an attribute that is not ours changed".into()))
}

/// I6: a transaction that creates a shard grants it a share, or moves what a donor held; never both.
pub(super) fn conserved(entity: &Entity, landed: &[Landed]) -> Result<(), Violation> {
    let Some(created) = landed.iter().find(|write| write.before.is_none()) else { return Ok(()) };
    let created = Quota::of(&created.after);
    let given = created.tokens + created.consumed;
    let paid: i128 = landed
        .iter()
        .filter_map(|write| Some(Quota::of(write.before.as_ref()?).tokens - Quota::of(&write.after).tokens))
        .sum();
    let share = entity.capacity_milli().div_euclid(created.granted.max(1));
    if paid == given || (paid == 0 && given <= share) {
        return Ok(());
    }
    Err(Violation::new(
        "I6",
        format!("a shard was created with {given} millitokens, and donors paid {paid} for it"),
    ))
}
