//! What an answer took and came to, for logs and metrics.
//!
//! No entity and no resource is named: an entity's id is often an API key.

use std::{fmt, time::Duration};

use onewindow::{Decision, LimitStatus, Outcome, PreviewOutcome, Settlement};
use serde::Serialize;

/// What it took to come to one answer, follow-ups left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// Sequential waits for the table.
    pub round_trips: u32,
    /// HTTP requests, with the resends.
    pub requests: u32,
    /// How many were sent again after a throttle, a conflict or a lost reply.
    pub resends: u32,
}

/// An answer, as logs and metrics want it. It is displayed as one line of JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AnswerRecord {
    /// `acquire`, `settle` or `preview`.
    pub operation: &'static str,
    /// What it came to, in the words of the contract: `admitted`, `settled`, `report`, …
    pub outcome: &'static str,
    /// Whether a request was let through although the table did not answer.
    pub degraded: bool,
    /// How long it took, ms.
    pub latency_ms: f64,
    /// What it took.
    #[serde(flatten)]
    pub cost: Cost,
    /// The latest reset that was told, epoch ms; none where no window is live.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resets_at_ms: Option<u64>,
    /// The wait that was told with a rejection, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl AnswerRecord {
    pub(crate) fn of_decision(decision: &Decision, degraded: bool, cost: Cost, took: Duration) -> Self {
        let Decision { outcome, limits, .. } = decision;
        let record = Self::new("acquire", outcome_name(outcome), cost, took);
        let (resets_at_ms, retry_after_ms) = (resets_at_ms(limits), retry_after_ms(outcome));
        Self { degraded, resets_at_ms, retry_after_ms, ..record }
    }

    pub(crate) fn of_settlement(settlement: &Settlement, cost: Cost, took: Duration) -> Self {
        let outcome = match settlement {
            Settlement::Settled => "settled",
            Settlement::WindowOver => "window-over",
            Settlement::ItemGone => "item-gone",
            Settlement::Failed(_) => "failed",
            Settlement::Unavailable(_) => "unavailable",
            Settlement::Misconfigured(_) => "misconfigured",
        };
        Self::new("settle", outcome, cost, took)
    }

    pub(crate) fn of_preview(outcome: &PreviewOutcome, cost: Cost, took: Duration) -> Self {
        let (name, resets_at_ms) = match outcome {
            PreviewOutcome::Report(report) => {
                let resets = report.limits.iter().filter_map(|limit| limit.status.resets_at_ms);
                ("report", resets.max())
            }
            PreviewOutcome::Failed(_) => ("failed", None),
            PreviewOutcome::Unavailable(_) => ("unavailable", None),
            PreviewOutcome::Misconfigured(_) => ("misconfigured", None),
        };
        Self { resets_at_ms, ..Self::new("preview", name, cost, took) }
    }

    fn new(operation: &'static str, outcome: &'static str, cost: Cost, took: Duration) -> Self {
        let latency_ms = took.as_secs_f64() * 1000.0;
        Self {
            operation,
            outcome,
            degraded: false,
            latency_ms,
            cost,
            resets_at_ms: None,
            retry_after_ms: None,
        }
    }
}

impl fmt::Display for AnswerRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

/// The latest reset of these limits, epoch ms; none where no window is live.
#[must_use]
pub fn resets_at_ms(limits: &[LimitStatus]) -> Option<u64> {
    limits.iter().filter_map(|limit| limit.resets_at_ms).max()
}

/// The wait that a rejection tells, ms.
#[must_use]
pub const fn retry_after_ms(outcome: &Outcome) -> Option<u64> {
    match outcome {
        Outcome::Rejected { retry_after_ms } | Outcome::Contended { retry_after_ms } => Some(*retry_after_ms),
        _ => None,
    }
}

/// The outcome as a label with few values.
#[must_use]
pub const fn outcome_name(outcome: &Outcome) -> &'static str {
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
