//! What one sequence of calls took.

/// What it took to come to one decision, follow-ups left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Sequential waits for the table: the calls of one step are made at the same time.
    pub round_trips: u32,
    /// HTTP requests sent, with the resends.
    pub requests: u32,
    /// How many of the requests were sent again after a throttle or a lost reply.
    pub resends: u32,
    /// The operation of each call, in the order they were made, a resend not counted again.
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
