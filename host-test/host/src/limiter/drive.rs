//! The loop of the crate `onewindow`: step, calls, replies, step, until a decision comes.

use onewindow::{Error, ErrorCode, Step};
use tokio::time::{Instant, timeout_at};

use super::Inner;
use crate::{
    dynamo::Cost,
    engine::{Engine, Machine},
};

/// Steps any machine takes at most; the core itself ends well below.
const MAX_STEPS: usize = 64;

/// Why there is no decision.
#[derive(Debug, thiserror::Error)]
pub(super) enum Undecided {
    /// More requests are under way than there is room for.
    #[error("no room for the request came free in time")]
    Busy,
    /// A machine that never comes to a decision is broken.
    #[error("the engine has not decided after {MAX_STEPS} round trips; tokens may have been taken")]
    Runaway,
}

impl From<Undecided> for Error {
    fn from(undecided: Undecided) -> Self {
        Self { code: ErrorCode::Misuse, message: undecided.to_string() }
    }
}

/// Drives the machine that `begin` makes to its decision.
pub(super) async fn drive<D>(
    inner: &Inner,
    begin: impl FnOnce(&Engine) -> Box<dyn Machine<D>>,
    cost: &mut Cost,
) -> Result<D, Undecided> {
    let Inner { engine, client, options, .. } = inner;
    let deadline = Instant::now() + options.deadline;
    let _slot = timeout_at(deadline, engine.slot()).await.map_err(|_| Undecided::Busy)?;
    let mut machine = begin(engine);
    let mut replies = Vec::new();
    for _ in 0..MAX_STEPS {
        match machine.advance(options.clock.now_ms(), &replies) {
            Step::Perform(calls) => replies = client.perform(&calls, deadline, cost).await,
            Step::Done(decision) => return Ok(decision),
        }
    }
    Err(Undecided::Runaway)
}
