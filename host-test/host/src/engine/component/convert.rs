//! Between the contract's records and the types of the crate `onewindow`.

use crate::contract::{all, lease, try_all};
use onewindow::{CascadeDecision, LevelDecision, Reply, Step};
use wasmtime::Result;

use super::bindings::exports::onewindow::quota::{cascade as c, preview as p, settle as s, types as t};

crate::convert_contract!(t, s, p);

pub(super) fn replies(replies: &[Reply]) -> Vec<t::Reply> {
    all(replies)
}

pub(super) fn cascade_step(step: c::CascadeStep) -> Result<Step<CascadeDecision>> {
    let decision = match step {
        c::CascadeStep::Perform(calls) => return Ok(Step::Perform(try_all(calls)?)),
        c::CascadeStep::Done(decision) => decision,
    };
    let level = |level: c::Level| {
        Ok(LevelDecision {
            entity: level.entity,
            limits: all(level.limits),
            lease: level.lease.as_deref().map(lease).transpose()?,
            hint: level.hint.into(),
        })
    };
    Ok(Step::Done(CascadeDecision {
        outcome: decision.outcome.try_into()?,
        decided_by: usize::try_from(decision.decided_by)?,
        levels: decision.levels.into_iter().map(level).collect::<Result<_>>()?,
        follow_ups: try_all(decision.follow_ups)?,
    }))
}
