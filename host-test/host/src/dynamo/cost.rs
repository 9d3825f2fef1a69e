//! The cost of one sequence of calls.

use serde::Serialize;

/// The cost of one decision, without its follow-ups.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// Round trips: the calls of one step are sent at the same time and count once.
    pub round_trips: u32,
    /// HTTP requests, resends included.
    pub requests: u32,
    /// How many of the requests were sent again after a throttle, a conflict or a lost reply.
    pub resends: u32,
    /// The operation of each call, in the order they were sent; resends are not counted again.
    #[serde(skip)]
    pub operations: Vec<&'static str>,
}

impl Cost {
    /// Calls of one operation, such as `UpdateItem`.
    #[must_use]
    pub fn calls_of(&self, operation: &str) -> usize {
        self.operations.iter().filter(|other| **other == operation).count()
    }

    pub(super) fn add_round_trip(&mut self, calls: impl Iterator<Item = (&'static str, u32)>) {
        self.round_trips += 1;
        for (operation, sent) in calls {
            self.requests += sent;
            self.resends += sent.saturating_sub(1);
            self.operations.push(operation);
        }
    }
}
