//! Requests that debit one entity.

use std::mem;

use onewindow::{AcquireRequest, Decision, Hint, Outcome};

use super::{
    Limiter,
    answer::Answer,
    drive::Undecided,
    telemetry::{in_span, recorded},
};
use crate::dynamo::{Cost, Transport};

impl<T: Transport> Limiter<T> {
    /// Debits tokens, all or nothing.
    ///
    /// Where the request carries no hint, the one remembered for its subject is used; where its
    /// seed is 0, a random one is drawn.
    pub async fn acquire(&self, request: AcquireRequest) -> Answer {
        recorded(
            self.recorder(),
            in_span(async {
                let mut cost = Cost::default();
                let mut decision = self.decide(request, &mut cost).await.unwrap_or_else(bare);
                let follow_ups = self.begin(mem::take(&mut decision.follow_ups));
                let degraded = self.lets_through(&decision.outcome);
                Answer { decision, degraded, follow_ups, cost }
            }),
        )
        .await
    }

    /// An outcome as an error was not decided by a machine.
    async fn decide(&self, mut request: AcquireRequest, cost: &mut Cost) -> Result<Decision, Outcome> {
        let deadline = self.deadline();
        let (hints, configurations) = (&self.inner.hints, &self.inner.configurations);
        let key = request.subject.hint_key();
        let now_ms = self.now_ms();
        if let Some(hint) = hints.rejecting(&key, now_ms, self.options().repeat_rejections_for)
            && let Some(decision) = self.engine().reject(&request, &hint, now_ms)
        {
            return Ok(decision);
        }
        if request.hint.is_none() {
            request.hint = hints.get(&key);
        }
        if request.seed == 0 {
            request.seed = fastrand::u64(1..);
        }
        let configured = self.fill_in(&mut request, deadline, cost).await?;
        if configured.as_ref().is_some_and(|configured| configured.disabled) {
            return Err(Outcome::Disabled);
        }
        let decision = self.drive(|engine| engine.acquire(request), deadline, cost).await?;
        if decision.hint.key == key {
            hints.put(decision.hint.clone(), self.now_ms());
        }
        if configured.is_some_and(|configured| configured.differs_from(&decision)) {
            configurations.forget(&key);
        }
        Ok(decision)
    }
}

impl From<Undecided> for Outcome {
    fn from(undecided: Undecided) -> Self {
        match undecided {
            Undecided::Busy => Self::Unavailable(undecided.to_string()),
            Undecided::Runaway => Self::Failed(undecided.into()),
        }
    }
}

/// A decision that was not made by a machine.
fn bare(outcome: Outcome) -> Decision {
    Decision { outcome, limits: Vec::new(), follow_ups: Vec::new(), hint: Hint::default() }
}
