//! Who decides: the core linked into this program, or the component in wasmtime. Both give
//! machines with one face, in the terms of the crate [`onewindow`].

mod native;

use onewindow::{
    AcquireRequest, Amount, Decision, Hint, Limit, PreviewOutcome, Reply, Settlement, Step, Subject,
};

/// A sequence from a request to a decision `D`, without input or output of its own. See the loop
/// of the crate [`onewindow`].
pub trait Machine<D>: Send {
    /// Takes the replies to the calls of the step before, in their order, and says what is next.
    fn advance(&mut self, now_ms: u64, replies: &[Reply]) -> Step<D>;
}

/// What a preview ends with.
#[derive(Clone, Debug)]
pub struct Looked {
    /// The answer.
    pub outcome: PreviewOutcome,
    /// What the host may remember about the subject.
    pub hint: Hint,
}

/// Who decides.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Engine {
    /// The core as a Rust library.
    #[default]
    Native,
}

impl Engine {
    /// The core as a Rust library.
    #[must_use]
    pub fn native() -> Self {
        Self::Native
    }

    /// What to call it in front of a person.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Native => "native",
        }
    }

    /// A machine that takes tokens.
    #[must_use]
    pub fn acquire(&self, request: AcquireRequest) -> Box<dyn Machine<Decision>> {
        match self {
            Self::Native => native::acquire(request),
        }
    }

    /// A machine that corrects a lease to what was really used.
    #[must_use]
    pub fn settle(&self, table: &str, lease: &str, actual: Vec<Amount>) -> Box<dyn Machine<Settlement>> {
        match self {
            Self::Native => native::settle(table, lease, actual),
        }
    }

    /// A machine that looks without taking.
    #[must_use]
    pub fn preview(
        &self,
        subject: Subject,
        limits: Vec<Limit>,
        hint: Option<&Hint>,
    ) -> Box<dyn Machine<Looked>> {
        match self {
            Self::Native => native::preview(subject, limits, hint),
        }
    }

    /// The rejection that a remembered hint allows without asking the table; never an admission.
    #[must_use]
    pub fn reject(&self, request: &AcquireRequest, hint: &Hint, now_ms: u64) -> Option<Decision> {
        match self {
            Self::Native => hint.reject(request, now_ms),
        }
    }
}
