//! The trait of an engine: it makes the machines that decide.

use std::{any::Any, fmt};

use futures_util::future::BoxFuture;
use onewindow::{
    AcquireRequest, Amount, CascadeDecision, Decision, Hint, Limit, PreviewOutcome, Reply, Settlement, Step,
    Subject,
};

/// A sequence from a request to a decision `D`. It has no input or output of its own. See the loop
/// of the crate [`onewindow`].
pub trait Machine<D>: Send {
    /// Reads the replies to the calls of the step before, in their order, and returns the next step.
    fn advance(&mut self, now_ms: u64, replies: &[Reply]) -> Step<D>;
}

/// The core, wherever it runs. It keeps nothing between requests.
pub trait Core: fmt::Debug + Send + Sync + 'static {
    /// Its name for people.
    fn name(&self) -> &'static str;

    /// Waits until there is room for one more machine. None: the number of machines is not limited.
    fn slot(&self) -> Option<BoxFuture<'_, Slot>> {
        None
    }

    /// A machine that debits tokens.
    fn acquire(&self, request: AcquireRequest) -> Box<dyn Machine<Decision>>;

    /// A machine that debits tokens from an entity and from those above it.
    fn cascade(&self, levels: Vec<AcquireRequest>) -> Box<dyn Machine<CascadeDecision>>;

    /// A machine that corrects a lease to what was really used.
    fn settle(&self, table: &str, lease: &str, actual: Vec<Amount>) -> Box<dyn Machine<Settlement>>;

    /// A machine that reads what is left and writes nothing.
    fn preview(
        &self,
        subject: Subject,
        limits: Vec<Limit>,
        hint: Option<&Hint>,
    ) -> Box<dyn Machine<PreviewDecision>>;

    /// The rejection that a remembered hint allows without asking the table; never an admission.
    fn reject(&self, request: &AcquireRequest, hint: &Hint, now_ms: u64) -> Option<Decision>;
}

/// The result of a preview.
#[derive(Clone, Debug)]
pub struct PreviewDecision {
    /// The answer.
    pub outcome: PreviewOutcome,
    /// What the host may remember about the subject.
    pub hint: Hint,
}

#[cfg(feature = "contract")]
impl onewindow::contract::Decided for PreviewDecision {
    fn of(ending: onewindow::contract::Ending) -> Result<Self, onewindow::Error> {
        use onewindow::contract::Ending;
        let outcome = match ending {
            Ending::Previewed(onewindow::contract::Previewed { report, hint }) => {
                return Ok(Self { outcome: PreviewOutcome::Report(report), hint });
            }
            Ending::Unavailable(reason) => PreviewOutcome::Unavailable(reason),
            Ending::Misconfigured(reason) => PreviewOutcome::Misconfigured(reason),
            other => PreviewOutcome::Failed(other.into_error()),
        };
        Ok(Self { outcome, hint: Hint::default() })
    }

    fn failed(error: onewindow::Error) -> Self {
        Self { outcome: PreviewOutcome::Failed(error), hint: Hint::default() }
    }
}

/// Room for one machine, until it is dropped.
#[must_use = "the room is free again when it is dropped"]
pub struct Slot {
    _permit: Box<dyn Any + Send>,
}

impl Slot {
    /// Room for as long as `permit` is held.
    pub fn holding(permit: impl Any + Send) -> Self {
        Self { _permit: Box::new(permit) }
    }
}
