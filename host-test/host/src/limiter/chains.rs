//! Who is above whom, as the last answer told. Losing it costs round trips, never correctness.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use onewindow::{CascadeDecision, Outcome};

/// Entities whose chain is kept at most; beyond, all are forgotten.
const MOST: usize = 10_000;

#[derive(Debug, Default)]
pub(super) struct Chains(Mutex<HashMap<String, Vec<String>>>);

impl Chains {
    pub(super) fn get(&self, key: &str) -> Vec<String> {
        self.lock().get(key).cloned().unwrap_or_default()
    }

    pub(super) fn put(&self, key: String, above: Vec<String>) {
        let mut chains = self.lock();
        if chains.len() >= MOST {
            chains.clear();
        }
        chains.insert(key, above);
    }

    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Vec<String>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A decision that was come to without a machine.
pub(super) fn bare(outcome: Outcome) -> CascadeDecision {
    CascadeDecision { outcome, decided_by: 0, levels: Vec::new(), follow_ups: Vec::new() }
}
