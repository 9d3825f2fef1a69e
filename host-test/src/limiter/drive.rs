//! The loop of the crate `onewindow`: step, calls, replies, step, until a decision comes.

use tokio::time::Instant;

use crate::{
    clock::Clock,
    dynamo::{Client, Cost},
    engine::Machine,
};
use onewindow::Step;

/// Steps any machine takes at most; the core itself ends well below.
const MAX_STEPS: usize = 64;

/// A machine that never comes to a decision is broken.
#[derive(Debug, thiserror::Error)]
#[error("the engine has not decided after {MAX_STEPS} round trips; what was written may have been taken")]
pub(super) struct Runaway;

pub(super) async fn drive<D>(
    mut machine: Box<dyn Machine<D>>,
    client: &Client,
    clock: &Clock,
    deadline: Instant,
    cost: &mut Cost,
) -> Result<D, Runaway> {
    let mut replies = Vec::new();
    for _ in 0..MAX_STEPS {
        match machine.advance(clock.now_ms(), &replies) {
            Step::Perform(calls) => replies = client.perform(&calls, deadline, cost).await,
            Step::Done(decision) => return Ok(decision),
        }
    }
    Err(Runaway)
}
