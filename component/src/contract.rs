//! The records of `wit/` that the library spells differently, and the conversions, once for both sides: the
//! component answers in these, a host that loads it reads these. What is not here is the same on both sides.

use alloc::{string::String, vec, vec::Vec};

use crate::{
    machine::config,
    types::{
        answer::{self, Resend},
        cascade::{CascadeDecision, LevelDecision as Level},
        error::Error,
        hint::Hint,
        limit::Limit,
        preview::PreviewReport,
        settlement::Settlement,
        status::LimitStatus,
        subject::Subject,
    },
};
#[cfg(feature = "wasmtime")]
use wasmtime::component::{ComponentType, Lift, Lower};

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wasmtime", derive(ComponentType, Lift, Lower), component(variant))]
pub enum Reply {
    /// An HTTP response.
    #[cfg_attr(feature = "wasmtime", component(name = "http"))]
    Http(HttpReply),
    /// No response.
    #[cfg_attr(feature = "wasmtime", component(name = "failed"))]
    Failed(String),
}

/// An HTTP response.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wasmtime", derive(ComponentType, Lift, Lower), component(record))]
pub struct HttpReply {
    /// The status code.
    pub status: u16,
    /// The body.
    pub body: String,
}

/// One request for the host to sign and send.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wasmtime", derive(ComponentType, Lift, Lower), component(record))]
pub struct Call {
    /// The operation.
    pub operation: String,
    /// The body.
    pub body: String,
    /// Whether it may be sent again.
    pub resend: Resend,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wasmtime", derive(ComponentType, Lift, Lower), component(variant))]
pub enum Outcome {
    /// Taken; the leases are of the levels.
    #[cfg_attr(feature = "wasmtime", component(name = "admitted"))]
    Admitted,
    /// Not now; the wait in milliseconds.
    #[cfg_attr(feature = "wasmtime", component(name = "rejected"))]
    Rejected(u64),
    /// Lost every round; the wait in milliseconds.
    #[cfg_attr(feature = "wasmtime", component(name = "contended"))]
    Contended(u64),
    /// The limit that never fits.
    #[cfg_attr(feature = "wasmtime", component(name = "never-fits"))]
    NeverFits(String),
    /// Switched off.
    #[cfg_attr(feature = "wasmtime", component(name = "disabled"))]
    Disabled,
    /// The request or the item is at fault.
    #[cfg_attr(feature = "wasmtime", component(name = "failed"))]
    Failed(Error),
    /// The table did not answer.
    #[cfg_attr(feature = "wasmtime", component(name = "unavailable"))]
    Unavailable(String),
    /// The table refuses the host.
    #[cfg_attr(feature = "wasmtime", component(name = "misconfigured"))]
    Misconfigured(String),
}

/// What became of one entity.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wasmtime", derive(ComponentType, Lift, Lower), component(record))]
pub struct LevelDecision {
    /// The entity.
    pub entity: String,
    /// The encoded lease.
    pub lease: Option<String>,
    /// Its limits.
    pub limits: Vec<LimitStatus>,
    /// What may be remembered.
    pub hint: Hint,
}

/// The answer, and what the host does with the rest.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wasmtime", derive(ComponentType, Lift, Lower), component(record))]
pub struct Decision {
    /// The answer.
    pub outcome: Outcome,
    /// The place of the level that decided.
    #[cfg_attr(feature = "wasmtime", component(name = "decided-by"))]
    pub decided_by: u32,
    /// Every level.
    pub levels: Vec<LevelDecision>,
    /// Calls for after the answer.
    #[cfg_attr(feature = "wasmtime", component(name = "follow-ups"))]
    pub follow_ups: Vec<Call>,
}

/// What became of a lease.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wasmtime", derive(ComponentType, Lift, Lower), component(record))]
pub struct Settled {
    /// The answer.
    pub settlement: Settlement,
    /// Whose lease it is.
    pub subject: Option<Subject>,
    /// What may be remembered.
    pub hint: Option<Hint>,
}

/// What is left.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wasmtime", derive(ComponentType, Lift, Lower), component(record))]
pub struct Previewed {
    /// The answer.
    pub report: PreviewReport,
    /// What may be remembered.
    pub hint: Hint,
}

/// What the table configures.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wasmtime", derive(ComponentType, Lift, Lower), component(record))]
pub struct Configuration {
    /// The limits.
    pub limits: Vec<Limit>,
    /// Whether items made by them live forever.
    pub permanent: bool,
    /// Whether the subject is switched off.
    pub disabled: bool,
}

/// What an operation comes to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wasmtime", derive(ComponentType, Lift, Lower), component(variant))]
pub enum Ending {
    /// Of `acquire`.
    #[cfg_attr(feature = "wasmtime", component(name = "acquired"))]
    Acquired(Decision),
    /// Of `settle`.
    #[cfg_attr(feature = "wasmtime", component(name = "settled"))]
    Settled(Settled),
    /// Of `preview`.
    #[cfg_attr(feature = "wasmtime", component(name = "previewed"))]
    Previewed(Previewed),
    /// Of `configure`.
    #[cfg_attr(feature = "wasmtime", component(name = "configured"))]
    Configured(Configuration),
    /// Of `find-namespace`.
    #[cfg_attr(feature = "wasmtime", component(name = "namespace"))]
    Namespace(String),
    /// The request or an item is at fault.
    #[cfg_attr(feature = "wasmtime", component(name = "failed"))]
    Failed(Error),
    /// The table did not answer.
    #[cfg_attr(feature = "wasmtime", component(name = "unavailable"))]
    Unavailable(String),
    /// The table refuses the host.
    #[cfg_attr(feature = "wasmtime", component(name = "misconfigured"))]
    Misconfigured(String),
}

/// What a machine wants next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wasmtime", derive(ComponentType, Lift, Lower), component(variant))]
pub enum Step {
    /// Calls to send.
    #[cfg_attr(feature = "wasmtime", component(name = "perform"))]
    Perform(Vec<Call>),
    /// The end.
    #[cfg_attr(feature = "wasmtime", component(name = "done"))]
    Done(Ending),
}

// ---- into the component, and out of it ----

impl From<Reply> for answer::Reply {
    fn from(reply: Reply) -> Self {
        match reply {
            Reply::Http(HttpReply { status, body }) => Self::Http { status, body },
            Reply::Failed(reason) => Self::Failed(reason),
        }
    }
}

impl From<answer::Call> for Call {
    fn from(answer::Call { operation, body, resend }: answer::Call) -> Self {
        Self { operation: operation.into(), body, resend }
    }
}

impl From<answer::Outcome> for Outcome {
    fn from(outcome: answer::Outcome) -> Self {
        match outcome {
            answer::Outcome::Admitted(_) => Self::Admitted,
            answer::Outcome::Rejected { retry_after_ms } => Self::Rejected(retry_after_ms),
            answer::Outcome::Contended { retry_after_ms } => Self::Contended(retry_after_ms),
            answer::Outcome::NeverFits { limit } => Self::NeverFits(limit),
            answer::Outcome::Disabled => Self::Disabled,
            answer::Outcome::Failed(error) => Self::Failed(error),
            answer::Outcome::Unavailable(reason) => Self::Unavailable(reason),
            answer::Outcome::Misconfigured(reason) => Self::Misconfigured(reason),
        }
    }
}

impl From<CascadeDecision> for Decision {
    fn from(decision: CascadeDecision) -> Self {
        let level = |Level { entity, limits, lease, hint }: Level| LevelDecision {
            entity,
            lease: lease.map(|lease| lease.encode()),
            limits,
            hint,
        };
        Self {
            outcome: decision.outcome.into(),
            decided_by: u32::try_from(decision.decided_by).unwrap_or_default(),
            levels: decision.levels.into_iter().map(level).collect(),
            follow_ups: all(decision.follow_ups),
        }
    }
}

impl Decision {
    /// Of one level.
    #[must_use]
    pub fn of_one(entity: String, decision: answer::Decision) -> Self {
        let answer::Decision { outcome, limits, follow_ups, hint } = decision;
        let lease = match &outcome {
            answer::Outcome::Admitted(lease) => Some(lease.encode()),
            _ => None,
        };
        let levels = vec![LevelDecision { entity, lease, limits, hint }];
        Self { outcome: outcome.into(), decided_by: 0, levels, follow_ups: all(follow_ups) }
    }
}

impl From<config::Configuration> for Configuration {
    fn from(configuration: config::Configuration) -> Self {
        let permanent = configuration.is_permanent();
        Self { limits: configuration.limits, permanent, disabled: configuration.disabled }
    }
}

impl From<Error> for Ending {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Of what is read by one call, which decides nothing else.
impl From<answer::Outcome> for Ending {
    fn from(outcome: answer::Outcome) -> Self {
        match outcome {
            answer::Outcome::Unavailable(reason) => Self::Unavailable(reason),
            answer::Outcome::Misconfigured(reason) => Self::Misconfigured(reason),
            answer::Outcome::Failed(error) => Self::Failed(error),
            _ => Self::Failed(Error::misuse("nothing was asked that can be decided")),
        }
    }
}

fn all<A, B: From<A>>(of: Vec<A>) -> Vec<B> {
    of.into_iter().map(Into::into).collect()
}
