//! The records.

use alloc::{string::String, vec::Vec};

use crate::types::{
    answer::Resend, error::Error, hint::Hint, limit::Limit, preview::PreviewReport, settlement::Settlement,
    status::LimitStatus, subject::Subject,
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
