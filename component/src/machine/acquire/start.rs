//! The first step: the checks, and the reads before the first write.

use alloc::{vec, vec::Vec};

use super::{Acquire, MAX_ROUNDS, Next, State, draw};
use crate::{
    item::Attributes,
    machine::preview::Preview,
    rule::{materialise::Debit, survey::ShardSurvey},
    types::{
        answer::{Outcome, Reply, Step},
        error::Error,
        preview::{LimitPreview, PreviewOutcome},
    },
    write::batch_read,
};

impl Acquire {
    pub(super) fn start(&mut self) -> Next {
        self.request.check()?;
        for amount in &self.request.consume {
            let configured = self.settings().limit(&amount.limit).map(|limit| limit.capacity);
            if configured.is_some_and(|capacity| amount.tokens > capacity) {
                return Err(Outcome::NeverFits { limit: amount.limit.clone() }.into());
            }
        }
        if self.debits.iter().all(|debit| debit.milli == 0) {
            let subject = self.request.subject.clone();
            let preview = Preview::new(subject, self.request.limits.clone(), self.request.hint.as_ref());
            return self.preview(preview, &[]);
        }
        let shard = draw(self.request.seed, self.shard_count);
        let configured = |debit: &Debit| self.settings().limit(&debit.limit).is_some();
        if self.debits.iter().all(configured) {
            return self.fast(shard);
        }
        self.learn(shard, 0)
    }

    /// Reads what the configuration leaves out.
    pub(super) fn learn(&mut self, shard: u32, reads: u32) -> Next {
        if reads >= MAX_ROUNDS {
            let reason = "the table left items unread time and again";
            return Err(Outcome::Unavailable(reason.into()).into());
        }
        let slots: &[u32] = if shard == 0 { &[0] } else { &[0, shard] };
        let keys = self.request.subject.bucket_keys(slots);
        self.state = State::ReadingLimits { shard, reads: reads.saturating_add(1) };
        Ok(Step::Perform(vec![batch_read(&self.request.subject.table, &keys, false)]))
    }

    /// A named limit that neither the configuration nor the item knows is an error before any
    /// write (R15).
    pub(super) fn learned(&mut self, shard: u32, items: &[Attributes<'_>]) -> Next {
        let shards = Attributes::shards(items)?;
        for (amount, debit) in self.request.consume.iter().zip(&mut self.debits) {
            *debit = Debit::find(amount, &self.request.limits, &shards)?;
            let stored = shards.iter().find_map(|shard| shard.limit(&amount.limit));
            if stored.is_some_and(|stored| debit.milli > stored.capacity_milli) {
                return Err(Outcome::NeverFits { limit: amount.limit.clone() }.into());
            }
        }
        self.learn_count_from(&shards);
        self.fast(shard)
    }

    /// A request of 0 tokens is a question (F3): answered from a read, over all shards.
    pub(super) fn preview(&mut self, mut preview: Preview, replies: &[Reply]) -> Next {
        let report = match preview.advance(u64::try_from(self.now_ms).unwrap_or_default(), replies) {
            Step::Perform(calls) => {
                self.state = State::Previewing(preview);
                return Ok(Step::Perform(calls));
            }
            Step::Done(PreviewOutcome::Report(report)) => report,
            Step::Done(PreviewOutcome::Failed(error)) => return Err(error.into()),
            Step::Done(PreviewOutcome::Unavailable(reason)) => {
                return Err(Outcome::Unavailable(reason).into());
            }
            Step::Done(PreviewOutcome::Misconfigured(reason)) => {
                return Err(Outcome::Misconfigured(reason).into());
            }
        };
        self.shard_count = self.shard_count.max(report.shard_count);
        let shards = preview.shards();
        if shards.iter().any(|shard| shard.disabled) {
            return Err(Outcome::Disabled.into());
        }
        let known = |name: &str| report.limits.iter().any(|limit| limit.status.name == name);
        if let Some(amount) = self.request.consume.iter().find(|amount| !known(&amount.limit)) {
            return Err(Error::unknown_limit(&amount.limit).into());
        }
        let Some(first) = shards.first() else {
            let mut limits = Vec::new();
            for LimitPreview { status, .. } in report.limits {
                if self.request.consume.iter().any(|amount| amount.limit == status.name) {
                    limits.push(status);
                }
            }
            return Ok(self.admitted(Vec::new(), limits));
        };
        let debits = self.debits.clone();
        let survey = ShardSurvey::of(shards, self.shard_count, &debits, self.settings())?;
        if debits.iter().any(|debit| survey.is_in_debt(&debit.limit)) {
            let rejection = survey.rejection(&self.request.consume);
            return Ok(self.rejected(rejection));
        }
        let limits = survey.statuses(&self.request.consume);
        let part = self.lease_part(first, &debits);
        Ok(self.admitted(vec![part], limits))
    }
}
