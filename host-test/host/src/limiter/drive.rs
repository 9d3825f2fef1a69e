//! The loop that drives a machine: step, calls, replies, and again, until it decides.

use std::{pin::pin, time::Instant};

use futures_util::future::{Either, select};
use onewindow::{Error, ErrorCode, Step};

use super::Limiter;
use crate::{
    dynamo::{Cost, Transport},
    engine::{Engine, Machine, Slot},
};

/// The most steps of a machine. The core needs far fewer.
const MAX_STEPS: usize = 64;

/// Why there is no decision.
#[derive(Debug, thiserror::Error)]
pub(super) enum Undecided {
    /// More requests are in progress than there is room for.
    #[error("no room for the request came free in time")]
    Busy,
    /// The machine made more steps than a correct one can.
    #[error("the engine has not decided after {MAX_STEPS} round trips; tokens may have been taken")]
    Runaway,
}

impl From<Undecided> for Error {
    fn from(undecided: Undecided) -> Self {
        Self { code: ErrorCode::Other, message: undecided.to_string() }
    }
}

impl<T: Transport> Limiter<T> {
    /// Drives the machine that `begin` makes to its decision. `deadline` is that of the whole request: what
    /// was read before the machine began has used some of it.
    pub(super) async fn drive<D>(
        &self,
        begin: impl FnOnce(&Engine) -> Box<dyn Machine<D>>,
        deadline: Instant,
        cost: &mut Cost,
    ) -> Result<D, Undecided> {
        let _slot = self.slot(deadline).await?;
        let mut machine = begin(self.engine());
        let mut replies = Vec::new();
        for _ in 0..MAX_STEPS {
            match machine.advance(self.now_ms(), &replies) {
                Step::Perform(calls) => replies = self.client().perform(&calls, deadline, cost).await,
                Step::Done(decision) => return Ok(decision),
            }
        }
        Err(Undecided::Runaway)
    }

    /// Waits for room for the machine, where the engine limits their number.
    async fn slot(&self, deadline: Instant) -> Result<Option<Slot>, Undecided> {
        let Some(slot) = self.engine().slot() else { return Ok(None) };
        let left = deadline.saturating_duration_since(Instant::now());
        match select(slot, pin!(self.client().transport().pause(left))).await {
            Either::Left((slot, _)) => Ok(Some(slot)),
            Either::Right(_) => Err(Undecided::Busy),
        }
    }
}
