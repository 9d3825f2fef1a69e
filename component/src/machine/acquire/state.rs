//! The state of an acquire, and how it ends.

use alloc::{string::String, vec::Vec};

use crate::{
    item::Shard,
    machine::preview::Preview,
    rule::materialise::{Debit, Materialisation},
    types::answer::{Call, Decision, Outcome, Step},
};

/// What the machine waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum State {
    Start,
    /// A read of an item, for limits that the configuration leaves out.
    ReadingLimits {
        shard: u32,
        reads: u32,
    },
    /// A preview, for a request of 0 tokens.
    Previewing(Preview),
    Fast {
        shard: u32,
    },
    Locked(Materialisation),
    /// The count of shard 0 is doubled from `from`.
    Doubling {
        /// The shard whose budget was spent.
        shard: u32,
        from: u32,
        /// Whether the write also stores the size of grants.
        stores_grant_count: bool,
    },
    /// The read that a join is planned from. `own` is the slot's item where it exists and lacks a limit.
    Siblings {
        shard: u32,
        own: Option<Shard>,
    },
    Joining {
        materialisation: Materialisation,
        siblings: Vec<Shard>,
        admits: bool,
    },
    Surveying,
    Gathering(Vec<(Materialisation, Vec<Debit>)>),
    Done,
}

/// How a level of a cascade ends.
pub(crate) enum End {
    Decided(Decision),
    /// The items debit another parent than expected, or none. Nothing was debited.
    OtherParent {
        found: Option<String>,
        follow_ups: Vec<Call>,
    },
}

/// What ends the sequence without an admission.
pub(super) enum Stop {
    Outcome(Outcome),
    /// The items debit this parent.
    OtherParent(Option<String>),
}

pub(super) type Next<T = Step> = Result<T, Stop>;

impl<T: Into<Outcome>> From<T> for Stop {
    fn from(outcome: T) -> Self {
        Self::Outcome(outcome.into())
    }
}
