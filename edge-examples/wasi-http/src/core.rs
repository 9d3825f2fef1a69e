//! The core behind the contract: the imported `onewindow:quota`, converted to the types of the crate
//! `onewindow`.

use onewindow::{
    AcquireRequest, Amount, CascadeDecision, Decision, Hint, Limit, Outcome, Reply, Settlement, Step,
    Subject, contract::Decided,
};
use onewindow_host::engine::{Core, Machine, PreviewDecision};

use contract::onewindow::quota::enforce;

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
        // The library's own types, one for one.
        with: {
            "onewindow:quota/types@0.2.0/recovery": onewindow::Recovery,
            "onewindow:quota/types@0.2.0/drip": onewindow::Drip,
            "onewindow:quota/types@0.2.0/limit": onewindow::Limit,
            "onewindow:quota/types@0.2.0/amount": onewindow::Amount,
            "onewindow:quota/types@0.2.0/subject": onewindow::Subject,
            "onewindow:quota/types@0.2.0/limit-status": onewindow::LimitStatus,
            "onewindow:quota/types@0.2.0/hint": onewindow::Hint,
            "onewindow:quota/types@0.2.0/known-rejection": onewindow::KnownRejection,
            "onewindow:quota/types@0.2.0/acquire-request": onewindow::AcquireRequest,
            "onewindow:quota/types@0.2.0/resend": onewindow::Resend,
            "onewindow:quota/types@0.2.0/call": onewindow::contract::Call,
            "onewindow:quota/types@0.2.0/reply": onewindow::contract::Reply,
            "onewindow:quota/types@0.2.0/http-reply": onewindow::contract::HttpReply,
            "onewindow:quota/types@0.2.0/error-code": onewindow::ErrorCode,
            "onewindow:quota/types@0.2.0/error": onewindow::Error,
            "onewindow:quota/types@0.2.0/outcome": onewindow::contract::Outcome,
            "onewindow:quota/types@0.2.0/level-decision": onewindow::contract::LevelDecision,
            "onewindow:quota/types@0.2.0/decision": onewindow::contract::Decision,
            "onewindow:quota/types@0.2.0/settlement": onewindow::Settlement,
            "onewindow:quota/types@0.2.0/configuration": onewindow::contract::Configuration,
            "onewindow:quota/types@0.2.0/window-state": onewindow::WindowState,
            "onewindow:quota/types@0.2.0/shard-view": onewindow::ShardView,
            "onewindow:quota/types@0.2.0/limit-preview": onewindow::LimitPreview,
            "onewindow:quota/types@0.2.0/preview-report": onewindow::PreviewReport,
            "onewindow:quota/enforce@0.2.0/settled": onewindow::contract::Settled,
            "onewindow:quota/enforce@0.2.0/previewed": onewindow::contract::Previewed,
            "onewindow:quota/enforce@0.2.0/ending": onewindow::contract::Ending,
            "onewindow:quota/enforce@0.2.0/step": onewindow::contract::Step,
            "onewindow:quota/enforce@0.2.0/classification": onewindow::wire::Classification,
        },
    });
}

/// The composed core.
#[derive(Debug)]
pub(crate) struct Imported;

impl Core for Imported {
    fn name(&self) -> &'static str {
        "imported"
    }

    fn acquire(&self, mut request: AcquireRequest) -> Box<dyn Machine<Decision>> {
        // Whether a remembered rejection still holds is asked of `reject` alone.
        request.hint.iter_mut().for_each(|hint| hint.rejections.clear());
        Box::new(enforce::acquire(&[request], false))
    }

    fn cascade(&self, levels: Vec<AcquireRequest>) -> Box<dyn Machine<CascadeDecision>> {
        Box::new(enforce::acquire(&levels, true))
    }

    fn settle(&self, table: &str, lease: &str, actual: Vec<Amount>) -> Box<dyn Machine<Settlement>> {
        Box::new(enforce::settle(table, lease, &actual))
    }

    fn preview(
        &self,
        subject: Subject,
        limits: Vec<Limit>,
        hint: Option<&Hint>,
    ) -> Box<dyn Machine<PreviewDecision>> {
        Box::new(enforce::preview(&subject, &limits, hint))
    }

    fn reject(&self, request: &AcquireRequest, hint: &Hint, now_ms: u64) -> Option<Decision> {
        let request = AcquireRequest { hint: Some(hint.clone()), ..request.clone() };
        match enforce::acquire(&[request], false).advance(now_ms, &[]).into_library() {
            Step::Done(decision @ Decision { outcome: Outcome::Rejected { .. }, .. }) => Some(decision),
            _ => None,
        }
    }
}

impl<D: Decided> Machine<D> for enforce::Machine {
    fn advance(&mut self, now_ms: u64, replies: &[Reply]) -> Step<D> {
        let replies: Vec<_> = replies.iter().map(Into::into).collect();
        Self::advance(self, now_ms, &replies).into_library()
    }
}
