//! What a machine and its host exchange: calls, replies, decisions.

use alloc::{string::String, vec::Vec};

use super::{
    error::{Corrupt, Error},
    hint::Hint,
    lease::Lease,
    status::LimitStatus,
};
#[cfg(feature = "wasmtime")]
use wasmtime::component::{ComponentType, Lift, Lower};

/// What could happen when a call is sent again after its reply was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wasmtime", derive(ComponentType, Lift, Lower), component(enum))]
#[repr(u8)]
pub enum Resend {
    /// Nothing: a second landing changes nothing.
    #[cfg_attr(feature = "wasmtime", component(name = "idempotent"))]
    Idempotent,
    /// The tokens are debited twice: this under-admits, and never over-admits.
    #[cfg_attr(feature = "wasmtime", component(name = "may-debit-twice"))]
    MayDebitTwice,
    /// Tokens are credited twice: never send it again.
    #[cfg_attr(feature = "wasmtime", component(name = "never"))]
    Never,
}

/// One request for the host to sign and POST to the table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// The operation, for the header `X-Amz-Target: DynamoDB_20120810.{operation}`.
    pub operation: &'static str,
    /// The body, DynamoDB JSON 1.0.
    pub body: String,
    /// Whether it may be sent again.
    pub resend: Resend,
}

/// What a host received for a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reply {
    /// An HTTP response, whatever its status.
    Http {
        /// The status code.
        status: u16,
        /// The body as received.
        body: String,
    },
    /// No response: the connection failed or the time ran out. The write may have landed.
    Failed(String),
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Debited. The lease settles it.
    Admitted(Lease),
    /// Not enough tokens now.
    Rejected {
        /// Ask again after this many milliseconds, at least 1 (R14).
        retry_after_ms: u64,
    },
    /// Lost to other writers in every round.
    Contended {
        /// Ask again after this many milliseconds.
        retry_after_ms: u64,
    },
    /// The amount of this limit is above its capacity: it never fits.
    NeverFits {
        /// The limit.
        limit: String,
    },
    /// The bucket is switched off.
    Disabled,
    /// The request or the item is at fault. Nothing was debited unless the message says so.
    Failed(Error),
    /// The table did not answer in a usable way. Whether to allow is the caller's policy.
    Unavailable(String),
    /// The table refuses the caller: credentials, permissions, the table's name. Never a reason to allow.
    Misconfigured(String),
}

impl Outcome {
    /// Whether the tokens were debited.
    #[must_use]
    pub const fn is_admitted(&self) -> bool {
        matches!(self, Self::Admitted(_))
    }
}

/// The answer, and what the host does after it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Decision {
    /// The answer.
    pub outcome: Outcome,
    /// The limits the request named, in its order; in a rejection from a hint, those that refuse.
    /// Empty where nothing is known.
    pub limits: Vec<LimitStatus>,
    /// Calls to send after the answer was given. Their replies are not needed.
    pub follow_ups: Vec<Call>,
    /// What the host may remember about the subject.
    pub hint: Hint,
}

/// The next step of a machine. `D` is its decision.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step<D = Decision> {
    /// Send these calls at the same time, and pass their replies to the next `advance` in this order.
    Perform(Vec<Call>),
    /// The end.
    Done(D),
}

impl From<Error> for Outcome {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<Corrupt> for Outcome {
    fn from(corrupt: Corrupt) -> Self {
        Error::from(corrupt).into()
    }
}
