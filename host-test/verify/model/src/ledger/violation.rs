//! A broken invariant.

use std::fmt;

/// A broken invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// `I1` to `I10`, or another of those that the README names.
    pub invariant: &'static str,
    /// How.
    pub how: String,
}

impl Violation {
    pub(crate) fn new(invariant: &'static str, how: String) -> Self {
        Self { invariant, how }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.invariant, self.how)
    }
}
