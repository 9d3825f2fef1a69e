//! The core as a Rust library, without WebAssembly.

use onewindow::{
    Acquire, AcquireRequest, Amount, Cascade, CascadeDecision, Decision, Hint, Limit, Preview, Reply, Settle,
    Settlement, Step, Subject,
};

use super::machine::{Core, Machine, PreviewDecision};

/// The engine that calls the core directly.
#[derive(Clone, Copy, Debug, Default)]
pub struct Native;

impl Core for Native {
    fn name(&self) -> &'static str {
        "native"
    }

    fn acquire(&self, request: AcquireRequest) -> Box<dyn Machine<Decision>> {
        Box::new(Acquire::new(request))
    }

    fn cascade(&self, levels: Vec<AcquireRequest>) -> Box<dyn Machine<CascadeDecision>> {
        Box::new(Cascade::new(levels))
    }

    fn settle(&self, table: &str, lease: &str, actual: Vec<Amount>) -> Box<dyn Machine<Settlement>> {
        Box::new(Settle::new(table, lease, actual))
    }

    fn preview(
        &self,
        subject: Subject,
        limits: Vec<Limit>,
        hint: Option<&Hint>,
    ) -> Box<dyn Machine<PreviewDecision>> {
        Box::new(Preview::new(subject, limits, hint))
    }

    fn reject(&self, request: &AcquireRequest, hint: &Hint, now_ms: u64) -> Option<Decision> {
        hint.reject(request, now_ms)
    }
}

impl Machine<Decision> for Acquire {
    fn advance(&mut self, now_ms: u64, replies: &[Reply]) -> Step<Decision> {
        Self::advance(self, now_ms, replies)
    }
}

impl Machine<CascadeDecision> for Cascade {
    fn advance(&mut self, now_ms: u64, replies: &[Reply]) -> Step<CascadeDecision> {
        Self::advance(self, now_ms, replies)
    }
}

impl Machine<Settlement> for Settle {
    fn advance(&mut self, now_ms: u64, replies: &[Reply]) -> Step<Settlement> {
        Self::advance(self, now_ms, replies)
    }
}

impl Machine<PreviewDecision> for Preview {
    fn advance(&mut self, now_ms: u64, replies: &[Reply]) -> Step<PreviewDecision> {
        match Self::advance(self, now_ms, replies) {
            Step::Perform(calls) => Step::Perform(calls),
            Step::Done(outcome) => Step::Done(PreviewDecision { outcome, hint: self.hint() }),
        }
    }
}
