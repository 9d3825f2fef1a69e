//! What a cascade waits for, and the check before each step.

use super::{
    level::{Level, MAX_LEVELS},
    release::Releases,
};
use crate::{text::decimal, types::error::Error};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    Start,
    /// The levels debit.
    Debiting,
    /// Levels that were debited are credited.
    Crediting(Releases),
    Done,
}

impl Phase {
    /// Whether the levels may go on with so many replies.
    pub(super) fn check(&self, levels: &[Level], replies: usize) -> Result<(), Error> {
        let expected = match self {
            Self::Start => 0,
            Self::Debiting => levels.iter().map(|level| level.calls).sum(),
            Self::Crediting(releases) => releases.calls(),
            Self::Done => return Err(Error::misuse("the machine has already decided")),
        };
        if replies != expected {
            return Err(Error::miscounted(replies, &decimal(expected)));
        }
        if !(1..=MAX_LEVELS).contains(&levels.len()) {
            let read = decimal(levels.len());
            return Err(Error::invalid(&[&read, " levels, expected 1 to ", &decimal(MAX_LEVELS)]));
        }
        let mut tables = levels.iter().map(|level| &level.request.subject.table);
        if tables.next().is_some_and(|first| tables.any(|table| table != first)) {
            return Err(Error::invalid(&["levels on several tables, expected all on one"]));
        }
        Ok(())
    }
}
