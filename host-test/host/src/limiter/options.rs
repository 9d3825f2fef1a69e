//! How a limiter behaves.

use std::time::Duration;

use super::telemetry::Recorder;
use crate::clock::Clock;

/// What to do with a request that the table did not answer in time.
///
/// It does not matter where the table *refuses* us: a wrong set-up must not become an unlimited
/// quota.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnUnavailable {
    /// Let it through; it is counted nowhere.
    Allow,
    /// Turn it away.
    #[default]
    Block,
}

/// How a limiter behaves.
#[derive(Clone, Debug)]
pub struct LimiterOptions {
    /// The clock that windows are read against.
    pub clock: Clock,
    /// How long a caller waits for an answer at most, resends and all.
    pub deadline: Duration,
    /// How long a follow-up may take, resends and all. Nobody waits for it.
    pub follow_up_deadline: Duration,
    /// What to do where the table did not answer in time.
    pub on_unavailable: OnUnavailable,
    /// Subjects remembered at most; about 200 bytes each. 0 remembers nothing.
    pub remembered_subjects: usize,
    /// How long a rejection that the table gave is repeated without asking the table, at most.
    ///
    /// Such a rejection costs nothing, where one that reaches the table costs a write unit. It
    /// is never repeated beyond the instant it was reported for; this bounds how long an operator's
    /// top-up or reset goes unnoticed here. Zero asks the table each time.
    pub repeat_rejections_for: Duration,
    /// How long configuration that was read from the table (section 8) is kept. It is read for
    /// requests that bring no limits of their own, in one batch. None: the table's is never read,
    /// and such a request uses every limit as the item has it.
    pub keep_configuration_for: Option<Duration>,
    /// Is called with a record of every answer.
    pub recorder: Option<Recorder>,
}

impl Default for LimiterOptions {
    fn default() -> Self {
        Self {
            clock: Clock::System,
            deadline: Duration::from_secs(1),
            follow_up_deadline: Duration::from_secs(10),
            on_unavailable: OnUnavailable::Block,
            remembered_subjects: 10_000,
            repeat_rejections_for: Duration::from_secs(10),
            keep_configuration_for: None,
            recorder: None,
        }
    }
}
