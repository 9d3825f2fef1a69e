//! Between the library's types and the contract's, one for one.

use alloc::{string::String, vec::Vec};

use super::{
    all,
    bindings::exports::onewindow::quota::{cascade as c, types as t, window as w, wire as x},
};
use crate::{
    item::{LimitState, Shard},
    rule::grant,
    rule::materialise::{Debit, Materialisation},
    types::answer::{Call, Decision, Outcome, Reply},
    types::cascade::{CascadeDecision, LevelDecision},
    types::error::Error,
};

// ---- in ----

impl From<t::Reply> for Reply {
    fn from(reply: t::Reply) -> Self {
        match reply {
            t::Reply::Http(t::HttpReply { status, body }) => Self::Http { status, body },
            t::Reply::Failed(reason) => Self::Failed(reason),
        }
    }
}

impl From<w::Sibling> for grant::Sibling {
    fn from(sibling: w::Sibling) -> Self {
        Self {
            shard: sibling.shard,
            current: sibling.current,
            grant_count: sibling.grant_count.into(),
            tokens_milli: sibling.tokens_milli.into(),
        }
    }
}

// ---- out ----

impl From<Call> for t::Call {
    fn from(call: Call) -> Self {
        Self { operation: call.operation.into(), body: call.body, resend: call.resend }
    }
}

impl From<Outcome> for t::Outcome {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Admitted(lease) => Self::Admitted(lease.encode()),
            Outcome::Rejected { retry_after_ms } => Self::Rejected(retry_after_ms),
            Outcome::Contended { retry_after_ms } => Self::Contended(retry_after_ms),
            Outcome::NeverFits { limit } => Self::NeverFits(limit),
            Outcome::Disabled => Self::Disabled,
            Outcome::Failed(error) => Self::Failed(error),
            Outcome::Unavailable(reason) => Self::Unavailable(reason),
            Outcome::Misconfigured(reason) => Self::Misconfigured(reason),
        }
    }
}

impl From<Decision> for t::Decision {
    fn from(decision: Decision) -> Self {
        Self {
            outcome: decision.outcome.into(),
            limits: decision.limits,
            follow_ups: all(decision.follow_ups),
            hint: decision.hint,
        }
    }
}

impl From<CascadeDecision> for c::CascadeDecision {
    fn from(decision: CascadeDecision) -> Self {
        let level = |level: LevelDecision| c::Level {
            entity: level.entity,
            limits: level.limits,
            lease: level.lease.map(|lease| lease.encode()),
            hint: level.hint,
        };
        Self {
            outcome: decision.outcome.into(),
            decided_by: u32::try_from(decision.decided_by).unwrap_or_default(),
            levels: decision.levels.into_iter().map(level).collect(),
            follow_ups: all(decision.follow_ups),
        }
    }
}

/// Balances as the contract has them: of 64 bits, where the table's may have more.
#[derive(Default)]
struct Narrow {
    /// The first that does not fit.
    beyond: Option<&'static str>,
}

impl Narrow {
    fn number(&mut self, number: i128, of: &'static str) -> i64 {
        i64::try_from(number).unwrap_or_else(|_| {
            self.beyond = self.beyond.or(Some(of));
            0
        })
    }

    fn optional(&mut self, number: Option<i128>, of: &'static str) -> Option<i64> {
        number.map(|number| self.number(number, of))
    }
}

impl TryFrom<LimitState> for x::LimitState {
    type Error = Error;
    fn try_from(state: LimitState) -> Result<Self, Error> {
        let mut narrow = Narrow::default();
        let told = Self {
            name: String::from(&*state.name),
            tokens_milli: narrow.number(state.tokens_milli, "tk"),
            capacity_milli: narrow.number(state.capacity_milli, "cp"),
            refill_amount_milli: narrow.number(state.refill_amount_milli, "ra"),
            refill_period_ms: state.refill_period_ms,
            consumed_milli: narrow.optional(state.consumed_milli, "tc"),
            reset_after_seconds: state.reset_after_seconds,
            window_start_ms: state.window_start_ms,
            window_applied_ms: state.window_applied_ms,
            consumed_mark_milli: narrow.optional(state.consumed_mark_milli, "wtc"),
            grant_count: state.grant_count,
            topped_up_milli: narrow.optional(state.topped_up_milli, "tu"),
            soft_until_ms: state.soft_until_ms,
        };
        match narrow.beyond {
            Some(field) => Err(Error::overflow(&["b_", &state.name, "_", field].concat())),
            None => Ok(told),
        }
    }
}

impl TryFrom<Shard> for x::ShardState {
    type Error = Error;
    fn try_from(shard: Shard) -> Result<Self, Error> {
        let mut limits = Vec::new();
        for state in shard.limits {
            limits.push(state.try_into()?);
        }
        Ok(Self {
            pk: shard.pk,
            shard: shard.id,
            shard_count: shard.shard_count,
            last_refill_ms: shard.last_refill_ms,
            valid_until_ms: shard.valid_until_ms,
            ttl_seconds: shard.ttl_seconds,
            disabled: shard.disabled,
            cascade: shard.cascade,
            scheduled: shard.scheduled,
            bypass_until_ms: shard.bypass_until_ms,
            limits,
            wcu: shard.wcu.map(TryInto::try_into).transpose()?,
        })
    }
}

/// A pass as it is told, with the write that makes it so.
pub(super) fn pass(
    materialisation: &Materialisation,
    debits: &[Debit],
    call: Option<Call>,
) -> Result<w::Materialisation, Error> {
    let admitted = materialisation.admits(debits);
    let left = materialisation.after(if admitted { debits } else { &[] });
    let mut narrow = Narrow::default();
    let mut limits = Vec::new();
    for (limit, left) in materialisation.limits.iter().zip(&left.limits) {
        limits.push(w::LimitMaterialisation {
            name: String::from(&*left.name),
            balance_milli: narrow.number(limit.after.tokens_milli, "a balance"),
            left_milli: narrow.number(left.tokens_milli, "a balance"),
            ceiling_milli: narrow.number(limit.ceiling_milli, "a ceiling"),
            grant_count: left.grant_count,
            was_pending: limit.was_pending,
            opened: limit.opened,
            reset: limit.reset,
            starts_at_ms: left.window_start_ms,
            ends_at_ms: limit.window_end_ms().and_then(|end_ms| u64::try_from(end_ms).ok()),
        });
    }
    match narrow.beyond {
        Some(of) => Err(Error::overflow(of)),
        None => Ok(w::Materialisation {
            admitted,
            limits,
            retry_after_ms: materialisation.retry_after_ms(debits),
            call: call.map(Into::into),
        }),
    }
}
