//! The core without wasm: the same code, called directly.

use onewindow::{
    Acquire, AcquireRequest, Amount, Cascade, CascadeDecision, Decision, Hint, Limit, Preview, Reply, Settle,
    Settlement, Step, Subject,
};

use super::{Machine, PreviewDecision};

pub(super) fn acquire(request: AcquireRequest) -> Box<dyn Machine<Decision>> {
    Box::new(Acquire::new(request))
}

pub(super) fn cascade(levels: Vec<AcquireRequest>) -> Box<dyn Machine<CascadeDecision>> {
    Box::new(Cascade::new(levels))
}

pub(super) fn settle(table: &str, lease: &str, actual: Vec<Amount>) -> Box<dyn Machine<Settlement>> {
    Box::new(Settle::new(table, lease, actual))
}

pub(super) fn preview(
    subject: Subject,
    limits: Vec<Limit>,
    hint: Option<&Hint>,
) -> Box<dyn Machine<PreviewDecision>> {
    Box::new(Preview::new(subject, limits, hint))
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
