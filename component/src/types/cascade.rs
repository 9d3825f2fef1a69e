//! The answer of a cascade.

use alloc::{string::String, vec::Vec};

use super::{
    answer::{Call, Outcome},
    hint::Hint,
    lease::Lease,
    status::LimitStatus,
};

/// The answer of one level.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LevelDecision {
    /// The entity.
    pub entity: String,
    /// Its limits, as in [`Decision::limits`](crate::Decision::limits).
    pub limits: Vec<LimitStatus>,
    /// What was debited; none where the cascade was not admitted, and where the entity has none of the
    /// limits that the request names.
    pub lease: Option<Lease>,
    /// What the host may remember about it.
    pub hint: Hint,
}

/// The answer of a cascade.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CascadeDecision {
    /// The answer of the level that decided; where all admit, of the first.
    pub outcome: Outcome,
    /// The index of that level in `levels`.
    pub decided_by: usize,
    /// Every level, the entity itself first. It is the chain to pass to the next request.
    pub levels: Vec<LevelDecision>,
    /// Calls to send after the answer was given.
    pub follow_ups: Vec<Call>,
}
