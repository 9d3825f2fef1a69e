//! A bounded map, for everything that a limiter remembers.

use std::{
    collections::HashMap,
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The bound of what has no option for it, entries.
pub(super) const BOUND: usize = 10_000;

/// A map of two generations. An entry that is used moves to the young generation. When that is full, the old
/// one is dropped, and the young one becomes the old one. So the most recently used entries, half of the
/// bound, are always kept.
#[derive(Debug)]
pub(super) struct Bounded<V> {
    /// Entries in one generation; 0 remembers nothing.
    generation: usize,
    generations: Mutex<Generations<V>>,
}

/// The entries, locked: several steps on them are one.
pub(super) struct Entries<'a, V> {
    generation: usize,
    generations: MutexGuard<'a, Generations<V>>,
}

#[derive(Debug)]
struct Generations<V> {
    young: HashMap<String, V>,
    old: HashMap<String, V>,
}

impl<V> Default for Generations<V> {
    fn default() -> Self {
        Self { young: HashMap::new(), old: HashMap::new() }
    }
}

impl<V> Bounded<V> {
    /// A map of at most this many entries; 0 holds none.
    pub(super) fn new(bound: usize) -> Self {
        Self { generation: bound.div_ceil(2), generations: Mutex::default() }
    }

    pub(super) fn lock(&self) -> Entries<'_, V> {
        // After a panic in another thread the map is still valid.
        let generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        Entries { generation: self.generation, generations }
    }
}

impl<V> Entries<'_, V> {
    pub(super) fn get(&mut self, key: &str) -> Option<&mut V> {
        if let Some((key, value)) = self.generations.old.remove_entry(key) {
            self.put(key, value);
        }
        self.generations.young.get_mut(key)
    }

    pub(super) fn put(&mut self, key: String, value: V) {
        if self.generation == 0 {
            return;
        }
        let Generations { young, old } = &mut *self.generations;
        old.remove(&key);
        if young.len() >= self.generation && !young.contains_key(&key) {
            *old = mem::take(young);
        }
        young.insert(key, value);
    }

    pub(super) fn remove(&mut self, key: &str) {
        self.generations.young.remove(key);
        self.generations.old.remove(key);
    }

    pub(super) fn clear(&mut self) {
        *self.generations = Generations::default();
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.generations.young.len() + self.generations.old.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_holds_and_what_is_used_stays() {
        let bounded = Bounded::new(8);
        bounded.lock().put("used".into(), 0);
        for index in 0..100 {
            let mut entries = bounded.lock();
            entries.put(index.to_string(), index);
            assert!(entries.get("used").is_some(), "after {index}");
            assert!(entries.len() <= 8);
        }
        assert!(bounded.lock().get("0").is_none());
    }

    #[test]
    fn what_is_removed_is_gone_from_both_generations() {
        let bounded = Bounded::new(4);
        for key in ["a", "b", "c"] {
            bounded.lock().put(key.into(), ());
        }
        for key in ["a", "c"] {
            bounded.lock().remove(key);
            assert!(bounded.lock().get(key).is_none(), "{key}");
        }
        assert!(bounded.lock().get("b").is_some());
    }
}
