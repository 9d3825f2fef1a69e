//! The world `quota`: one resource, `machine`, for every operation.

use alloc::{string::String, vec, vec::Vec};
use core::{cell::RefCell, mem};

use crate::{
    contract::{Decision, Ending, Previewed, Reply, Settled, Step},
    machine::{acquire::Acquire, cascade::Cascade, config, preview::Preview, settle::Settle},
    text::decimal,
    types::{
        answer::{self, Call, Outcome},
        error::Error,
        hint::Hint,
        limit::{Amount, Limit},
        preview::PreviewOutcome,
        request::AcquireRequest,
        subject::Subject,
    },
    wire::{self, Classification},
};
use bindings::exports::onewindow::quota::enforce;

/// What wit-bindgen makes of `wit/`.
#[allow(unsafe_code, missing_docs, unreachable_pub, clippy::all, reason = "generated")]
mod bindings {
    wit_bindgen::generate!({
        path: "wit",
        world: "quota",
        generate_all,
        // The library's own types, one for one. Cases of an enum are matched by their place.
        with: {
            "onewindow:quota/types@0.2.0/recovery": crate::types::limit::Recovery,
            "onewindow:quota/types@0.2.0/drip": crate::types::limit::Drip,
            "onewindow:quota/types@0.2.0/limit": crate::Limit,
            "onewindow:quota/types@0.2.0/amount": crate::Amount,
            "onewindow:quota/types@0.2.0/subject": crate::Subject,
            "onewindow:quota/types@0.2.0/limit-status": crate::LimitStatus,
            "onewindow:quota/types@0.2.0/hint": crate::Hint,
            "onewindow:quota/types@0.2.0/known-rejection": crate::KnownRejection,
            "onewindow:quota/types@0.2.0/acquire-request": crate::AcquireRequest,
            "onewindow:quota/types@0.2.0/resend": crate::Resend,
            "onewindow:quota/types@0.2.0/call": crate::contract::Call,
            "onewindow:quota/types@0.2.0/reply": crate::contract::Reply,
            "onewindow:quota/types@0.2.0/http-reply": crate::contract::HttpReply,
            "onewindow:quota/types@0.2.0/error-code": crate::ErrorCode,
            "onewindow:quota/types@0.2.0/error": crate::Error,
            "onewindow:quota/types@0.2.0/outcome": crate::contract::Outcome,
            "onewindow:quota/types@0.2.0/level-decision": crate::contract::LevelDecision,
            "onewindow:quota/types@0.2.0/decision": crate::contract::Decision,
            "onewindow:quota/types@0.2.0/settlement": crate::Settlement,
            "onewindow:quota/types@0.2.0/configuration": crate::contract::Configuration,
            "onewindow:quota/types@0.2.0/window-state": crate::WindowState,
            "onewindow:quota/types@0.2.0/shard-view": crate::ShardView,
            "onewindow:quota/types@0.2.0/limit-preview": crate::LimitPreview,
            "onewindow:quota/types@0.2.0/preview-report": crate::PreviewReport,
            "onewindow:quota/enforce@0.2.0/settled": crate::contract::Settled,
            "onewindow:quota/enforce@0.2.0/previewed": crate::contract::Previewed,
            "onewindow:quota/enforce@0.2.0/ending": crate::contract::Ending,
            "onewindow:quota/enforce@0.2.0/step": crate::contract::Step,
            "onewindow:quota/enforce@0.2.0/classification": crate::wire::Classification,
        },
        pub_export_macro: false,
    });
    use super::Component;
    export!(Component);
}

struct Component;

/// An operation in progress.
#[expect(clippy::large_enum_variant, reason = "there is one for each request, and it does not move")]
enum Machine {
    /// An acquire that has not started: a remembered rejection may still answer it without a call.
    Acquire(AcquireRequest),
    /// An acquire of one entity.
    Acquiring(String, Acquire),
    Cascading(Cascade),
    Settling(Settle),
    Previewing(Preview),
    LookUp(Record),
    LookingUp(Record),
    /// The request is invalid.
    Invalid(Error),
    Ended,
}

/// What an operation of one read looks up.
enum Record {
    Configuration(Subject),
    /// A namespace, by its table and its name.
    Namespace(String, String),
}

impl enforce::Guest for Component {
    type Machine = RefCell<Machine>;

    fn acquire(mut levels: Vec<AcquireRequest>, cascade: bool) -> enforce::Machine {
        let count = levels.len();
        new(match levels.pop() {
            Some(request) if !cascade && count == 1 => Machine::Acquire(request),
            last if cascade => {
                levels.extend(last);
                Machine::Cascading(Cascade::new(levels))
            }
            _ => {
                let read = decimal(count);
                Machine::Invalid(Error::invalid(&[&read, " levels without a cascade, expected 1"]))
            }
        })
    }

    fn settle(table: String, lease: String, actual: Vec<Amount>) -> enforce::Machine {
        new(Machine::Settling(Settle::new(&table, &lease, actual)))
    }

    fn preview(subject: Subject, limits: Vec<Limit>, hint: Option<Hint>) -> enforce::Machine {
        new(Machine::Previewing(Preview::new(subject, limits, hint.as_ref())))
    }

    fn configure(subject: Subject) -> enforce::Machine {
        new(Machine::LookUp(Record::Configuration(subject)))
    }

    fn find_namespace(table: String, name: String) -> enforce::Machine {
        new(Machine::LookUp(Record::Namespace(table, name)))
    }

    fn classify(reply: Reply) -> Classification {
        wire::classify(&reply.into())
    }
}

fn new(machine: Machine) -> enforce::Machine {
    enforce::Machine::new(RefCell::new(machine))
}

impl enforce::GuestMachine for RefCell<Machine> {
    fn advance(&self, now_ms: u64, replies: Vec<Reply>) -> Step {
        let replies: Vec<answer::Reply> = replies.into_iter().map(Into::into).collect();
        self.borrow_mut().advance(now_ms, &replies)
    }
}

impl Machine {
    fn advance(&mut self, now_ms: u64, replies: &[answer::Reply]) -> Step {
        match self {
            Self::Acquire(request) => {
                let entity = request.subject.entity.clone();
                // Replies to no calls are misuse, which the machine reports.
                if let Some(decision) = rejected(request, now_ms).filter(|_| replies.is_empty()) {
                    *self = Self::Ended;
                    return Step::Done(Ending::Acquired(Decision::of_one(entity, decision)));
                }
                *self = Self::Acquiring(entity, Acquire::new(mem::take(request)));
                self.advance(now_ms, replies)
            }
            Self::Acquiring(entity, machine) => {
                let acquired = |decision| Ending::Acquired(Decision::of_one(mem::take(entity), decision));
                machine.advance(now_ms, replies).into_step(acquired)
            }
            Self::Cascading(machine) => {
                machine.advance(now_ms, replies).into_step(|decision| Ending::Acquired(decision.into()))
            }
            Self::Settling(machine) => {
                let step = machine.advance(now_ms, replies);
                step.into_step(|settlement| {
                    let (subject, hint) = (machine.subject().cloned(), machine.hint());
                    Ending::Settled(Settled { settlement, subject, hint })
                })
            }
            Self::Previewing(machine) => {
                let step = machine.advance(now_ms, replies);
                step.into_step(|outcome| match outcome {
                    PreviewOutcome::Report(report) => {
                        Ending::Previewed(Previewed { report, hint: machine.hint() })
                    }
                    PreviewOutcome::Failed(error) => Ending::Failed(error),
                    PreviewOutcome::Unavailable(reason) => Ending::Unavailable(reason),
                    PreviewOutcome::Misconfigured(reason) => Ending::Misconfigured(reason),
                })
            }
            other => match mem::replace(other, Self::Ended).look_up(replies) {
                Ok((next, call)) => {
                    *other = next;
                    Step::Perform(vec![call.into()])
                }
                Err(ending) => Step::Done(ending),
            },
        }
    }

    /// An operation of at most one call: that call, or the end.
    #[allow(clippy::result_large_err, reason = "an end is no failure, and is moved once")]
    fn look_up(self, replies: &[answer::Reply]) -> Result<(Self, Call), Ending> {
        match (self, replies) {
            (Self::LookUp(record), []) => {
                let call = record.call()?;
                Ok((Self::LookingUp(record), call))
            }
            (Self::LookingUp(record), [reply]) => Err(record.read(reply)?),
            (Self::Invalid(error), _) => Err(error.into()),
            (Self::Ended, _) => Err(Error::misuse("the machine has already decided").into()),
            (_, replies) => Err(Error::miscounted(replies.len(), "one for each call").into()),
        }
    }
}

/// The rejection that the request's hint allows.
fn rejected(request: &AcquireRequest, now_ms: u64) -> Option<answer::Decision> {
    let hint = request.hint.as_ref().filter(|hint| !hint.rejections.is_empty())?;
    hint.reject(request, now_ms)
}

impl<D> answer::Step<D> {
    fn into_step(self, ending: impl FnOnce(D) -> Ending) -> Step {
        match self {
            Self::Perform(calls) => Step::Perform(calls.into_iter().map(Into::into).collect()),
            Self::Done(decision) => Step::Done(ending(decision)),
        }
    }
}

impl Record {
    fn call(&self) -> Result<Call, Error> {
        match self {
            Self::Configuration(subject) => {
                subject.check()?;
                Ok(config::call(subject))
            }
            Self::Namespace(table, name) => config::namespace_call(table, name),
        }
    }

    fn read(&self, reply: &answer::Reply) -> Result<Ending, Outcome> {
        Ok(match self {
            Self::Configuration(subject) => Ending::Configured(config::resolve(subject, reply)?.into()),
            Self::Namespace(_, name) => Ending::Namespace(config::namespace_id(name, reply)?),
        })
    }
}
