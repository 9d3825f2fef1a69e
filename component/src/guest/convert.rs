//! Between the library's types and the contract's, one for one.

use alloc::{borrow::Cow, string::String, sync::Arc, vec::Vec};

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
    item::{LimitState, Shard, parse_whole},
    key::Subject,
    limit::{Amount, Limit, Recovery},
    materialise::LimitPass,
    preview::{LimitPreview, PreviewOutcome, PreviewReport, ShardView, WindowState},
    request::AcquireRequest,
    settle::Settlement,
    wire::Classification,
    write::{Action, Assignment, Attribute, Change, ConditionalWrite, Term, Test, Value},
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

impl From<x::ShardState> for Shard {
    fn from(shard: x::ShardState) -> Self {
        Self {
            pk: shard.pk,
            id: shard.shard,
            shard_count: shard.shard_count.max(1),
            last_refill_ms: shard.last_refill_ms,
            valid_until_ms: shard.valid_until_ms,
            ttl_seconds: shard.ttl_seconds,
            disabled: shard.disabled,
            cascade: shard.cascade,
            // The pure functions decide about one bucket.
            parent_id: None,
            scheduled: shard.scheduled,
            bypass_until_ms: shard.bypass_until_ms,
            limits: all(shard.limits),
            wcu: shard.wcu.map(Into::into),
        }
    }
}

impl From<x::LimitState> for LimitState {
    fn from(state: x::LimitState) -> Self {
        Self {
            name: Arc::from(state.name.as_str()),
            tokens_milli: state.tokens_milli.into(),
            capacity_milli: state.capacity_milli.into(),
            refill_amount_milli: state.refill_amount_milli.into(),
            refill_period_ms: state.refill_period_ms,
            consumed_milli: state.consumed_milli.map(Into::into),
            reset_after_seconds: state.reset_after_seconds,
            window_start_ms: state.window_start_ms,
            window_applied_ms: state.window_applied_ms,
            consumed_mark_milli: state.consumed_mark_milli.map(Into::into),
            grant_count: state.grant_count,
            topped_up_milli: state.topped_up_milli.map(Into::into),
            soft_until_ms: state.soft_until_ms,
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

impl TryFrom<x::ConditionalWrite> for ConditionalWrite {
    type Error = Error;
    fn try_from(write: x::ConditionalWrite) -> Result<Self, Error> {
        let action = match write.action {
            x::Action::Put(assignments) => Action::Put(try_all(assignments)?),
            x::Action::Update(changes) => Action::Update(try_all(changes)?),
            x::Action::Check => Action::Check,
        };
        let clauses = write.clauses.into_iter().map(try_all).collect::<Result<_, Error>>()?;
        Ok(Self { pk: write.pk, sk: Cow::Owned(write.sk), action, clauses })
    }
}

fn attribute(name: String) -> Attribute {
    Attribute::Item(Cow::Owned(name))
}

impl TryFrom<x::Value> for Value {
    type Error = Error;
    fn try_from(value: x::Value) -> Result<Self, Error> {
        Ok(match value {
            x::Value::Number(digits) => Self::Number(parse_whole(&digits).ok_or_else(|| {
                Error::invalid(alloc::format!(
                    "{:?} is not a whole number of at most 38 digits; nothing was written",
                    crate::key::clip(&digits)
                ))
            })?),
            x::Value::Text(text) => Self::Text(text),
            x::Value::Boolean(value) => Self::Boolean(value),
            x::Value::Attribute(name) => Self::Attribute(attribute(name)),
        })
    }
}

impl TryFrom<x::Assignment> for Assignment {
    type Error = Error;
    fn try_from(assignment: x::Assignment) -> Result<Self, Error> {
        Ok(Self { attribute: attribute(assignment.attribute), value: assignment.value.try_into()? })
    }
}

impl TryFrom<x::Change> for Change {
    type Error = Error;
    fn try_from(change: x::Change) -> Result<Self, Error> {
        Ok(match change {
            x::Change::Set(assignment) => Self::Set(assignment.try_into()?),
            x::Change::Add(assignment) => Self::Add(assignment.try_into()?),
            x::Change::Remove(name) => Self::Remove(attribute(name)),
            x::Change::Snapshot(x::Snapshot { attribute: target, source }) => {
                Self::Snapshot { attribute: attribute(target), source: attribute(source) }
            }
        })
    }
}

impl TryFrom<x::Term> for Term {
    type Error = Error;
    fn try_from(term: x::Term) -> Result<Self, Error> {
        let test = match term.test {
            x::Test::Exists => Test::Exists,
            x::Test::Absent => Test::Absent,
            x::Test::Equal => Test::Equal,
            x::Test::NotEqual => Test::NotEqual,
            x::Test::Less => Test::Less,
            x::Test::AtMost => Test::AtMost,
            x::Test::More => Test::More,
            x::Test::AtLeast => Test::AtLeast,
        };
        let operand = term.operand.map(TryInto::try_into).transpose()?;
        let unary = matches!(test, Test::Exists | Test::Absent);
        if unary == operand.is_some() {
            return Err(Error::invalid(alloc::format!(
                "a term on {:?} has an operand where it takes none, or none where it takes one; nothing was written",
                crate::key::clip(&term.attribute)
            )));
        }
        Ok(Self { attribute: attribute(term.attribute), test, operand })
    }
}

fn try_all<A: TryInto<B, Error = Error>, B>(items: Vec<A>) -> Result<Vec<B>, Error> {
    items.into_iter().map(TryInto::try_into).collect()
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
        let narrow = |number, field| narrow(number, &alloc::format!("b_{}_{field}", state.name));
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
            limits: try_all(shard.limits)?,
            wcu: shard.wcu.map(TryInto::try_into).transpose()?,
        })
    }
}

impl TryFrom<&LimitPass> for w::LimitPass {
    type Error = Error;
    fn try_from(pass: &LimitPass) -> Result<Self, Error> {
        Ok(Self {
            name: String::from(&*pass.after.name),
            balance_milli: narrow(pass.after.tokens_milli, "a balance")?,
            ceiling_milli: narrow(pass.ceiling_milli, "a ceiling")?,
            was_pending: pass.was_pending,
            opened: pass.opened,
            reset: pass.reset,
            ends_at_ms: pass.window_end_ms().and_then(|end_ms| u64::try_from(end_ms).ok()),
        })
    }
}

impl From<ConditionalWrite> for x::ConditionalWrite {
    fn from(write: ConditionalWrite) -> Self {
        let action = match write.action {
            Action::Put(assignments) => x::Action::Put(all(assignments)),
            Action::Update(changes) => x::Action::Update(all(changes)),
            Action::Check => x::Action::Check,
        };
        let clauses = write.clauses.into_iter().map(all).collect();
        Self { pk: write.pk, sk: write.sk.into_owned(), action, clauses }
    }
}

fn name(attribute: &Attribute) -> String {
    alloc::format!("{attribute}")
}

impl From<Value> for x::Value {
    fn from(value: Value) -> Self {
        match value {
            Value::Number(number) => Self::Number(alloc::format!("{number}")),
            Value::Text(text) => Self::Text(text),
            Value::Boolean(value) => Self::Boolean(value),
            Value::Attribute(attribute) => Self::Attribute(name(&attribute)),
        }
    }
}

impl From<Assignment> for x::Assignment {
    fn from(assignment: Assignment) -> Self {
        Self { attribute: name(&assignment.attribute), value: assignment.value.into() }
    }
}

impl From<Change> for x::Change {
    fn from(change: Change) -> Self {
        match change {
            Change::Set(assignment) => Self::Set(assignment.into()),
            Change::Add(assignment) => Self::Add(assignment.into()),
            Change::Remove(attribute) => Self::Remove(name(&attribute)),
            Change::Snapshot { attribute, source } => {
                Self::Snapshot(x::Snapshot { attribute: name(&attribute), source: name(&source) })
            }
        }
    }
}

impl From<Term> for x::Term {
    fn from(term: Term) -> Self {
        let test = match term.test {
            Test::Exists => x::Test::Exists,
            Test::Absent => x::Test::Absent,
            Test::Equal => x::Test::Equal,
            Test::NotEqual => x::Test::NotEqual,
            Test::Less => x::Test::Less,
            Test::AtMost => x::Test::AtMost,
            Test::More => x::Test::More,
            Test::AtLeast => x::Test::AtLeast,
        };
        Self { attribute: name(&term.attribute), test, operand: term.operand.map(Into::into) }
    }
}
