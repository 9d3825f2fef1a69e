//! The core behind the contract: the imported `onewindow:quota`, converted to the types of the crate
//! `onewindow`.

use onewindow::{
    AcquireRequest, Amount, CascadeDecision, Decision, Error, Hint, LevelDecision, Limit, Outcome,
    PreviewOutcome, Reply, Settlement, Step, Subject,
};
use onewindow_host::{
    contract::{all, lease, try_all},
    convert_contract,
    engine::{Core, Machine, PreviewDecision},
};

use contract::onewindow::quota::{acquire, cascade as c, preview as p, settle as s, types as t};

mod contract {
    wit_bindgen::generate!({
        path: "../../wit",
        inline: r"
            package onewindow:wasi-http;
            world shell {
                import onewindow:quota/types@0.2.0;
                import onewindow:quota/enforce@0.2.0;
            }
        ",
        generate_all,
    });
}

convert_contract!(t, s, p);

/// The composed core.
#[derive(Debug)]
pub(crate) struct Imported;

impl Core for Imported {
    fn name(&self) -> &'static str {
        "imported"
    }

    fn acquire(&self, request: AcquireRequest) -> Box<dyn Machine<Decision>> {
        Box::new(acquire::Acquisition::new(&request.into()))
    }

    fn cascade(&self, levels: Vec<AcquireRequest>) -> Box<dyn Machine<CascadeDecision>> {
        Box::new(c::Cascading::new(&all(levels)))
    }

    fn settle(&self, table: &str, lease: &str, actual: Vec<Amount>) -> Box<dyn Machine<Settlement>> {
        Box::new(s::Settling::new(table, lease, &all(actual)))
    }

    fn preview(
        &self,
        subject: Subject,
        limits: Vec<Limit>,
        hint: Option<&Hint>,
    ) -> Box<dyn Machine<PreviewDecision>> {
        let hint = hint.map(|hint| hint.clone().into());
        Box::new(p::Previewing::new(&subject.into(), &all(limits), hint.as_ref()))
    }

    fn reject(&self, request: &AcquireRequest, hint: &Hint, now_ms: u64) -> Option<Decision> {
        acquire::reject(&request.clone().into(), &hint.clone().into(), now_ms)
            .and_then(|decision| decision.try_into().ok())
    }
}

impl Machine<Decision> for acquire::Acquisition {
    fn advance(&mut self, now_ms: u64, replies: &[Reply]) -> Step<Decision> {
        let step = Self::advance(self, now_ms, &all(replies)).try_into();
        step.unwrap_or_else(|error| {
            Step::Done(Decision {
                outcome: Outcome::Failed(error),
                limits: Vec::new(),
                follow_ups: Vec::new(),
                hint: Hint::default(),
            })
        })
    }
}

impl Machine<CascadeDecision> for c::Cascading {
    fn advance(&mut self, now_ms: u64, replies: &[Reply]) -> Step<CascadeDecision> {
        cascade_step(Self::advance(self, now_ms, &all(replies))).unwrap_or_else(|error| {
            Step::Done(CascadeDecision {
                outcome: Outcome::Failed(error),
                decided_by: 0,
                levels: Vec::new(),
                follow_ups: Vec::new(),
            })
        })
    }
}

fn cascade_step(step: c::CascadeStep) -> Result<Step<CascadeDecision>, Error> {
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
        decided_by: usize::try_from(decision.decided_by).unwrap_or(usize::MAX),
        levels: decision.levels.into_iter().map(level).collect::<Result<_, Error>>()?,
        follow_ups: try_all(decision.follow_ups)?,
    }))
}

impl Machine<Settlement> for s::Settling {
    fn advance(&mut self, now_ms: u64, replies: &[Reply]) -> Step<Settlement> {
        let step = Self::advance(self, now_ms, &all(replies)).try_into();
        step.unwrap_or_else(|error| Step::Done(Settlement::Failed(error)))
    }
}

impl Machine<PreviewDecision> for p::Previewing {
    fn advance(&mut self, now_ms: u64, replies: &[Reply]) -> Step<PreviewDecision> {
        match Self::advance(self, now_ms, &all(replies)).try_into() {
            Ok(Step::Perform(calls)) => Step::Perform(calls),
            Ok(Step::Done(outcome)) => Step::Done(PreviewDecision { outcome, hint: self.hint().into() }),
            Err(error) => {
                Step::Done(PreviewDecision { outcome: PreviewOutcome::Failed(error), hint: Hint::default() })
            }
        }
    }
}
