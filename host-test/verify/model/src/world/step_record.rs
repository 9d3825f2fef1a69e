//! What an event did.

use crate::store::Landed;

/// What an event did.
#[derive(Clone, Debug, Default)]
pub struct StepRecord {
    /// The writes that landed.
    pub landed: Vec<Landed>,
    /// What happened, in words.
    pub text: String,
}

impl StepRecord {
    /// An event that wrote nothing.
    pub(super) fn without_writes(text: String) -> Self {
        Self { landed: Vec::new(), text }
    }
}
