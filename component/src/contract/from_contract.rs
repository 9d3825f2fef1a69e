//! From the contract to the library, for a host that loads the core as a component.

use alloc::{format, string::String, vec::Vec};

use super::records::{Call, Decision, Ending, HttpReply, LevelDecision, Outcome, Reply, Step};
use crate::types::{
    answer::{self, Resend},
    cascade::{CascadeDecision, LevelDecision as Level},
    error::{Error, ErrorCode},
    hint::Hint,
    lease::Lease,
    preview::WindowState,
    settlement::Settlement,
};

/// The operations.
const OPERATIONS: [&str; 5] = ["UpdateItem", "PutItem", "BatchGetItem", "GetItem", "TransactWriteItems"];

/// The decision of an operation, read from its ending.
pub trait Decided: Sized {
    /// The decision of this ending.
    ///
    /// # Errors
    /// Where the component ended in another way than its contract says.
    fn of(ending: Ending) -> Result<Self, Error>;

    /// The decision where the component failed.
    fn failed(error: Error) -> Self;
}

impl Step {
    /// The step in the library's own type.
    #[must_use]
    pub fn into_library<D: Decided>(self) -> answer::Step<D> {
        let step = match self {
            Self::Perform(calls) => try_all(calls).map(answer::Step::Perform),
            Self::Done(ending) => D::of(ending).map(answer::Step::Done),
        };
        step.unwrap_or_else(|error| answer::Step::Done(D::failed(error)))
    }
}

impl Ending {
    /// The error of a machine that was not used as its contract says, or whose ending belongs to another
    /// operation.
    #[must_use]
    pub fn into_error(self) -> Error {
        match self {
            Self::Failed(error) => error,
            _ => fault("the core ended another operation than was asked".into()),
        }
    }
}

impl Decided for answer::Decision {
    fn of(ending: Ending) -> Result<Self, Error> {
        let Decision { outcome, levels, follow_ups, .. } = acquired(ending)?;
        let [LevelDecision { lease, limits, hint, .. }] =
            <[_; 1]>::try_from(levels).map_err(|levels| misuse("levels", levels.len(), "1"))?;
        let lease = lease.as_deref().map(decode).transpose()?;
        let missing = || misuse("leases", 0, "one of an admission");
        let outcome = library(outcome, || lease.ok_or_else(missing))?;
        Ok(Self { outcome, limits, follow_ups: try_all(follow_ups)?, hint })
    }

    fn failed(error: Error) -> Self {
        Self { outcome: error.into(), limits: Vec::new(), follow_ups: Vec::new(), hint: Hint::default() }
    }
}

impl Decided for CascadeDecision {
    fn of(ending: Ending) -> Result<Self, Error> {
        let decision = acquired(ending)?;
        let mut levels = Vec::new();
        for LevelDecision { entity, lease, limits, hint } in decision.levels {
            levels.push(Level { entity, lease: lease.as_deref().map(decode).transpose()?, limits, hint });
        }
        let outcome = library(decision.outcome, || {
            let first = levels.first().ok_or_else(|| misuse("levels", 0, "one of an admission"))?;
            Ok(first.lease.clone().unwrap_or_else(|| Lease::of_nothing(&first.entity)))
        })?;
        let decided_by = usize::try_from(decision.decided_by).unwrap_or_default();
        Ok(Self { outcome, decided_by, levels, follow_ups: try_all(decision.follow_ups)? })
    }

    fn failed(error: Error) -> Self {
        Self { outcome: error.into(), decided_by: 0, levels: Vec::new(), follow_ups: Vec::new() }
    }
}

impl Decided for Settlement {
    fn of(ending: Ending) -> Result<Self, Error> {
        match ending {
            Ending::Settled(settled) => Ok(settled.settlement),
            other => Err(other.into_error()),
        }
    }

    fn failed(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<&answer::Reply> for Reply {
    fn from(reply: &answer::Reply) -> Self {
        match reply {
            answer::Reply::Http { status, body } => {
                Self::Http(HttpReply { status: *status, body: body.clone() })
            }
            answer::Reply::Failed(reason) => Self::Failed(reason.clone()),
        }
    }
}

impl TryFrom<Call> for answer::Call {
    type Error = Error;

    fn try_from(Call { operation, body, resend }: Call) -> Result<Self, Error> {
        let known = OPERATIONS.into_iter().find(|known| *known == operation);
        let unknown = || {
            fault(format!("the core asked for the operation {operation:?}, expected one of {OPERATIONS:?}"))
        };
        Ok(Self { operation: known.ok_or_else(unknown)?, body, resend })
    }
}

/// The outcome, with the lease of an admission.
fn library(outcome: Outcome, lease: impl FnOnce() -> Result<Lease, Error>) -> Result<answer::Outcome, Error> {
    Ok(match outcome {
        Outcome::Admitted => answer::Outcome::Admitted(lease()?),
        Outcome::Rejected(retry_after_ms) => answer::Outcome::Rejected { retry_after_ms },
        Outcome::Contended(retry_after_ms) => answer::Outcome::Contended { retry_after_ms },
        Outcome::NeverFits(limit) => answer::Outcome::NeverFits { limit },
        Outcome::Disabled => answer::Outcome::Disabled,
        Outcome::Failed(error) => answer::Outcome::Failed(error),
        Outcome::Unavailable(reason) => answer::Outcome::Unavailable(reason),
        Outcome::Misconfigured(reason) => answer::Outcome::Misconfigured(reason),
    })
}

fn acquired(ending: Ending) -> Result<Decision, Error> {
    match ending {
        Ending::Acquired(decision) => Ok(decision),
        other => Err(other.into_error()),
    }
}

fn decode(lease: &str) -> Result<Lease, Error> {
    Lease::decode(lease)
        .map_err(|error| fault(format!("the core admitted with a lease that cannot be read: {error}")))
}

fn try_all<A: TryInto<B, Error = Error>, B>(of: Vec<A>) -> Result<Vec<B>, Error> {
    of.into_iter().map(TryInto::try_into).collect()
}

fn misuse(what: &str, read: usize, expected: &str) -> Error {
    fault(format!("the core answered with {read} {what}, expected {expected}"))
}

fn fault(message: String) -> Error {
    Error { code: ErrorCode::Other, message }
}

/// What the bindings of an importing component call: an enum by the place of its case. A case that is not
/// known is the one that `wit/` names for it.
macro_rules! lift {
    ($name:ident, $($place:literal => $case:ident,)* _ => $other:ident) => {
        impl $name {
            #[doc(hidden)]
            #[must_use]
            pub fn _lift(place: u8) -> Self {
                match place {
                    $($place => Self::$case,)*
                    _ => Self::$other,
                }
            }
        }
    };
}

lift!(Resend, 0 => Idempotent, 1 => MayDebitTwice, _ => Never);
lift!(
    ErrorCode, 0 => InvalidRequest, 1 => UnknownLimit, 2 => CorruptItem, 3 => Overflow, 4 => Unsupported,
    _ => Other
);
lift!(WindowState, 0 => Absent, 2 => Live, 3 => Pending, 4 => Ended, _ => Unstarted);
