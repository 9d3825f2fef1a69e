//! From the library to the contract, for what the component returns.

use alloc::{string::String, vec, vec::Vec};

use super::records::{Call, Configuration, Decision, Ending, HttpReply, LevelDecision, Outcome, Reply};
use crate::{
    machine::config,
    types::{
        answer,
        cascade::{CascadeDecision, LevelDecision as Level},
        error::Error,
    },
};

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
    /// The decision of a single level.
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

/// For the operations that are one read.
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
