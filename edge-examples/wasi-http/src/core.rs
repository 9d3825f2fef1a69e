//! The core behind the contract: `onewindow:quota` as imported, in the terms of the crate
//! `onewindow`.

use onewindow::{
    AcquireRequest, Amount, Decision, Hint, Limit, Outcome, PreviewOutcome, Reply, Settlement, Step, Subject,
    wire::Classification,
};
use onewindow_surface::{
    contract::all,
    convert_contract,
    guest::{Core, Machine},
};

use contract::onewindow::quota::{acquire, preview as p, settle as s, types as t, wire};

mod contract {
    wit_bindgen::generate!({
        path: "../../wit",
        inline: r"
            package onewindow:wasi-http;
            world shell {
                import onewindow:quota/types@0.2.0;
                import onewindow:quota/acquire@0.2.0;
                import onewindow:quota/settle@0.2.0;
                import onewindow:quota/preview@0.2.0;
                import onewindow:quota/wire@0.2.0;
            }
        ",
        generate_all,
    });
}

convert_contract!(t, s, p);

/// The composed core.
pub(crate) struct Imported;

impl Core for Imported {
    fn acquire(&self, request: AcquireRequest) -> impl Machine<Decision> {
        acquire::Acquisition::new(&request.into())
    }

    fn settle(&self, table: &str, lease: &str, actual: Vec<Amount>) -> impl Machine<Settlement> {
        s::Settling::new(table, lease, &all(actual))
    }

    fn preview(
        &self,
        subject: Subject,
        limits: Vec<Limit>,
        hint: Option<Hint>,
    ) -> impl Machine<(PreviewOutcome, Hint)> {
        p::Previewing::new(&subject.into(), &all(limits), hint.map(Into::into).as_ref())
    }

    fn reject(&self, request: &AcquireRequest, hint: &Hint, now_ms: u64) -> Option<Decision> {
        acquire::reject(&request.clone().into(), &hint.clone().into(), now_ms)
            .and_then(|decision| decision.try_into().ok())
    }

    fn classify(&self, reply: &Reply) -> Classification {
        match wire::classify(&reply.into()) {
            wire::Classification::Data => Classification::Data,
            wire::Classification::Retry(reason) => Classification::Retry(reason),
            wire::Classification::Lost(reason) => Classification::Lost(reason),
            wire::Classification::Unavailable(reason) => Classification::Unavailable(reason),
            wire::Classification::Misconfigured(reason) => Classification::Misconfigured(reason),
            wire::Classification::ClockSkew => Classification::ClockSkew,
        }
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

impl Machine<Settlement> for s::Settling {
    fn advance(&mut self, now_ms: u64, replies: &[Reply]) -> Step<Settlement> {
        let step = Self::advance(self, now_ms, &all(replies)).try_into();
        step.unwrap_or_else(|error| Step::Done(Settlement::Failed(error)))
    }
}

impl Machine<(PreviewOutcome, Hint)> for p::Previewing {
    fn advance(&mut self, now_ms: u64, replies: &[Reply]) -> Step<(PreviewOutcome, Hint)> {
        match Self::advance(self, now_ms, &all(replies)).try_into() {
            Ok(Step::Perform(calls)) => Step::Perform(calls),
            Ok(Step::Done(outcome)) => Step::Done((outcome, self.hint().into())),
            Err(error) => Step::Done((PreviewOutcome::Failed(error), Hint::default())),
        }
    }
}
