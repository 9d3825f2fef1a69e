//! What is remembered of subjects between requests, within bounds. Losing it costs a round trip.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use onewindow::Hint;

/// Two generations: what is used moves to the young one; when that is full, the old one is
/// dropped and the young one grows old. Half of the bound is always the most recently used.
#[derive(Debug)]
pub struct Hints {
    /// Entries in one generation; 0 remembers nothing.
    generation: usize,
    entries: Mutex<Generations>,
}

#[derive(Debug, Default)]
struct Generations {
    young: HashMap<String, Entry>,
    old: HashMap<String, Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    hint: Hint,
    learned_ms: u64,
}

impl Hints {
    /// Remembers so many subjects; 0 remembers nothing.
    pub fn new(bound: usize) -> Self {
        Self { generation: bound.div_ceil(2), entries: Mutex::default() }
    }

    /// What is remembered of a subject.
    pub fn get(&self, key: &str) -> Option<Hint> {
        self.lock().touch(key, self.generation).map(|entry| entry.hint.clone())
    }

    /// The hint, where it may hold a rejection that is still to be repeated.
    pub fn rejecting(&self, key: &str, now_ms: u64, repeat_for: Duration) -> Option<Hint> {
        let mut entries = self.lock();
        let entry = entries.touch(key, self.generation)?;
        // A clock that was set back says nothing about the age.
        let age_ms = now_ms.checked_sub(entry.learned_ms)?;
        let fresh = u128::from(age_ms) < repeat_for.as_millis();
        (fresh && !entry.hint.rejections.is_empty()).then(|| entry.hint.clone())
    }

    /// Remembers a hint, heard at this time.
    pub fn put(&self, hint: Hint, learned_ms: u64) {
        self.lock().put(hint.key.clone(), Entry { hint, learned_ms }, self.generation);
    }

    /// A hint that tells of shards alone: what is known of rejections stays.
    pub fn learn_shard_count(&self, hint: Hint, learned_ms: u64) {
        let mut entries = self.lock();
        match entries.touch(&hint.key, self.generation) {
            Some(entry) => entry.hint.shard_count = entry.hint.shard_count.max(hint.shard_count),
            None => entries.put(hint.key.clone(), Entry { hint, learned_ms }, self.generation),
        }
    }

    /// Forgets the rejections of a subject.
    pub fn forget_rejections(&self, key: &str) {
        if let Some(entry) = self.lock().touch(key, self.generation) {
            entry.hint.rejections.clear();
        }
    }

    /// Forgets everything.
    pub fn clear(&self) {
        *self.lock() = Generations::default();
    }

    fn lock(&self) -> MutexGuard<'_, Generations> {
        // What a panic left behind is a map like any other.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Generations {
    fn touch(&mut self, key: &str, generation: usize) -> Option<&mut Entry> {
        if let Some((key, entry)) = self.old.remove_entry(key) {
            self.put(key, entry, generation);
        }
        self.young.get_mut(key)
    }

    fn put(&mut self, key: String, entry: Entry, generation: usize) {
        if generation == 0 {
            return;
        }
        self.old.remove(&key);
        if self.young.len() >= generation && !self.young.contains_key(&key) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, entry);
    }
}

#[cfg(test)]
mod tests {
    use onewindow::{KnownRejection, LimitStatus};

    use super::*;

    fn hint(key: &str) -> Hint {
        let status = LimitStatus { name: "l".into(), capacity: 1, available: 0, resets_at_ms: None };
        let rejections = vec![KnownRejection { status, above_milli: 0, until_ms: u64::MAX }];
        Hint { key: key.into(), shard_count: 2, rejections }
    }

    #[test]
    fn the_bound_holds_and_what_is_used_stays() {
        let hints = Hints::new(8);
        hints.put(hint("used"), 0);
        for index in 0..100 {
            hints.put(hint(&index.to_string()), 0);
            assert!(hints.get("used").is_some(), "after {index}");
            let entries = hints.lock();
            assert!(entries.young.len() + entries.old.len() <= 8);
        }
        assert!(hints.get("0").is_none());
    }

    #[test]
    fn nothing_is_remembered_where_nothing_may_be() {
        let hints = Hints::new(0);
        hints.put(hint("a"), 0);
        assert_eq!(hints.get("a"), None);
    }

    #[test]
    fn a_rejection_is_repeated_for_a_while_only() {
        let hints = Hints::new(8);
        hints.put(hint("a"), 1_000);
        let repeated = |now_ms| hints.rejecting("a", now_ms, Duration::from_millis(500)).is_some();
        assert!(repeated(1_000) && repeated(1_499));
        assert!(!repeated(1_500) && !repeated(999));
        hints.forget_rejections("a");
        assert!(!repeated(1_000));
        assert_eq!(hints.get("a").map(|hint| hint.shard_count), Some(2));
    }
}
