//! Previews: what is left, read without a write.

use onewindow::{Limit, Outcome, PreviewOutcome, Subject};

use super::{Limiter, answer::Previewed, telemetry::recorded};
use crate::{
    dynamo::{Cost, Transport},
    engine::PreviewDecision,
};

impl<T: Transport> Limiter<T> {
    /// Reads what is left and writes nothing. Where `limits` is empty, the limits are those that the items
    /// store.
    pub async fn preview(&self, subject: Subject, limits: Vec<Limit>) -> Previewed {
        recorded(self.recorder(), async {
            let mut cost = Cost::default();
            let outcome = self.read(subject, limits, &mut cost).await.unwrap_or_else(unreadable);
            Previewed { outcome, cost }
        })
        .await
    }

    /// An outcome as an error was not decided by a machine.
    async fn read(
        &self,
        subject: Subject,
        mut limits: Vec<Limit>,
        cost: &mut Cost,
    ) -> Result<PreviewOutcome, Outcome> {
        let deadline = self.deadline();
        if limits.is_empty()
            && let Some((configuration, _)) = self.configuration(&subject, deadline, cost).await?
        {
            limits.clone_from(&configuration.limits);
        }
        let hints = &self.inner.hints;
        let key = subject.hint_key();
        let known = hints.get(&key);
        let driven =
            self.drive(|engine| engine.preview(subject, limits, known.as_ref()), deadline, cost).await;
        let PreviewDecision { outcome, hint } = driven?;
        if hint.key == key {
            hints.learn_shard_count(hint, self.now_ms());
        }
        Ok(outcome)
    }
}

/// Why there is no preview.
fn unreadable(outcome: Outcome) -> PreviewOutcome {
    match outcome {
        Outcome::Failed(error) => PreviewOutcome::Failed(error),
        Outcome::Misconfigured(reason) => PreviewOutcome::Misconfigured(reason),
        Outcome::Unavailable(reason) => PreviewOutcome::Unavailable(reason),
        _ => PreviewOutcome::Unavailable("the configuration cannot be read".into()),
    }
}
