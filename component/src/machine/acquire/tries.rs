//! How many attempts one request may make.

use crate::types::answer::Outcome;

/// Attempts at an admitting write for one request, at most.
pub(crate) const MAX_ROUNDS: u32 = 4;
/// How many times a join is planned at most: the first plan, and two more (R8).
const MAX_JOINS: u32 = 3;
/// The wait after which a contended request may ask again, ms.
const CONTENDED_MS: u64 = 100;

/// Other writers won every round.
pub(crate) struct Contended;

impl From<Contended> for Outcome {
    fn from(_: Contended) -> Self {
        Self::Contended { retry_after_ms: CONTENDED_MS }
    }
}

/// What was tried so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Tries {
    rounds: u32,
    joins: u32,
    /// Whether the shard count was doubled: once is enough.
    pub(super) doubled: bool,
}

impl Tries {
    /// One more fast write, or another plan from an image.
    pub(super) fn begin_round(&mut self) -> Result<(), Contended> {
        begin(&mut self.rounds, MAX_ROUNDS)
    }

    /// One more survey: one is allowed after the last round.
    pub(super) fn begin_survey(&mut self) -> Result<(), Contended> {
        begin(&mut self.rounds, MAX_ROUNDS.saturating_add(1))
    }

    /// One more plan of a join.
    pub(super) fn begin_join(&mut self) -> Result<(), Contended> {
        begin(&mut self.joins, MAX_JOINS)
    }
}

fn begin(count: &mut u32, most: u32) -> Result<(), Contended> {
    if *count >= most {
        return Err(Contended);
    }
    *count = count.saturating_add(1);
    Ok(())
}
