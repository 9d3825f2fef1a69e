//! The end: the decision, the lease, and where the limits stand.

use alloc::vec::Vec;
use core::mem;

use super::{Acquire, Contended};
use crate::{
    item::Shard,
    rule::{
        balance::{ceiling, share, tokens},
        materialise::Debit,
        survey::Rejection,
        window::{end_ms, reported_reset_ms},
    },
    types::{
        answer::{Decision, Outcome, Step},
        hint::{Hint, KnownRejection},
        lease::{Lease, LeasePart, LeasedLimit, LeasedWindow},
        status::LimitStatus,
    },
};

impl Acquire {
    /// The shards as the writes left them, and what was debited of each.
    pub(super) fn admitted_on(&mut self, parts: &[(Shard, Vec<Debit>)]) -> Step {
        let leased = parts.iter().map(|(shard, debits)| self.lease_part(shard, debits)).collect();
        let mut limits = Vec::new();
        for debit in &self.debits {
            limits.extend(self.standing(parts, debit));
        }
        self.admitted(leased, limits)
    }

    pub(super) fn admitted(&mut self, parts: Vec<LeasePart>, limits: Vec<LimitStatus>) -> Step {
        let subject = &self.request.subject;
        let lease = Lease {
            namespace: subject.namespace.clone(),
            entity: subject.entity.clone(),
            resource: subject.resource.clone(),
            parts,
        };
        Step::Done(self.decide(Outcome::Admitted(lease), limits, Vec::new()))
    }

    /// Where a limit stands on the shards that served. A window that ended while the reply was on
    /// its way counts as restored (R13).
    fn standing(&self, parts: &[(Shard, Vec<Debit>)], debit: &Debit) -> Option<LimitStatus> {
        let length_ms = debit.length_ms();
        let (mut capacity, mut left, mut last_end_ms) = (None, 0_i128, None);
        for (shard, _) in parts {
            let Some(state) = shard.limit(&debit.limit) else { continue };
            let end_ms = state.window_start_ms.zip(length_ms).map(|(start, length)| end_ms(start, length));
            let restored = end_ms.is_some_and(|end_ms| end_ms <= self.now_ms);
            left = left.saturating_add(if restored {
                share(state.capacity_milli, shard.shard_count.into())
            } else {
                last_end_ms = last_end_ms.max(end_ms);
                state.tokens_milli
            });
            capacity = capacity.or(Some(state.capacity_milli));
        }
        Some(LimitStatus {
            name: (*debit.limit).into(),
            capacity: tokens(capacity?).unsigned_abs(),
            available: tokens(left),
            resets_at_ms: last_end_ms
                .zip(length_ms)
                .map(|(end, length)| reported_reset_ms(end, length, self.now_ms)),
        })
    }

    pub(super) fn lease_part(&self, shard: &Shard, debits: &[Debit]) -> LeasePart {
        let mut limits = Vec::new();
        for debit in debits {
            let Some(state) = shard.limit(&debit.limit) else { continue };
            let Ok(debited_milli) = i64::try_from(debit.milli) else { continue };
            let window =
                debit.length_ms().zip(state.window_start_ms).map(|(length_ms, start_ms)| LeasedWindow {
                    start_ms,
                    applied_ms: state.window_applied_ms,
                    end_ms: end_ms(start_ms, length_ms),
                });
            let ceiling = ceiling(state, shard.shard_count, window.is_some());
            limits.push(LeasedLimit {
                name: (*debit.limit).into(),
                debited_milli,
                capacity_milli: i64::try_from(state.capacity_milli).unwrap_or(i64::MAX),
                ceiling_milli: i64::try_from(ceiling).unwrap_or(i64::MAX),
                window,
            });
        }
        LeasePart { shard: shard.id, limits }
    }

    pub(super) fn rejected(&mut self, rejection: Rejection) -> Step {
        let Rejection { retry_after_ms, never_fits, limits, rejections } = rejection;
        let outcome = match never_fits {
            Some(limit) => Outcome::NeverFits { limit: (*limit).into() },
            // Everything would fit, but no single write can debit it all.
            None if retry_after_ms == 0 => Contended.into(),
            None => Outcome::Rejected { retry_after_ms },
        };
        Step::Done(self.decide(outcome, limits, rejections))
    }

    pub(super) fn decide(
        &mut self,
        outcome: Outcome,
        limits: Vec<LimitStatus>,
        rejections: Vec<KnownRejection>,
    ) -> Decision {
        let hint = Hint { rejections, ..Hint::new(&self.request.subject, self.shard_count) };
        Decision { outcome, limits, follow_ups: mem::take(&mut self.follow_ups), hint }
    }
}
