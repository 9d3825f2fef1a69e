//! Between the contract's records and the types of the crate `onewindow`.

use onewindow::{
    AcquireRequest, Amount, Blocked, Call, CascadeDecision, Decision, Drip, Error, ErrorCode, Hint, Lease,
    LevelDecision, Limit, LimitPreview, LimitStatus, Outcome, PreviewOutcome, PreviewReport, Recovery, Reply,
    Resend, Settlement, ShardView, Step, Subject, WindowState,
};
use wasmtime::{Result, bail};

use super::bindings::exports::onewindow::quota::{cascade as c, preview as p, settle as s, types as t};
use crate::engine::Looked;

// ---- in ----

impl From<AcquireRequest> for t::AcquireRequest {
    fn from(request: AcquireRequest) -> Self {
        let AcquireRequest { subject, consume, limits, authoritative, permanent, hint, seed } = request;
        Self {
            subject: subject.into(),
            consume: all(consume),
            limits: all(limits),
            authoritative,
            permanent,
            hint: hint.map(Into::into),
            seed,
        }
    }
}

impl From<Subject> for t::Subject {
    fn from(subject: Subject) -> Self {
        let Subject { table, namespace, entity, resource } = subject;
        Self { table, namespace, entity, resource }
    }
}

impl From<Amount> for t::Amount {
    fn from(Amount { limit, tokens }: Amount) -> Self {
        Self { limit, tokens }
    }
}

impl From<Limit> for t::Limit {
    fn from(Limit { name, capacity, recovery }: Limit) -> Self {
        let recovery = match recovery {
            Recovery::Session(length_seconds) => t::Recovery::Session(length_seconds),
            Recovery::Drip(Drip { refill_amount, refill_period_seconds }) => {
                t::Recovery::Drip(t::Drip { refill_amount, refill_period_seconds })
            }
        };
        Self { name, capacity, recovery }
    }
}

impl From<Hint> for t::Hint {
    fn from(Hint { key, shard_count, blocked }: Hint) -> Self {
        let blocked = blocked.into_iter().map(|Blocked { status, above_milli, until_ms }| t::Blocked {
            status: status.into(),
            above_milli,
            until_ms,
        });
        Self { key, shard_count, blocked: blocked.collect() }
    }
}

impl From<LimitStatus> for t::LimitStatus {
    fn from(LimitStatus { name, capacity, available, resets_at_ms }: LimitStatus) -> Self {
        Self { name, capacity, available, resets_at_ms }
    }
}

pub(super) fn replies(replies: &[Reply]) -> Vec<t::Reply> {
    let reply = |reply: &Reply| match reply {
        Reply::Http { status, body } => t::Reply::Http(t::HttpReply { status: *status, body: body.clone() }),
        Reply::Failed(reason) => t::Reply::Failed(reason.clone()),
    };
    replies.iter().map(reply).collect()
}

// ---- out ----

pub(super) fn acquire_step(step: t::Step) -> Result<Step> {
    Ok(match step {
        t::Step::Perform(perform) => Step::Perform(calls(perform)?),
        t::Step::Done(done) => Step::Done(decision(done)?),
    })
}

pub(super) fn settle_step(step: s::SettleStep) -> Result<Step<Settlement>> {
    Ok(match step {
        s::SettleStep::Perform(perform) => Step::Perform(calls(perform)?),
        s::SettleStep::Done(settlement) => Step::Done(match settlement {
            s::Settlement::Settled => Settlement::Settled,
            s::Settlement::WindowOver => Settlement::WindowOver,
            s::Settlement::ItemGone => Settlement::ItemGone,
            s::Settlement::Failed(error) => Settlement::Failed(error.into()),
            s::Settlement::Unavailable(reason) => Settlement::Unavailable(reason),
            s::Settlement::Misconfigured(reason) => Settlement::Misconfigured(reason),
        }),
    })
}

pub(super) fn preview_step(
    step: p::PreviewStep,
    hint: impl FnOnce() -> Result<Hint>,
) -> Result<Step<Looked>> {
    let outcome = match step {
        p::PreviewStep::Perform(perform) => return Ok(Step::Perform(calls(perform)?)),
        p::PreviewStep::Done(p::PreviewOutcome::Report(report)) => PreviewOutcome::Report(report.into()),
        p::PreviewStep::Done(p::PreviewOutcome::Failed(error)) => PreviewOutcome::Failed(error.into()),
        p::PreviewStep::Done(p::PreviewOutcome::Unavailable(reason)) => PreviewOutcome::Unavailable(reason),
        p::PreviewStep::Done(p::PreviewOutcome::Misconfigured(reason)) => {
            PreviewOutcome::Misconfigured(reason)
        }
    };
    Ok(Step::Done(Looked { outcome, hint: hint()? }))
}

pub(super) fn cascade_step(step: c::CascadeStep) -> Result<Step<CascadeDecision>> {
    let decision = match step {
        c::CascadeStep::Perform(perform) => return Ok(Step::Perform(calls(perform)?)),
        c::CascadeStep::Done(decision) => decision,
    };
    let level = |level: c::Level| {
        Ok(LevelDecision {
            entity: level.entity,
            limits: all(level.limits),
            lease: level.lease.as_deref().map(lease).transpose()?,
            hint: level.hint.into(),
        })
    };
    Ok(Step::Done(CascadeDecision {
        outcome: outcome(decision.outcome)?,
        decided_by: usize::try_from(decision.decided_by)?,
        levels: decision.levels.into_iter().map(level).collect::<Result<_>>()?,
        follow_ups: calls(decision.follow_ups)?,
    }))
}

fn lease(lease: &str) -> Result<Lease> {
    match Lease::decode(lease) {
        Ok(lease) => Ok(lease),
        Err(error) => bail!("it admitted with a lease that cannot be read: {error}"),
    }
}

fn outcome(outcome: t::Outcome) -> Result<Outcome> {
    Ok(match outcome {
        t::Outcome::Admitted(text) => Outcome::Admitted(lease(&text)?),
        t::Outcome::Rejected(retry_after_ms) => Outcome::Rejected { retry_after_ms },
        t::Outcome::Contended(retry_after_ms) => Outcome::Contended { retry_after_ms },
        t::Outcome::NeverFits(limit) => Outcome::NeverFits { limit },
        t::Outcome::Disabled => Outcome::Disabled,
        t::Outcome::Failed(error) => Outcome::Failed(error.into()),
        t::Outcome::Unavailable(reason) => Outcome::Unavailable(reason),
        t::Outcome::Misconfigured(reason) => Outcome::Misconfigured(reason),
    })
}

pub(super) fn decision(decision: t::Decision) -> Result<Decision> {
    Ok(Decision {
        outcome: outcome(decision.outcome)?,
        limits: all(decision.limits),
        follow_ups: calls(decision.follow_ups)?,
        hint: decision.hint.into(),
    })
}

/// The operations there are.
const OPERATIONS: [&str; 5] = ["UpdateItem", "PutItem", "BatchGetItem", "GetItem", "TransactWriteItems"];

fn calls(calls: Vec<t::Call>) -> Result<Vec<Call>> {
    let call = |t::Call { operation, body, resend }| {
        let Some(operation) = OPERATIONS.into_iter().find(|known| *known == operation) else {
            bail!("it asked for the operation {operation:?}, expected one of {OPERATIONS:?}");
        };
        let resend = match resend {
            t::Resend::Idempotent => Resend::Idempotent,
            t::Resend::MayDebitTwice => Resend::MayDebitTwice,
            t::Resend::Never => Resend::Never,
        };
        Ok(Call { operation, body, resend })
    };
    calls.into_iter().map(call).collect()
}

impl From<t::Hint> for Hint {
    fn from(t::Hint { key, shard_count, blocked }: t::Hint) -> Self {
        let blocked = blocked.into_iter().map(|t::Blocked { status, above_milli, until_ms }| Blocked {
            status: status.into(),
            above_milli,
            until_ms,
        });
        Self { key, shard_count, blocked: blocked.collect() }
    }
}

impl From<t::LimitStatus> for LimitStatus {
    fn from(t::LimitStatus { name, capacity, available, resets_at_ms }: t::LimitStatus) -> Self {
        Self { name, capacity, available, resets_at_ms }
    }
}

impl From<t::Error> for Error {
    fn from(t::Error { code, message }: t::Error) -> Self {
        let code = match code {
            t::ErrorCode::InvalidRequest => ErrorCode::InvalidRequest,
            t::ErrorCode::UnknownLimit => ErrorCode::UnknownLimit,
            t::ErrorCode::CorruptItem => ErrorCode::CorruptItem,
            t::ErrorCode::Overflow => ErrorCode::Overflow,
            t::ErrorCode::Unsupported => ErrorCode::Unsupported,
            t::ErrorCode::Other => ErrorCode::Misuse,
        };
        Self { code, message }
    }
}

impl From<p::PreviewReport> for PreviewReport {
    fn from(p::PreviewReport { shard_count, disabled, limits }: p::PreviewReport) -> Self {
        let limits = limits.into_iter().map(|p::LimitPreview { status, shards }| LimitPreview {
            status: status.into(),
            shards: all(shards),
        });
        Self { shard_count, disabled, limits: limits.collect() }
    }
}

impl From<p::ShardView> for ShardView {
    fn from(view: p::ShardView) -> Self {
        let state = match view.state {
            p::WindowState::Absent => WindowState::Absent,
            p::WindowState::Unstarted => WindowState::Unstarted,
            p::WindowState::Live => WindowState::Live,
            p::WindowState::Pending => WindowState::Pending,
            p::WindowState::Ended => WindowState::Ended,
        };
        let p::ShardView {
            shard, starts_at_ms, ends_at_ms, balance_milli, counted_milli, ceiling_milli, ..
        } = view;
        Self { shard, state, starts_at_ms, ends_at_ms, balance_milli, counted_milli, ceiling_milli }
    }
}

fn all<A, B: From<A>>(items: Vec<A>) -> Vec<B> {
    items.into_iter().map(Into::into).collect()
}
