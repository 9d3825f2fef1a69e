//! Who decides: the core linked into this program, or the component in wasmtime. Both give
//! machines with one face, in the terms of the crate [`onewindow`].

#[cfg(feature = "component")]
pub mod component;
mod native;

#[cfg(feature = "component")]
pub use component::{Component, ComponentError, ComponentOptions};

use onewindow::{
    AcquireRequest, Amount, CascadeDecision, Decision, Hint, Limit, PreviewOutcome, Reply, Settlement, Step,
    Subject,
};

/// A sequence from a request to a decision `D`, without input or output of its own. See the loop
/// of the crate [`onewindow`].
pub trait Machine<D>: Send {
    /// Takes the replies to the calls of the step before, in their order, and says what is next.
    fn advance(&mut self, now_ms: u64, replies: &[Reply]) -> Step<D>;
}

/// What a preview ends with.
#[derive(Clone, Debug)]
pub struct PreviewDecision {
    /// The answer.
    pub outcome: PreviewOutcome,
    /// What the host may remember about the subject.
    pub hint: Hint,
}

/// Who decides. Cheap to clone.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Engine {
    /// The core as a WebAssembly component.
    #[cfg(feature = "component")]
    Component(Component),
    /// The core as a Rust library.
    Native,
}

/// Room for one request under way.
#[derive(Debug)]
#[must_use = "it is given back when it is dropped"]
pub struct Slot {
    _permit: Option<tokio::sync::OwnedSemaphorePermit>,
}

impl Engine {
    /// The component that was built with this crate, run as by [`ComponentOptions::default`].
    ///
    /// # Errors
    /// Where this machine cannot compile or pool it.
    #[cfg(feature = "component")]
    pub fn component() -> Result<Self, ComponentError> {
        Component::embedded(ComponentOptions::default()).map(Self::Component)
    }

    /// The core as a Rust library.
    #[must_use]
    pub fn native() -> Self {
        Self::Native
    }

    /// What to call it in front of a person.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            #[cfg(feature = "component")]
            Self::Component(_) => "component",
            Self::Native => "native",
        }
    }

    /// Waits until there is room for one more machine. Hold the slot as long as the machine.
    pub async fn slot(&self) -> Slot {
        let permit = match self {
            #[cfg(feature = "component")]
            Self::Component(component) => component.slot().await,
            Self::Native => None,
        };
        Slot { _permit: permit }
    }

    /// A machine that takes tokens.
    #[must_use]
    pub fn acquire(&self, request: AcquireRequest) -> Box<dyn Machine<Decision>> {
        match self {
            #[cfg(feature = "component")]
            Self::Component(component) => component.acquire(request),
            Self::Native => native::acquire(request),
        }
    }

    /// A machine that takes tokens from an entity and from those above it.
    #[must_use]
    pub fn cascade(&self, levels: Vec<AcquireRequest>) -> Box<dyn Machine<CascadeDecision>> {
        match self {
            #[cfg(feature = "component")]
            Self::Component(component) => component.cascade(levels),
            Self::Native => native::cascade(levels),
        }
    }

    /// A machine that corrects a lease to what was really used.
    #[must_use]
    pub fn settle(&self, table: &str, lease: &str, actual: Vec<Amount>) -> Box<dyn Machine<Settlement>> {
        match self {
            #[cfg(feature = "component")]
            Self::Component(component) => component.settle(table, lease, actual),
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
    ) -> Box<dyn Machine<PreviewDecision>> {
        match self {
            #[cfg(feature = "component")]
            Self::Component(component) => component.preview(subject, limits, hint),
            Self::Native => native::preview(subject, limits, hint),
        }
    }

    /// The rejection that a remembered hint allows without asking the table; never an admission.
    #[must_use]
    pub fn reject(&self, request: &AcquireRequest, hint: &Hint, now_ms: u64) -> Option<Decision> {
        match self {
            #[cfg(feature = "component")]
            Self::Component(component) => component.reject(request, hint, now_ms),
            Self::Native => hint.reject(request, now_ms),
        }
    }
}
