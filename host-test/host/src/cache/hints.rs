//! The hints of earlier decisions.

use std::time::Duration;

use onewindow::Hint;

use super::bounded::Bounded;

#[derive(Debug)]
pub(crate) struct Hints(Bounded<Entry>);

#[derive(Debug)]
struct Entry {
    hint: Hint,
    learned_ms: u64,
}

impl Hints {
    /// Remembers at most this many subjects; 0 remembers nothing.
    pub(crate) fn new(bound: usize) -> Self {
        Self(Bounded::new(bound))
    }

    pub(crate) fn get(&self, key: &str) -> Option<Hint> {
        self.0.lock().get(key).map(|entry| entry.hint.clone())
    }

    /// The hint, where it holds rejections and is young enough to repeat them.
    pub(crate) fn rejecting(&self, key: &str, now_ms: u64, repeat_for: Duration) -> Option<Hint> {
        let mut entries = self.0.lock();
        let entry = entries.get(key)?;
        // Where the clock was set back, the age is unknown.
        let age_ms = now_ms.checked_sub(entry.learned_ms)?;
        let fresh = u128::from(age_ms) < repeat_for.as_millis();
        (fresh && !entry.hint.rejections.is_empty()).then(|| entry.hint.clone())
    }

    /// Remembers a hint that was learned at this time.
    pub(crate) fn put(&self, hint: Hint, learned_ms: u64) {
        self.0.lock().put(hint.key.clone(), Entry { hint, learned_ms });
    }

    /// Raises the shard count only; the known rejections stay.
    pub(crate) fn learn_shard_count(&self, hint: Hint, learned_ms: u64) {
        let mut entries = self.0.lock();
        match entries.get(&hint.key) {
            Some(entry) => entry.hint.shard_count = entry.hint.shard_count.max(hint.shard_count),
            None => entries.put(hint.key.clone(), Entry { hint, learned_ms }),
        }
    }

    pub(crate) fn forget_rejections(&self, key: &str) {
        if let Some(entry) = self.0.lock().get(key) {
            entry.hint.rejections.clear();
        }
    }

    pub(crate) fn clear(&self) {
        self.0.lock().clear();
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
