//! The options of a limiter.

use std::time::Duration;

use super::telemetry::Recorder;
use crate::clock::Clock;

/// What to do with a request that the table did not answer in time.
///
/// Where the table *refuses* the host, this is not used: a wrong set-up must not become an unlimited
/// quota.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnUnavailable {
    /// Admit the request. No tokens are debited.
    Allow,
    /// Refuse the request.
    #[default]
    Block,
}

/// The options of a limiter.
#[derive(Clone, Debug)]
pub struct LimiterOptions {
    /// The clock that windows are read against.
    pub clock: Clock,
    /// How long a caller waits for an answer at most, resends included.
    pub deadline: Duration,
    /// How long a follow-up may take, resends included. Nobody waits for it.
    pub follow_up_deadline: Duration,
    /// What to do where the table did not answer in time.
    pub on_unavailable: OnUnavailable,
    /// Subjects whose hint is remembered, at most; about 200 bytes each. 0 remembers no hint. What the table
    /// configures and the chains of entities have a bound of their own, 10,000 entries each.
    pub remembered_subjects: usize,
    /// How long a rejection by the table is repeated from memory, at most.
    ///
    /// A repeated rejection costs nothing; one that reaches the table costs a write unit. It is never
    /// repeated after its reset instant. This option bounds how long an operator's top-up or reset goes
    /// unnoticed by this host. With zero, every request goes to the table.
    pub repeat_rejections_for: Duration,
    /// How long configuration that was read from the table (section 8) is kept. It is read for requests
    /// that bring no limits, in one batch. None: it is never read, and a request without limits uses
    /// every limit as the item stores it.
    pub keep_configuration_for: Option<Duration>,
    /// A function that is called with a record of every answer. Where it panics, the answer stands.
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
