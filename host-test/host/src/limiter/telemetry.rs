//! Logs and metrics: a record for each answer, and a `tracing` span for each acquire, which a subscriber
//! such as `tracing-opentelemetry` exports as it is.
//!
//! No entity and no resource is named: an entity's id is often an API key.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::{Duration, Instant},
};

use onewindow::{LimitStatus, Outcome};
use serde::Serialize;
use tracing::{Instrument as _, Span, field::Empty};

use crate::dynamo::Cost;

/// The record of an answer, for logs and metrics. It is displayed as one line of JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AnswerRecord {
    /// `acquire`, `settle` or `preview`.
    pub operation: &'static str,
    /// The result, by its name in the contract: `admitted`, `settled`, `report`, …
    pub outcome: &'static str,
    /// Whether the request was let through although the table did not answer.
    pub degraded: bool,
    /// The latency, ms.
    pub latency_ms: f64,
    /// Its cost: round trips and requests.
    #[serde(flatten)]
    pub cost: Cost,
    /// The latest reset that was reported, epoch ms; none where no window is live.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resets_at_ms: Option<u64>,
    /// The wait that a rejection reported, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl AnswerRecord {
    /// A record without a reset and a wait.
    pub(super) fn new(operation: &'static str, outcome: &'static str, cost: &Cost) -> Self {
        Self {
            operation,
            outcome,
            degraded: false,
            latency_ms: 0.0,
            cost: cost.clone(),
            resets_at_ms: None,
            retry_after_ms: None,
        }
    }

    /// The record of an acquire.
    pub(super) fn of_outcome(outcome: &Outcome, limits: &[LimitStatus], degraded: bool, cost: &Cost) -> Self {
        let resets_at_ms = limits.iter().filter_map(|limit| limit.resets_at_ms).max();
        let retry_after_ms = match outcome {
            Outcome::Rejected { retry_after_ms } | Outcome::Contended { retry_after_ms } => {
                Some(*retry_after_ms)
            }
            _ => None,
        };
        let record = Self::new("acquire", outcome_name(outcome), cost);
        Self { degraded, resets_at_ms, retry_after_ms, ..record }
    }
}

impl fmt::Display for AnswerRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

/// The outcome as a label with few values.
const fn outcome_name(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Admitted(_) => "admitted",
        Outcome::Rejected { .. } => "rejected",
        Outcome::Contended { .. } => "contended",
        Outcome::NeverFits { .. } => "never-fits",
        Outcome::Disabled => "disabled",
        Outcome::Failed(_) => "failed",
        Outcome::Unavailable(_) => "unavailable",
        Outcome::Misconfigured(_) => "misconfigured",
    }
}

/// A function that is called with the record of every answer, before the answer is returned.
///
/// Where it panics, the panic is logged and the answer is returned: its tokens are debited. A guest that is
/// compiled to abort at a panic ends all the same.
#[derive(Clone)]
pub struct Recorder(Arc<dyn Fn(&AnswerRecord) + Send + Sync>);

impl Recorder {
    /// A recorder that calls `record`.
    pub fn new(record: impl Fn(&AnswerRecord) + Send + Sync + 'static) -> Self {
        Self(Arc::new(record))
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Recorder").finish_non_exhaustive()
    }
}

/// An answer that can be recorded.
pub(super) trait Recorded {
    /// Its record, without a latency.
    fn record(&self) -> AnswerRecord;
}

/// Passes the record of the answer to the recorder, where there is one.
pub(super) async fn recorded<A: Recorded>(recorder: Option<&Recorder>, answer: impl Future<Output = A>) -> A {
    let began = Instant::now();
    let answer = answer.await;
    if let Some(Recorder(record)) = recorder {
        let said = AnswerRecord { latency_ms: milliseconds(began.elapsed()), ..answer.record() };
        // The limiter shares no state with the recorder, so nothing of it can be half done.
        if catch_unwind(AssertUnwindSafe(|| record(&said))).is_err() {
            tracing::error!(operation = said.operation, "the recorder panicked; the answer stands");
        }
    }
    answer
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// Runs the request within a span of its own, whose duration is the latency.
pub(super) async fn in_span<A: Recorded>(answer: impl Future<Output = A>) -> A {
    let span = tracing::debug_span!(
        "onewindow.acquire",
        outcome = Empty,
        round_trips = Empty,
        requests = Empty,
        resends = Empty,
        resets_at_ms = Empty,
        retry_after_ms = Empty,
    );
    let answer = answer.instrument(span.clone()).await;
    if !span.is_disabled() {
        fill_in(&span, &answer.record());
    }
    answer
}

fn fill_in(span: &Span, record: &AnswerRecord) {
    span.record("outcome", record.outcome);
    let Cost { round_trips, requests, resends, .. } = &record.cost;
    span.record("round_trips", round_trips).record("requests", requests).record("resends", resends);
    // A value that is none leaves its field empty.
    span.record("resets_at_ms", record.resets_at_ms);
    span.record("retry_after_ms", record.retry_after_ms);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_one_line_in_the_words_of_the_span() {
        let limits = [LimitStatus {
            name: "session".into(),
            capacity: 3,
            available: 0,
            resets_at_ms: Some(1_800_000_000_000),
        }];
        let outcome = Outcome::Rejected { retry_after_ms: 250 };
        let cost = Cost { round_trips: 1, requests: 1, resends: 0, operations: vec!["UpdateItem"] };
        let record = AnswerRecord::of_outcome(&outcome, &limits, false, &cost);
        let latency_ms = milliseconds(Duration::from_micros(1500));
        assert_eq!(
            AnswerRecord { latency_ms, ..record }.to_string(),
            r#"{"operation":"acquire","outcome":"rejected","degraded":false,"latency_ms":1.5,"round_trips":1,"requests":1,"resends":0,"resets_at_ms":1800000000000,"retry_after_ms":250}"#
        );
    }
}
