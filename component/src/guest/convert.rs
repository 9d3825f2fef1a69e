//! Between the library's types and the contract's, one for one.

use alloc::string::String;

use super::{
    all,
    bindings::exports::onewindow::quota::{
        cascade as c, preview as p, settle as s, types as t, window as w, wire as x,
    },
};
use crate::{
    answer::{Call, Decision, LimitStatus, Outcome, Reply, Resend},
    cascade::{CascadeDecision, LevelDecision},
    error::{Error, ErrorCode},
    grant,
    hint::{Blocked, Hint},
    item::{LimitState, Shard},
    key::Subject,
    limit::{Amount, Limit, Recovery},
    materialise::{LimitPass, Pass, Take},
    preview::{LimitPreview, PreviewOutcome, PreviewReport, ShardView, WindowState},
    request::AcquireRequest,
    settle::Settlement,
    wire::Classification,
};

// ---- in ----

impl From<t::Limit> for Limit {
    fn from(limit: t::Limit) -> Self {
        let recovery = match limit.recovery {
            t::Recovery::Session(length_seconds) => Recovery::Session { length_seconds },
            t::Recovery::Drip(t::Drip { refill_amount, refill_period_seconds }) => {
                Recovery::Drip { refill_amount, refill_period_seconds }
            }
        };
        Self { name: limit.name, capacity: limit.capacity, recovery }
    }
}

impl From<t::Amount> for Amount {
    fn from(amount: t::Amount) -> Self {
        Self { limit: amount.limit, tokens: amount.tokens }
    }
}

impl From<t::Subject> for Subject {
    fn from(subject: t::Subject) -> Self {
        let t::Subject { table, namespace, entity, resource } = subject;
        Self { table, namespace, entity, resource }
    }
}

impl From<t::LimitStatus> for LimitStatus {
    fn from(status: t::LimitStatus) -> Self {
        let t::LimitStatus { name, capacity, available, resets_at_ms } = status;
        Self { name, capacity, available, resets_at_ms }
    }
}

impl From<t::Blocked> for Blocked {
    fn from(blocked: t::Blocked) -> Self {
        let t::Blocked { status, above_milli, until_ms } = blocked;
        Self { status: status.into(), above_milli, until_ms }
    }
}

impl From<t::Hint> for Hint {
    fn from(hint: t::Hint) -> Self {
        Self { key: hint.key, shard_count: hint.shard_count, blocked: all(hint.blocked) }
    }
}

impl From<t::AcquireRequest> for AcquireRequest {
    fn from(request: t::AcquireRequest) -> Self {
        Self {
            subject: request.subject.into(),
            consume: all(request.consume),
            limits: all(request.limits),
            authoritative: request.authoritative,
            permanent: request.permanent,
            hint: request.hint.map(Into::into),
            seed: request.seed,
        }
    }
}

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

impl From<Error> for t::Error {
    fn from(error: Error) -> Self {
        let code = match error.code {
            ErrorCode::InvalidRequest => t::ErrorCode::InvalidRequest,
            ErrorCode::UnknownLimit => t::ErrorCode::UnknownLimit,
            ErrorCode::CorruptItem => t::ErrorCode::CorruptItem,
            ErrorCode::Overflow => t::ErrorCode::Overflow,
            ErrorCode::Unsupported => t::ErrorCode::Unsupported,
            ErrorCode::Misuse => t::ErrorCode::Other,
        };
        Self { code, message: error.message }
    }
}

impl From<Call> for t::Call {
    fn from(call: Call) -> Self {
        let resend = match call.resend {
            Resend::Idempotent => t::Resend::Idempotent,
            Resend::MayDebitTwice => t::Resend::MayDebitTwice,
            Resend::Never => t::Resend::Never,
        };
        Self { operation: call.operation.into(), body: call.body, resend }
    }
}

impl From<LimitStatus> for t::LimitStatus {
    fn from(status: LimitStatus) -> Self {
        let LimitStatus { name, capacity, available, resets_at_ms } = status;
        Self { name, capacity, available, resets_at_ms }
    }
}

impl From<Hint> for t::Hint {
    fn from(hint: Hint) -> Self {
        let blocked = |blocked: Blocked| t::Blocked {
            status: blocked.status.into(),
            above_milli: blocked.above_milli,
            until_ms: blocked.until_ms,
        };
        Self {
            key: hint.key,
            shard_count: hint.shard_count,
            blocked: hint.blocked.into_iter().map(blocked).collect(),
        }
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
            Outcome::Failed(error) => Self::Failed(error.into()),
            Outcome::Unavailable(reason) => Self::Unavailable(reason),
            Outcome::Misconfigured(reason) => Self::Misconfigured(reason),
        }
    }
}

impl From<Decision> for t::Decision {
    fn from(decision: Decision) -> Self {
        Self {
            outcome: decision.outcome.into(),
            limits: all(decision.limits),
            follow_ups: all(decision.follow_ups),
            hint: decision.hint.into(),
        }
    }
}

impl From<CascadeDecision> for c::CascadeDecision {
    fn from(decision: CascadeDecision) -> Self {
        let level = |level: LevelDecision| c::Level {
            entity: level.entity,
            limits: all(level.limits),
            lease: level.lease.map(|lease| lease.encode()),
            hint: level.hint.into(),
        };
        Self {
            outcome: decision.outcome.into(),
            decided_by: u32::try_from(decision.decided_by).unwrap_or_default(),
            levels: decision.levels.into_iter().map(level).collect(),
            follow_ups: all(decision.follow_ups),
        }
    }
}

impl From<Settlement> for s::Settlement {
    fn from(settlement: Settlement) -> Self {
        match settlement {
            Settlement::Settled => Self::Settled,
            Settlement::WindowOver => Self::WindowOver,
            Settlement::ItemGone => Self::ItemGone,
            Settlement::Failed(error) => Self::Failed(error.into()),
            Settlement::Unavailable(reason) => Self::Unavailable(reason),
            Settlement::Misconfigured(reason) => Self::Misconfigured(reason),
        }
    }
}

impl From<ShardView> for p::ShardView {
    fn from(view: ShardView) -> Self {
        let state = match view.state {
            WindowState::Absent => p::WindowState::Absent,
            WindowState::Unstarted => p::WindowState::Unstarted,
            WindowState::Live => p::WindowState::Live,
            WindowState::Pending => p::WindowState::Pending,
            WindowState::Ended => p::WindowState::Ended,
        };
        let ShardView {
            shard, starts_at_ms, ends_at_ms, balance_milli, counted_milli, ceiling_milli, ..
        } = view;
        Self { shard, state, starts_at_ms, ends_at_ms, balance_milli, counted_milli, ceiling_milli }
    }
}

impl From<LimitPreview> for p::LimitPreview {
    fn from(preview: LimitPreview) -> Self {
        Self { status: preview.status.into(), shards: all(preview.shards) }
    }
}

impl From<PreviewReport> for p::PreviewReport {
    fn from(report: PreviewReport) -> Self {
        let PreviewReport { shard_count, disabled, limits } = report;
        Self { shard_count, disabled, limits: all(limits) }
    }
}

impl From<PreviewOutcome> for p::PreviewOutcome {
    fn from(outcome: PreviewOutcome) -> Self {
        match outcome {
            PreviewOutcome::Report(report) => Self::Report(report.into()),
            PreviewOutcome::Failed(error) => Self::Failed(error.into()),
            PreviewOutcome::Unavailable(reason) => Self::Unavailable(reason),
            PreviewOutcome::Misconfigured(reason) => Self::Misconfigured(reason),
        }
    }
}

impl From<Classification> for x::Classification {
    fn from(classification: Classification) -> Self {
        match classification {
            Classification::Data => Self::Data,
            Classification::Retry(reason) => Self::Retry(reason),
            Classification::Lost(reason) => Self::Lost(reason),
            Classification::Unavailable(reason) => Self::Unavailable(reason),
            Classification::Misconfigured(reason) => Self::Misconfigured(reason),
            Classification::ClockSkew => Self::ClockSkew,
        }
    }
}

/// The contract's balances have 64 bits; the table's may have more.
fn narrow(number: i128, of: &str) -> Result<i64, Error> {
    i64::try_from(number).map_err(|_| Error::overflow(of))
}

impl TryFrom<LimitState> for x::LimitState {
    type Error = Error;
    fn try_from(state: LimitState) -> Result<Self, Error> {
        let narrow = |number, field| narrow(number, &["b_", &state.name, "_", field].concat());
        Ok(Self {
            name: String::from(&*state.name),
            tokens_milli: narrow(state.tokens_milli, "tk")?,
            capacity_milli: narrow(state.capacity_milli, "cp")?,
            refill_amount_milli: narrow(state.refill_amount_milli, "ra")?,
            refill_period_ms: state.refill_period_ms,
            consumed_milli: state.consumed_milli.map(|number| narrow(number, "tc")).transpose()?,
            reset_after_seconds: state.reset_after_seconds,
            window_start_ms: state.window_start_ms,
            window_applied_ms: state.window_applied_ms,
            consumed_mark_milli: state.consumed_mark_milli.map(|number| narrow(number, "wtc")).transpose()?,
            grant_count: state.grant_count,
            topped_up_milli: state.topped_up_milli.map(|number| narrow(number, "tu")).transpose()?,
            soft_until_ms: state.soft_until_ms,
        })
    }
}

impl TryFrom<Shard> for x::ShardState {
    type Error = Error;
    fn try_from(shard: Shard) -> Result<Self, Error> {
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
            limits: shard.limits.into_iter().map(TryInto::try_into).collect::<Result<_, Error>>()?,
            wcu: shard.wcu.map(TryInto::try_into).transpose()?,
        })
    }
}

/// A pass as it is told, with the write that makes it so.
pub(super) fn pass(pass: &Pass, takes: &[Take], call: Option<Call>) -> Result<w::Pass, Error> {
    let admitted = pass.admits(takes);
    let left = pass.after(if admitted { takes } else { &[] });
    let told = |(limit, left): (&LimitPass, LimitState)| {
        Ok(w::LimitPass {
            name: String::from(&*left.name),
            balance_milli: narrow(limit.after.tokens_milli, "a balance")?,
            left_milli: narrow(left.tokens_milli, "a balance")?,
            ceiling_milli: narrow(limit.ceiling_milli, "a ceiling")?,
            grant_count: left.grant_count,
            was_pending: limit.was_pending,
            opened: limit.opened,
            reset: limit.reset,
            starts_at_ms: left.window_start_ms,
            ends_at_ms: limit.window_end_ms().and_then(|end_ms| u64::try_from(end_ms).ok()),
        })
    };
    Ok(w::Pass {
        admitted,
        limits: pass.limits.iter().zip(left.limits).map(told).collect::<Result<_, Error>>()?,
        retry_after_ms: pass.retry_after_ms(takes),
        call: call.map(Into::into),
    })
}
