//! What an answer took and came to, for whoever listens: a `tracing` span for each, which a
//! subscriber such as `tracing-opentelemetry` exports as it is.
//!
//! No entity and no resource is named: an entity's id is often an API key.

use std::future::Future;

use onewindow::{LimitStatus, Outcome};
use tracing::{Instrument as _, Span, field::Empty};

use crate::{
    dynamo::Cost,
    telemetry::{outcome_name, resets_at_ms, retry_after_ms},
};

/// What a span reports at its end. Its duration is the latency of the answer.
pub(super) trait Reported {
    fn outcome(&self) -> &Outcome;
    fn limits(&self) -> &[LimitStatus];
    fn cost(&self) -> &Cost;
}

/// Answers within a span of its own.
pub(super) async fn in_span<T: Reported>(answer: impl Future<Output = T>) -> T {
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
    record(&span, &answer);
    answer
}

fn record(span: &Span, answer: &impl Reported) {
    let outcome = answer.outcome();
    span.record("outcome", outcome_name(outcome));
    let Cost { round_trips, requests, resends, .. } = answer.cost();
    span.record("round_trips", round_trips).record("requests", requests).record("resends", resends);
    // What is none stays empty.
    span.record("resets_at_ms", resets_at_ms(answer.limits()));
    span.record("retry_after_ms", retry_after_ms(outcome));
}
