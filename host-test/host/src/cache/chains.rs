//! The entities above an entity, as the last cascade found them.

use super::bounded::{BOUND, Bounded};

#[derive(Debug)]
pub(crate) struct Chains(Bounded<Vec<String>>);

impl Default for Chains {
    /// Remembers the chains of at most [`BOUND`] entities.
    fn default() -> Self {
        Self(Bounded::new(BOUND))
    }
}

impl Chains {
    /// The entities above, the nearest first; empty where none is known.
    pub(crate) fn get(&self, key: &str) -> Vec<String> {
        self.0.lock().get(key).cloned().unwrap_or_default()
    }

    pub(crate) fn put(&self, key: String, above: Vec<String>) {
        self.0.lock().put(key, above);
    }

    pub(crate) fn clear(&self) {
        self.0.lock().clear();
    }
}
