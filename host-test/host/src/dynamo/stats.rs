//! The counters of a client.

use std::sync::atomic::{AtomicU64, Ordering};

/// The operations that are counted by name.
const OPERATIONS: [&str; 6] =
    ["UpdateItem", "PutItem", "BatchGetItem", "TransactWriteItems", "CreateTable", "DescribeTable"];

/// What a client has sent since it was created.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// HTTP requests, resends and follow-ups included.
    pub requests: u64,
    /// Round trips: calls that are sent at the same time count once.
    pub round_trips: u64,
    /// The requests by operation; operations that were never sent are left out.
    pub operations: Vec<OperationStats>,
}

/// The requests of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationStats {
    /// Its name, such as `UpdateItem`; `other` for what is not counted by name.
    pub operation: &'static str,
    /// HTTP requests.
    pub requests: u64,
}

impl Stats {
    /// Requests of one operation.
    #[must_use]
    pub fn requests_of(&self, operation: &str) -> u64 {
        self.operations
            .iter()
            .find(|counted| counted.operation == operation)
            .map_or(0, |counted| counted.requests)
    }

    /// The difference to `earlier`: what was sent since then.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let less = |now: u64, then: u64| now.saturating_sub(then);
        Self {
            requests: less(self.requests, earlier.requests),
            round_trips: less(self.round_trips, earlier.round_trips),
            operations: self
                .operations
                .iter()
                .map(|now| OperationStats {
                    operation: now.operation,
                    requests: less(now.requests, earlier.requests_of(now.operation)),
                })
                .filter(|counted| counted.requests > 0)
                .collect(),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    round_trips: AtomicU64,
    operations: [AtomicU64; OPERATIONS.len()],
    other: AtomicU64,
}

impl Counters {
    pub(super) fn add_round_trip(&self) {
        self.round_trips.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn add_request(&self, operation: &str) {
        let index = OPERATIONS.iter().position(|known| *known == operation);
        index
            .and_then(|index| self.operations.get(index))
            .unwrap_or(&self.other)
            .fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn read(&self) -> Stats {
        let named = OPERATIONS.into_iter().zip(&self.operations).chain([("other", &self.other)]);
        let operations: Vec<_> = named
            .map(|(operation, count)| OperationStats { operation, requests: count.load(Ordering::Relaxed) })
            .filter(|counted| counted.requests > 0)
            .collect();
        Stats {
            requests: operations.iter().map(|counted| counted.requests).sum(),
            round_trips: self.round_trips.load(Ordering::Relaxed),
            operations,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_names_what_was_sent_in_between() {
        let counters = Counters::default();
        counters.add_request("UpdateItem");
        counters.add_round_trip();
        let before = counters.read();
        counters.add_request("UpdateItem");
        counters.add_request("Unheard");
        counters.add_round_trip();
        let sent = counters.read().since(&before);
        assert_eq!((sent.requests, sent.round_trips), (2, 1));
        assert_eq!((sent.requests_of("UpdateItem"), sent.requests_of("other")), (1, 1));
        assert_eq!(sent.requests_of("PutItem"), 0);
    }
}
