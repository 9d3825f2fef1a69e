//! The core behind the contract: `onewindow:quota` as imported, in the terms of the crate
//! `onewindow`.

use onewindow::{
    AcquireRequest, Amount, Blocked, Call, Decision, Drip, Error, ErrorCode, Hint, Lease, Limit,
    LimitPreview, LimitStatus, Outcome, PreviewOutcome, PreviewReport, Recovery, Reply, Resend, Settlement,
    ShardView, Step, Subject, WindowState, wire::Classification,
};
use onewindow_surface::guest::{Core, Machine};

use contract::onewindow::quota::{acquire, preview as p, settle as s, types as t, wire};

mod contract {
    wit_bindgen::generate!({
        path: "../../wit",
        inline: r"
            package onewindow:wasi-http;
            world shell {
                import onewindow:quota/types@0.1.0;
                import onewindow:quota/acquire@0.1.0;
                import onewindow:quota/settle@0.1.0;
                import onewindow:quota/preview@0.1.0;
                import onewindow:quota/wire@0.1.0;
            }
        ",
        generate_all,
    });
}

/// The composed core.
pub(crate) struct Imported;

impl Core for Imported {
    fn acquire(&self, request: AcquireRequest) -> impl Machine<Decision> {
        acquire::Acquisition::new(&request.into())
    }

    fn settle(&self, table: &str, lease: &str, actual: Vec<Amount>) -> impl Machine<Settlement> {
        s::Settling::new(table, lease, &all(actual))
    }

    fn preview(
        &self,
        subject: Subject,
        limits: Vec<Limit>,
        hint: Option<Hint>,
    ) -> impl Machine<(PreviewOutcome, Hint)> {
        p::Previewing::new(&subject.into(), &all(limits), hint.map(Into::into).as_ref())
    }

    fn reject(&self, request: &AcquireRequest, hint: &Hint, now_ms: u64) -> Option<Decision> {
        acquire::reject(&request.clone().into(), &hint.clone().into(), now_ms).map(Into::into)
    }

    fn classify(&self, of: &Reply) -> Classification {
        match wire::classify(&reply(of)) {
            wire::Classification::Data => Classification::Data,
            wire::Classification::Retry(reason) => Classification::Retry(reason),
            wire::Classification::Lost(reason) => Classification::Lost(reason),
            wire::Classification::Unavailable(reason) => Classification::Unavailable(reason),
            wire::Classification::Misconfigured(reason) => Classification::Misconfigured(reason),
            wire::Classification::ClockSkew => Classification::ClockSkew,
        }
    }
}

impl Machine<Decision> for acquire::Acquisition {
    fn advance(&mut self, now_ms: u64, replies: &[Reply]) -> Step<Decision> {
        match Self::advance(self, now_ms, &all(replies)) {
            t::Step::Perform(calls) => Step::Perform(all(calls)),
            t::Step::Done(decision) => Step::Done(decision.into()),
        }
    }
}

impl Machine<Settlement> for s::Settling {
    fn advance(&mut self, now_ms: u64, replies: &[Reply]) -> Step<Settlement> {
        match Self::advance(self, now_ms, &all(replies)) {
            s::SettleStep::Perform(calls) => Step::Perform(all(calls)),
            s::SettleStep::Done(settlement) => Step::Done(match settlement {
                s::Settlement::Settled => Settlement::Settled,
                s::Settlement::WindowOver => Settlement::WindowOver,
                s::Settlement::ItemGone => Settlement::ItemGone,
                s::Settlement::Failed(error) => Settlement::Failed(error.into()),
                s::Settlement::Unavailable(reason) => Settlement::Unavailable(reason),
                s::Settlement::Misconfigured(reason) => Settlement::Misconfigured(reason),
            }),
        }
    }
}

impl Machine<(PreviewOutcome, Hint)> for p::Previewing {
    fn advance(&mut self, now_ms: u64, replies: &[Reply]) -> Step<(PreviewOutcome, Hint)> {
        let outcome = match Self::advance(self, now_ms, &all(replies)) {
            p::PreviewStep::Perform(calls) => return Step::Perform(all(calls)),
            p::PreviewStep::Done(outcome) => outcome,
        };
        let outcome = match outcome {
            p::PreviewOutcome::Report(report) => PreviewOutcome::Report(report.into()),
            p::PreviewOutcome::Failed(error) => PreviewOutcome::Failed(error.into()),
            p::PreviewOutcome::Unavailable(reason) => PreviewOutcome::Unavailable(reason),
            p::PreviewOutcome::Misconfigured(reason) => PreviewOutcome::Misconfigured(reason),
        };
        Step::Done((outcome, self.hint().into()))
    }
}

fn all<A: Into<B>, B>(of: impl IntoIterator<Item = A>) -> Vec<B> {
    of.into_iter().map(Into::into).collect()
}

// ---- in ----

impl From<AcquireRequest> for t::AcquireRequest {
    fn from(request: AcquireRequest) -> Self {
        let AcquireRequest { subject, consume, limits, authoritative, permanent, hint, seed } = request;
        let (subject, hint) = (subject.into(), hint.map(Into::into));
        Self { subject, consume: all(consume), limits: all(limits), authoritative, permanent, hint, seed }
    }
}

impl From<Subject> for t::Subject {
    fn from(Subject { table, namespace, entity, resource }: Subject) -> Self {
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
        Self { key, shard_count, blocked: all(blocked) }
    }
}

impl From<Blocked> for t::Blocked {
    fn from(Blocked { status, above_milli, until_ms }: Blocked) -> Self {
        Self { status: status.into(), above_milli, until_ms }
    }
}

impl From<LimitStatus> for t::LimitStatus {
    fn from(LimitStatus { name, capacity, available, resets_at_ms }: LimitStatus) -> Self {
        Self { name, capacity, available, resets_at_ms }
    }
}

impl From<&Reply> for t::Reply {
    fn from(of: &Reply) -> Self {
        reply(of)
    }
}

fn reply(of: &Reply) -> t::Reply {
    match of {
        Reply::Http { status, body } => t::Reply::Http(t::HttpReply { status: *status, body: body.clone() }),
        Reply::Failed(reason) => t::Reply::Failed(reason.clone()),
    }
}

// ---- out ----

impl From<t::Decision> for Decision {
    fn from(t::Decision { outcome, limits, follow_ups, hint }: t::Decision) -> Self {
        Self { outcome: outcome.into(), limits: all(limits), follow_ups: all(follow_ups), hint: hint.into() }
    }
}

impl From<t::Outcome> for Outcome {
    fn from(outcome: t::Outcome) -> Self {
        match outcome {
            t::Outcome::Admitted(lease) => Lease::decode(&lease).map_or_else(Self::Failed, Self::Admitted),
            t::Outcome::Rejected(retry_after_ms) => Self::Rejected { retry_after_ms },
            t::Outcome::Contended(retry_after_ms) => Self::Contended { retry_after_ms },
            t::Outcome::NeverFits(limit) => Self::NeverFits { limit },
            t::Outcome::Disabled => Self::Disabled,
            t::Outcome::Failed(error) => Self::Failed(error.into()),
            t::Outcome::Unavailable(reason) => Self::Unavailable(reason),
            t::Outcome::Misconfigured(reason) => Self::Misconfigured(reason),
        }
    }
}

impl From<t::Call> for Call {
    fn from(t::Call { operation, body, resend }: t::Call) -> Self {
        // What no table knows, no table does.
        let operation = ["UpdateItem", "PutItem", "BatchGetItem", "GetItem", "TransactWriteItems"]
            .into_iter()
            .find(|known| *known == operation)
            .unwrap_or("Unknown");
        let resend = match resend {
            t::Resend::Idempotent => Resend::Idempotent,
            t::Resend::MayDebitTwice => Resend::MayDebitTwice,
            t::Resend::Never => Resend::Never,
        };
        Self { operation, body, resend }
    }
}

impl From<t::Hint> for Hint {
    fn from(t::Hint { key, shard_count, blocked }: t::Hint) -> Self {
        Self { key, shard_count, blocked: all(blocked) }
    }
}

impl From<t::Blocked> for Blocked {
    fn from(t::Blocked { status, above_milli, until_ms }: t::Blocked) -> Self {
        Self { status: status.into(), above_milli, until_ms }
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
        Self { shard_count, disabled, limits: all(limits) }
    }
}

impl From<p::LimitPreview> for LimitPreview {
    fn from(p::LimitPreview { status, shards }: p::LimitPreview) -> Self {
        Self { status: status.into(), shards: all(shards) }
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
