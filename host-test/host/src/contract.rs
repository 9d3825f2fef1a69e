//! Between the contract's records and the types of the crate [`onewindow`].
//!
//! Every tool makes records of its own out of `wit/`, with the same names and members. The macro
//! [`convert_contract`](crate::convert_contract) writes the conversions for those of one tool.

use onewindow::{Error, ErrorCode, Lease};

/// The operations there are.
const OPERATIONS: [&str; 5] = ["UpdateItem", "PutItem", "BatchGetItem", "GetItem", "TransactWriteItems"];

/// Each of them, converted.
pub fn all<A: Into<B>, B>(of: impl IntoIterator<Item = A>) -> Vec<B> {
    of.into_iter().map(Into::into).collect()
}

/// Each of them, converted.
///
/// # Errors
/// The first that cannot be.
pub fn try_all<A: TryInto<B>, B>(of: impl IntoIterator<Item = A>) -> Result<Vec<B>, A::Error> {
    of.into_iter().map(TryInto::try_into).collect()
}

/// The operation by its name.
///
/// # Errors
/// Where no table knows it.
pub fn operation(name: &str) -> Result<&'static str, Error> {
    OPERATIONS.into_iter().find(|known| *known == name).ok_or_else(|| Error {
        code: ErrorCode::Misuse,
        message: format!("the core asked for the operation {name:?}, expected one of {OPERATIONS:?}"),
    })
}

/// The lease of an admission.
///
/// # Errors
/// Where it cannot be read.
pub fn lease(text: &str) -> Result<Lease, Error> {
    Lease::decode(text).map_err(|error| Error {
        code: ErrorCode::Misuse,
        message: format!("the core admitted with a lease that cannot be read: {error}"),
    })
}

/// Implements the conversions for the records in the modules of the interfaces `types`, `settle` and
/// `preview`, each given by a name in scope. What only the core may say wrongly is a `TryFrom`.
#[macro_export]
macro_rules! convert_contract {
    ($t:ident, $s:ident, $p:ident) => {
        const _: () = {
            use onewindow::{
                AcquireRequest, Amount, Call, Decision, Drip, Error, ErrorCode, Hint, KnownRejection, Limit,
                LimitPreview, LimitStatus, Outcome, PreviewOutcome, PreviewReport, Recovery, Reply, Resend,
                Settlement, ShardView, Step, Subject, WindowState,
            };
            use $crate::contract::{all, lease, operation, try_all};

            // ---- in ----

            impl From<AcquireRequest> for $t::AcquireRequest {
                fn from(request: AcquireRequest) -> Self {
                    let AcquireRequest { subject, consume, limits, authoritative, permanent, hint, seed } =
                        request;
                    let (subject, hint) = (subject.into(), hint.map(Into::into));
                    let (consume, limits) = (all(consume), all(limits));
                    Self { subject, consume, limits, authoritative, permanent, hint, seed }
                }
            }

            impl From<Subject> for $t::Subject {
                fn from(Subject { table, namespace, entity, resource }: Subject) -> Self {
                    Self { table, namespace, entity, resource }
                }
            }

            impl From<Amount> for $t::Amount {
                fn from(Amount { limit, tokens }: Amount) -> Self {
                    Self { limit, tokens }
                }
            }

            impl From<Limit> for $t::Limit {
                fn from(Limit { name, capacity, recovery }: Limit) -> Self {
                    let recovery = match recovery {
                        Recovery::Session(length_seconds) => $t::Recovery::Session(length_seconds),
                        Recovery::Drip(Drip { refill_amount, refill_period_seconds }) => {
                            $t::Recovery::Drip($t::Drip { refill_amount, refill_period_seconds })
                        }
                    };
                    Self { name, capacity, recovery }
                }
            }

            impl From<Hint> for $t::Hint {
                fn from(Hint { key, shard_count, rejections }: Hint) -> Self {
                    Self { key, shard_count, rejections: all(rejections) }
                }
            }

            impl From<KnownRejection> for $t::KnownRejection {
                fn from(KnownRejection { status, above_milli, until_ms }: KnownRejection) -> Self {
                    Self { status: status.into(), above_milli, until_ms }
                }
            }

            impl From<LimitStatus> for $t::LimitStatus {
                fn from(LimitStatus { name, capacity, available, resets_at_ms }: LimitStatus) -> Self {
                    Self { name, capacity, available, resets_at_ms }
                }
            }

            impl From<&Reply> for $t::Reply {
                fn from(reply: &Reply) -> Self {
                    match reply {
                        Reply::Http { status, body } => {
                            Self::Http($t::HttpReply { status: *status, body: body.clone() })
                        }
                        Reply::Failed(reason) => Self::Failed(reason.clone()),
                    }
                }
            }

            // ---- out ----

            impl TryFrom<$t::Step> for Step<Decision> {
                type Error = Error;

                fn try_from(step: $t::Step) -> Result<Self, Error> {
                    Ok(match step {
                        $t::Step::Perform(calls) => Self::Perform(try_all(calls)?),
                        $t::Step::Done(decision) => Self::Done(decision.try_into()?),
                    })
                }
            }

            impl TryFrom<$s::SettleStep> for Step<Settlement> {
                type Error = Error;

                fn try_from(step: $s::SettleStep) -> Result<Self, Error> {
                    Ok(match step {
                        $s::SettleStep::Perform(calls) => Self::Perform(try_all(calls)?),
                        $s::SettleStep::Done(settlement) => Self::Done(settlement.into()),
                    })
                }
            }

            impl TryFrom<$p::PreviewStep> for Step<PreviewOutcome> {
                type Error = Error;

                fn try_from(step: $p::PreviewStep) -> Result<Self, Error> {
                    Ok(match step {
                        $p::PreviewStep::Perform(calls) => Self::Perform(try_all(calls)?),
                        $p::PreviewStep::Done(outcome) => Self::Done(outcome.into()),
                    })
                }
            }

            impl TryFrom<$t::Decision> for Decision {
                type Error = Error;

                fn try_from(decision: $t::Decision) -> Result<Self, Error> {
                    let $t::Decision { outcome, limits, follow_ups, hint } = decision;
                    let (outcome, follow_ups) = (outcome.try_into()?, try_all(follow_ups)?);
                    Ok(Self { outcome, limits: all(limits), follow_ups, hint: hint.into() })
                }
            }

            impl TryFrom<$t::Outcome> for Outcome {
                type Error = Error;

                fn try_from(outcome: $t::Outcome) -> Result<Self, Error> {
                    Ok(match outcome {
                        $t::Outcome::Admitted(text) => Self::Admitted(lease(&text)?),
                        $t::Outcome::Rejected(retry_after_ms) => Self::Rejected { retry_after_ms },
                        $t::Outcome::Contended(retry_after_ms) => Self::Contended { retry_after_ms },
                        $t::Outcome::NeverFits(limit) => Self::NeverFits { limit },
                        $t::Outcome::Disabled => Self::Disabled,
                        $t::Outcome::Failed(error) => Self::Failed(error.into()),
                        $t::Outcome::Unavailable(reason) => Self::Unavailable(reason),
                        $t::Outcome::Misconfigured(reason) => Self::Misconfigured(reason),
                    })
                }
            }

            impl TryFrom<$t::Call> for Call {
                type Error = Error;

                fn try_from($t::Call { operation: name, body, resend }: $t::Call) -> Result<Self, Error> {
                    let resend = match resend {
                        $t::Resend::Idempotent => Resend::Idempotent,
                        $t::Resend::MayDebitTwice => Resend::MayDebitTwice,
                        $t::Resend::Never => Resend::Never,
                    };
                    Ok(Self { operation: operation(&name)?, body, resend })
                }
            }

            impl From<$s::Settlement> for Settlement {
                fn from(settlement: $s::Settlement) -> Self {
                    match settlement {
                        $s::Settlement::Settled => Self::Settled,
                        $s::Settlement::WindowOver => Self::WindowOver,
                        $s::Settlement::ItemGone => Self::ItemGone,
                        $s::Settlement::Failed(error) => Self::Failed(error.into()),
                        $s::Settlement::Unavailable(reason) => Self::Unavailable(reason),
                        $s::Settlement::Misconfigured(reason) => Self::Misconfigured(reason),
                    }
                }
            }

            impl From<$p::PreviewOutcome> for PreviewOutcome {
                fn from(outcome: $p::PreviewOutcome) -> Self {
                    match outcome {
                        $p::PreviewOutcome::Report(report) => Self::Report(report.into()),
                        $p::PreviewOutcome::Failed(error) => Self::Failed(error.into()),
                        $p::PreviewOutcome::Unavailable(reason) => Self::Unavailable(reason),
                        $p::PreviewOutcome::Misconfigured(reason) => Self::Misconfigured(reason),
                    }
                }
            }

            impl From<$t::Hint> for Hint {
                fn from($t::Hint { key, shard_count, rejections }: $t::Hint) -> Self {
                    Self { key, shard_count, rejections: all(rejections) }
                }
            }

            impl From<$t::KnownRejection> for KnownRejection {
                fn from($t::KnownRejection { status, above_milli, until_ms }: $t::KnownRejection) -> Self {
                    Self { status: status.into(), above_milli, until_ms }
                }
            }

            impl From<$t::LimitStatus> for LimitStatus {
                fn from(
                    $t::LimitStatus { name, capacity, available, resets_at_ms }: $t::LimitStatus,
                ) -> Self {
                    Self { name, capacity, available, resets_at_ms }
                }
            }

            impl From<$t::Error> for Error {
                fn from($t::Error { code, message }: $t::Error) -> Self {
                    let code = match code {
                        $t::ErrorCode::InvalidRequest => ErrorCode::InvalidRequest,
                        $t::ErrorCode::UnknownLimit => ErrorCode::UnknownLimit,
                        $t::ErrorCode::CorruptItem => ErrorCode::CorruptItem,
                        $t::ErrorCode::Overflow => ErrorCode::Overflow,
                        $t::ErrorCode::Unsupported => ErrorCode::Unsupported,
                        $t::ErrorCode::Other => ErrorCode::Misuse,
                    };
                    Self { code, message }
                }
            }

            impl From<$p::PreviewReport> for PreviewReport {
                fn from($p::PreviewReport { shard_count, disabled, limits }: $p::PreviewReport) -> Self {
                    Self { shard_count, disabled, limits: all(limits) }
                }
            }

            impl From<$p::LimitPreview> for LimitPreview {
                fn from($p::LimitPreview { status, shards }: $p::LimitPreview) -> Self {
                    Self { status: status.into(), shards: all(shards) }
                }
            }

            impl From<$p::ShardView> for ShardView {
                fn from(view: $p::ShardView) -> Self {
                    let state = match view.state {
                        $p::WindowState::Absent => WindowState::Absent,
                        $p::WindowState::Unstarted => WindowState::Unstarted,
                        $p::WindowState::Live => WindowState::Live,
                        $p::WindowState::Pending => WindowState::Pending,
                        $p::WindowState::Ended => WindowState::Ended,
                    };
                    let $p::ShardView { shard, starts_at_ms, ends_at_ms, balance_milli, .. } = view;
                    let $p::ShardView { counted_milli, ceiling_milli, .. } = view;
                    Self {
                        shard,
                        state,
                        starts_at_ms,
                        ends_at_ms,
                        balance_milli,
                        counted_milli,
                        ceiling_milli,
                    }
                }
            }
        };
    };
}
