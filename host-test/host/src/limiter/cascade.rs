//! Requests that debit an entity and every entity above it.

use std::{iter, mem, time::Instant};

use onewindow::{AcquireRequest, CascadeDecision, Outcome};

use super::{
    Limiter,
    answer::CascadeAnswer,
    telemetry::{in_span, recorded},
};
use crate::dynamo::{Cost, Transport};

impl<T: Transport> Limiter<T> {
    /// Debits an entity and every entity above it: all or none.
    ///
    /// Items and entities' records name the parents. The chain is remembered, so that the steady state
    /// takes one round trip. Limits that the request leaves out are read from the table for each level
    /// ([`LimiterOptions::keep_configuration_for`](super::LimiterOptions::keep_configuration_for)).
    /// There is a lease for each level, to be settled by itself.
    pub async fn acquire_cascading(&self, request: AcquireRequest) -> CascadeAnswer {
        recorded(
            self.recorder(),
            in_span(async {
                let mut cost = Cost::default();
                let mut decision = self.decide_cascading(request, &mut cost).await.unwrap_or_else(bare);
                let follow_ups = self.begin(mem::take(&mut decision.follow_ups));
                let degraded = self.lets_through(&decision.outcome);
                CascadeAnswer { decision, degraded, follow_ups, cost }
            }),
        )
        .await
    }

    /// An outcome as an error was not decided by a machine.
    async fn decide_cascading(
        &self,
        request: AcquireRequest,
        cost: &mut Cost,
    ) -> Result<CascadeDecision, Outcome> {
        let deadline = self.deadline();
        let (hints, chains) = (&self.inner.hints, &self.inner.chains);
        let key = request.subject.hint_key();
        let levels = self.levels(request, chains.get(&key), deadline, cost).await?;
        let keys: Vec<_> = levels.iter().map(|level| level.subject.hint_key()).collect();
        let decision = self.drive(|engine| engine.cascade(levels), deadline, cost).await?;
        if !decision.levels.is_empty() {
            chains.put(key, decision.levels.iter().skip(1).map(|level| level.entity.clone()).collect());
        }
        for (level, key) in decision.levels.iter().zip(&keys) {
            if level.hint.key == *key {
                hints.put(level.hint.clone(), self.now_ms());
            }
        }
        Ok(decision)
    }

    /// A request for each entity that is known to be in the chain.
    async fn levels(
        &self,
        request: AcquireRequest,
        above: Vec<String>,
        deadline: Instant,
        cost: &mut Cost,
    ) -> Result<Vec<AcquireRequest>, Outcome> {
        let own = request.subject.entity.clone();
        let mut levels = Vec::new();
        for entity in iter::once(own).chain(above) {
            let mut level = request.clone();
            level.seed = fastrand::u64(1..);
            if !levels.is_empty() {
                // The caller's limits and hint are the entity's own.
                level.subject.entity = entity;
                level.limits.clear();
                level.hint = None;
            }
            let configured = self.fill_in(&mut level, deadline, cost).await?;
            if configured.is_some_and(|configured| configured.disabled) {
                return Err(Outcome::Disabled);
            }
            if level.hint.is_none() {
                level.hint = self.inner.hints.get(&level.subject.hint_key());
            }
            levels.push(level);
        }
        Ok(levels)
    }
}

/// A decision that was not made by a machine.
fn bare(outcome: Outcome) -> CascadeDecision {
    CascadeDecision { outcome, decided_by: 0, levels: Vec::new(), follow_ups: Vec::new() }
}
