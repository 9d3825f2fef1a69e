//! The answers of a limiter.

use onewindow::{CascadeDecision, Decision, Lease, Outcome, PreviewOutcome, Settlement};

use super::telemetry::{AnswerRecord, Recorded};
use crate::dynamo::Cost;

/// The answer to an acquire.
#[derive(Clone, Debug)]
#[must_use = "it says whether the tokens were debited"]
pub struct Answer {
    /// What was decided. Its follow-ups are with the limiter.
    pub decision: Decision,
    /// Whether the request is let through although the table did not answer
    /// ([`OnUnavailable::Allow`](super::OnUnavailable::Allow)). The outcome stays what it is:
    /// unavailable.
    pub degraded: bool,
    /// How many calls follow the answer.
    pub follow_ups: usize,
    /// What it took to come to the answer; the follow-ups are not in it.
    pub cost: Cost,
}

impl Answer {
    /// Whether the caller may go ahead: the tokens were debited, or it is let through under
    /// [`OnUnavailable::Allow`](super::OnUnavailable::Allow).
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.degraded || self.decision.outcome.is_admitted()
    }

    /// What was debited, to be settled later.
    #[must_use]
    pub fn lease(&self) -> Option<&Lease> {
        match &self.decision.outcome {
            Outcome::Admitted(lease) => Some(lease),
            _ => None,
        }
    }
}

impl Recorded for Answer {
    fn record(&self) -> AnswerRecord {
        let Decision { outcome, limits, .. } = &self.decision;
        AnswerRecord::of_outcome(outcome, limits, self.degraded, &self.cost)
    }
}

/// The answer to an acquire of an entity and of those above it.
#[derive(Clone, Debug)]
#[must_use = "it says whether the tokens were debited"]
pub struct CascadeAnswer {
    /// What was decided. Its follow-ups are with the limiter.
    pub decision: CascadeDecision,
    /// Whether the request is let through although the table did not answer
    /// ([`OnUnavailable::Allow`](super::OnUnavailable::Allow)).
    pub degraded: bool,
    /// How many calls follow the answer.
    pub follow_ups: usize,
    /// What it took to come to the answer; the follow-ups are not in it.
    pub cost: Cost,
}

impl Recorded for CascadeAnswer {
    fn record(&self) -> AnswerRecord {
        let CascadeDecision { outcome, decided_by, levels, .. } = &self.decision;
        let limits = levels.get(*decided_by).map_or(&[][..], |level| &level.limits);
        AnswerRecord::of_outcome(outcome, limits, self.degraded, &self.cost)
    }
}

/// The answer to a settlement.
#[derive(Clone, Debug)]
#[must_use = "it says whether the difference is recorded"]
pub struct Settled {
    /// What became of it.
    pub settlement: Settlement,
    /// What it took.
    pub cost: Cost,
}

impl Recorded for Settled {
    fn record(&self) -> AnswerRecord {
        let outcome = match self.settlement {
            Settlement::Settled => "settled",
            Settlement::WindowOver => "window-over",
            Settlement::ItemGone => "item-gone",
            Settlement::Failed(_) => "failed",
            Settlement::Unavailable(_) => "unavailable",
            Settlement::Misconfigured(_) => "misconfigured",
        };
        AnswerRecord::new("settle", outcome, &self.cost)
    }
}

/// The answer to a preview.
#[derive(Clone, Debug)]
#[must_use]
pub struct Previewed {
    /// What was read.
    pub outcome: PreviewOutcome,
    /// What it took.
    pub cost: Cost,
}

impl Recorded for Previewed {
    fn record(&self) -> AnswerRecord {
        let (outcome, resets_at_ms) = match &self.outcome {
            PreviewOutcome::Report(report) => {
                ("report", report.limits.iter().filter_map(|limit| limit.status.resets_at_ms).max())
            }
            PreviewOutcome::Failed(_) => ("failed", None),
            PreviewOutcome::Unavailable(_) => ("unavailable", None),
            PreviewOutcome::Misconfigured(_) => ("misconfigured", None),
        };
        AnswerRecord { resets_at_ms, ..AnswerRecord::new("preview", outcome, &self.cost) }
    }
}
