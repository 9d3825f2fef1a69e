//! What a write is for: a clause is left out of writes of one kind only.

use crate::store::{Effect, Write};

/// What a write is for. Its changes say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteKind {
    Fast,
    Materialisation,
    Propagation,
    Create,
    Candidate,
    /// It returns tokens to the balance.
    Credit,
    Other,
}

impl WriteKind {
    pub(super) fn of(write: &Write, creates: bool) -> Self {
        let changes = match &write.effect {
            Effect::Put(_) => return Self::Create,
            Effect::Check => return if creates { Self::Candidate } else { Self::Other },
            Effect::Update(changes) => changes,
        };
        let changes_to = |suffix: &str| changes.iter().any(|change| change.name().ends_with(suffix));
        if write.credit_milli().is_some() {
            Self::Credit
        } else if changes_to("_wtc") {
            Self::Propagation
        } else if changes.iter().any(|change| change.name() == "rf") {
            Self::Materialisation
        } else if creates {
            Self::Candidate
        } else if changes_to("b_wcu_tk") {
            Self::Fast
        } else {
            Self::Other
        }
    }
}
