//! What a client knows, and the request it is making.

use onewindow::{Call, Reply};

use super::machine::{Known, Machine};
use crate::{ledger::Actor, setting::Setting, store::Request};

/// A client: between two requests, or in one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Client {
    pub(super) skew_ms: i64,
    /// Requests it will still make.
    pub(super) left: u8,
    /// What it has learned of the entity it asks for and of its parents; none: what it knew at first.
    pub(super) learned: Option<Vec<Known>>,
    pub(super) task: Option<Box<Task>>,
    /// The lease it may settle.
    pub(super) lease: Option<Lease>,
}

/// A request on its way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Task {
    pub(super) machine: Machine,
    /// The calls of the step under way: they are made side by side, and land in any order.
    pub(super) calls: Vec<Sent>,
    /// The instant at which they were planned.
    pub(super) planned: u8,
}

/// A call of the step that is under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sent {
    Pending(Call),
    Answered(Reply),
}

/// A lease that is not settled.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Lease {
    /// As it was encoded.
    pub(super) text: String,
    /// The start of the window it was debited in.
    pub(super) start: i128,
}

impl Client {
    pub(super) fn new(skew_ms: i64, requests: u8) -> Self {
        Self { skew_ms, left: requests, learned: None, task: None, lease: None }
    }

    /// What it knows of the entity it asks for, and of the parents it knows.
    pub(super) fn known(&self, setting: &Setting, client: u8) -> Vec<Known> {
        let at_first = || {
            let chain = setting.chain(setting.asked_by(client)).into_iter();
            let known = if setting.knows_parents { usize::MAX } else { 1 };
            chain.take(known).map(|place| Known::at_first(setting, place, Some(client))).collect()
        };
        self.learned.clone().unwrap_or_else(at_first)
    }
}

impl Task {
    pub(super) fn boxed(machine: Machine, calls: Vec<Call>, planned: u8) -> Box<Self> {
        Box::new(Self { machine, calls: calls.into_iter().map(Sent::Pending).collect(), planned })
    }

    /// The calls of the step that have not landed, each with its place in the step.
    pub(super) fn pending(&self) -> impl Iterator<Item = (usize, &Call)> {
        self.calls.iter().enumerate().filter_map(|(index, sent)| match sent {
            Sent::Pending(call) => Some((index, call)),
            Sent::Answered(_) => None,
        })
    }

    /// The replies to all calls of the step; none: one is missing.
    pub(super) fn replies(&self) -> Option<Vec<Reply>> {
        let reply = |sent: &Sent| match sent {
            Sent::Pending(_) => None,
            Sent::Answered(reply) => Some(reply.clone()),
        };
        self.calls.iter().map(reply).collect()
    }

    /// The actor that the ledgers record for a call of it.
    pub(super) fn actor(&self, client: u8, request: &Request) -> Actor {
        self.machine.actor(client, request)
    }
}
