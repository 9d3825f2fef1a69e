//! A client: it runs the core's machines against the table, one call at a time.

use std::{mem, sync::Arc};

use onewindow::{
    Acquire, AcquireRequest, Amount, Call, Decision, Hint, Outcome, Reply, Settle, Settlement, Step, preview,
    wire,
};

use super::{Account, LIMIT, Message, World, number, parse, subject, told};
use crate::{
    ablation::Ablation,
    ledger::{Actor, Violation},
    setting::Setting,
    store::{Item, Landed, Request, write_item},
};

/// A client between two requests, or in one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Client {
    pub(super) skew_ms: i64,
    /// Requests it will still make.
    pub(super) left: u8,
    pub(super) hint: Option<Hint>,
    pub(super) task: Option<Box<Task>>,
    /// What it may settle.
    pub(super) lent: Option<Lent>,
}

/// A request on its way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Task {
    machine: Machine,
    /// What has not landed of the step, in order.
    pub(super) calls: Vec<Call>,
    replies: Vec<Reply>,
    /// The instant they were planned at.
    pub(super) planned: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::large_enum_variant, reason = "most are the large one")]
enum Machine {
    Acquire(Acquire),
    Settle(Settle),
}

/// A lease that is not settled.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Lent {
    lease: String,
    /// The start of the window it was taken from.
    start: i128,
}

/// How a call lands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    Once,
    /// A read, answered from the items as they were one write ago.
    Stale,
    /// A second time, after the first reply was lost.
    Twice,
    /// And its reply is lost.
    Unanswered,
}

impl Client {
    pub(super) fn new(skew_ms: i64, requests: u8) -> Self {
        Self { skew_ms, left: requests, hint: None, task: None, lent: None }
    }
}

impl Machine {
    fn actor(&self, client: u8) -> Actor {
        match self {
            Self::Acquire(_) => Actor::Acquire,
            Self::Settle(_) => Actor::Settle(client),
        }
    }
}

impl World {
    pub(super) fn start(&mut self, setting: &Setting, client: u8, shard: u32) -> Option<Account> {
        let it = self.clients.get(usize::from(client))?;
        if it.task.is_some() || it.left == 0 {
            return None;
        }
        let hint = it.hint.clone().unwrap_or_else(|| setting.hint());
        let (machine, call) = draw(setting, &hint, shard, self.clock_ms(setting, client))?;
        let planned = self.planned();
        let it = &mut self.clients[usize::from(client)];
        it.left -= 1;
        it.task = Some(Task::boxed(Machine::Acquire(machine), vec![call], planned));
        Some(Account::said(format!("asks for {} and draws shard {shard}", setting.amount)))
    }

    pub(super) fn settle(
        &mut self,
        setting: &Setting,
        client: u8,
        used: u8,
    ) -> Result<Option<Account>, Violation> {
        let Some(it) = self.clients.get_mut(usize::from(client)) else { return Ok(None) };
        if it.task.is_some() {
            return Ok(None);
        }
        let Some(lent) = it.lent.take() else { return Ok(None) };
        self.ledger.lend(client, lent.start, i128::from(setting.amount) * 1000);
        let actual = vec![Amount::new(LIMIT, u64::from(used))];
        let mut machine = Settle::new(&subject().table, &lent.lease, actual);
        let clock_ms = self.clock_ms(setting, client);
        let said = format!("settles: it used {used}");
        match machine.advance(clock(clock_ms), &[]) {
            Step::Perform(calls) => {
                let task = Task::boxed(Machine::Settle(machine), calls, self.planned());
                self.clients[usize::from(client)].task = Some(task);
                Ok(Some(Account::said(said)))
            }
            Step::Done(settlement) => {
                settled(&settlement)?;
                Ok(Some(Account::said(format!("{said}: {settlement:?}"))))
            }
        }
    }

    /// The client's call is sent again; the copy on its way may land whenever it likes.
    pub(super) fn copy(&mut self, client: u8) -> Option<Account> {
        let task = self.clients.get(usize::from(client))?.task.as_ref()?;
        let call = task.calls.first()?.clone();
        let from = task.machine.actor(client);
        self.ledger.fault();
        let planned = task.planned;
        self.send([Message { client, from, call, planned }]);
        Some(Account::said("waits in vain and sends its call again".into()))
    }

    pub(super) fn die(&mut self, client: u8) -> Option<Account> {
        self.clients.get_mut(usize::from(client))?.task.take()?;
        self.ledger.fault();
        self.network.retain(|message| message.client != client || message.from != Actor::FollowUp);
        Some(Account::said("it dies".into()))
    }

    fn send(&mut self, messages: impl IntoIterator<Item = Message>) {
        self.network.extend(messages);
        // Which of two equal worlds sent them first makes no difference.
        self.network.sort_by(|a, b| (a.client, &a.call.body).cmp(&(b.client, &b.call.body)));
    }

    pub(super) fn land(
        &mut self,
        setting: &Setting,
        client: u8,
        delivery: Delivery,
    ) -> Result<Option<Account>, Violation> {
        let Some(it) = self.clients.get_mut(usize::from(client)) else { return Ok(None) };
        let Some(mut task) = it.task.take() else { return Ok(None) };
        let clock_ms = self.clock_ms(setting, client);
        let call = task.calls.remove(0);
        let request = parse(setting, &call, clock_ms);
        let mut account = Account::default();
        let mut reply = Reply::Failed("no reply".into());
        for _ in 0..if delivery == Delivery::Twice { 2 } else { 1 } {
            let landed;
            (reply, landed) = match (&*request, delivery) {
                (Request::Read { keys, .. }, Delivery::Stale) => (self.store.stale_read(keys), Vec::new()),
                (request, _) => self.store.execute(request),
            };
            self.ledger.observe(setting, task.machine.actor(client), &landed)?;
            account.landed.extend(landed);
        }
        let lands = if account.landed.is_empty() { "reads or is refused" } else { "lands" };
        account.said = format!("{} {lands}", call.operation);
        if matches!(delivery, Delivery::Twice | Delivery::Unanswered) {
            self.ledger.fault();
        }
        if delivery == Delivery::Unanswered {
            account.said.push_str(", the reply is lost");
            reply = Reply::Failed("no reply".into());
        }
        task.replies.push(reply);
        if task.calls.is_empty() {
            let stale = delivery == Delivery::Stale;
            self.advance(setting, client, *task, stale, &mut account)?;
        } else {
            self.clients[usize::from(client)].task = Some(task);
        }
        Ok(Some(account))
    }

    fn advance(
        &mut self,
        setting: &Setting,
        client: u8,
        mut task: Task,
        stale: bool,
        account: &mut Account,
    ) -> Result<(), Violation> {
        let clock_ms = self.clock_ms(setting, client);
        let replies = mem::take(&mut task.replies);
        let calls = match &mut task.machine {
            Machine::Acquire(machine) => match machine.advance(clock(clock_ms), &replies) {
                Step::Perform(calls) => calls,
                Step::Done(decision) => {
                    account.said = format!("{}: {}", account.said, describe(&decision.outcome));
                    return self.decided(setting, client, decision, stale, &account.landed);
                }
            },
            Machine::Settle(machine) => match machine.advance(clock(clock_ms), &replies) {
                Step::Perform(calls) => calls,
                Step::Done(settlement) => {
                    account.said = format!("{}: {settlement:?}", account.said);
                    return settled(&settlement);
                }
            },
        };
        let is_look = calls
            .iter()
            .any(|call| call.operation == "BatchGetItem" && !call.body.contains("ConsistentRead"));
        if setting.ablation == Ablation::Look && is_look {
            account.said.push_str(": rejected without a look at the other shards");
            return self.check_rejection(setting, client, setting.shard_count);
        }
        task.calls = calls;
        task.planned = self.planned();
        self.clients[usize::from(client)].task = Some(Box::new(task));
        Ok(())
    }

    fn decided(
        &mut self,
        setting: &Setting,
        client: u8,
        decision: Decision,
        stale: bool,
        landed: &[Landed],
    ) -> Result<(), Violation> {
        let planned = self.planned();
        let message = |call: &Call| Message { client, from: Actor::FollowUp, call: call.clone(), planned };
        self.send(decision.follow_ups.iter().map(message));
        if let Outcome::Failed(error) = &decision.outcome {
            return Err(Violation::new("liveness", format!("an error where none was due: {error}")));
        }
        let clock_ms = self.clock_ms(setting, client);
        self.ledger.check_instant(setting, clock_ms, &decision)?;
        if let Outcome::Rejected { retry_after_ms } = decision.outcome {
            self.probe(setting, clock_ms, retry_after_ms)?;
            if !stale {
                self.check_rejection(setting, client, decision.hint.shard_count)?;
            }
        }
        let settles = self.budget.settlements > 0;
        let it = &mut self.clients[usize::from(client)];
        if let Outcome::Admitted(lease) = &decision.outcome
            && settles
        {
            let start = landed.iter().filter_map(|write| number(&write.after, "ws")).max().unwrap_or(0);
            it.lent = Some(Lent { lease: lease.encode(), start });
        }
        // The rejection itself is not remembered here: a hint never asks the table anything new.
        it.hint = Some(Hint { blocked: Vec::new(), ..decision.hint });
        Ok(())
    }

    /// R9: who is rejected right after a look is so for want of tokens anywhere.
    fn check_rejection(&self, setting: &Setting, client: u8, shard_count: u32) -> Result<(), Violation> {
        let json = |item: &Arc<Item>| {
            let mut json = String::new();
            write_item(&mut json, item);
            wire::decode_item(&json).ok()
        };
        let shards: Vec<_> = self.store.items().filter_map(|(_, item)| json(item)).collect();
        let clock_ms = self.clock_ms(setting, client);
        let report = preview::report(&shards, shard_count, &[setting.limit()], clock_ms);
        let left = report.ok().and_then(|report| Some(report.limits.first()?.status.available));
        let wanted = i64::try_from(setting.amount).unwrap_or(i64::MAX);
        match left {
            Some(left) if left >= wanted => {
                let how = format!("rejected for {wanted} while all shards together hold {left}");
                Err(Violation::new("R9", how))
            }
            _ => Ok(()),
        }
    }

    /// I8, I9: at the instant that was told, with nobody else about, a request is admitted by one
    /// fast and one materialising write.
    fn probe(&self, setting: &Setting, clock_ms: i64, retry_after_ms: u64) -> Result<(), Violation> {
        let then_ms = clock_ms + i64::try_from(retry_after_ms).unwrap_or(i64::MAX);
        if self.latest_end_ms(setting).is_some_and(|end_ms| end_ms > then_ms) {
            // A clock ran ahead: nobody waits longer than one length for it (F15), so the instant
            // is a little early and the answer then is another wait.
            return Ok(());
        }
        for shard in 0..setting.shard_count {
            let mut store = self.store.clone();
            let Some((mut machine, mut call)) = draw(setting, &setting.hint(), shard, then_ms) else {
                continue;
            };
            let mut writes = 0;
            loop {
                let request = parse(setting, &call, then_ms);
                writes += u32::from(!matches!(*request, Request::Read { .. }));
                let (reply, _) = store.execute(&request);
                match machine.advance(clock(then_ms), &[reply]) {
                    Step::Perform(mut calls) => call = calls.remove(0),
                    Step::Done(decision) if decision.outcome.is_admitted() && writes <= 2 => break,
                    Step::Done(decision) => {
                        let said = describe(&decision.outcome);
                        let invariant = if decision.outcome.is_admitted() { "I9" } else { "I8" };
                        let then = told(then_ms);
                        return Err(Violation::new(
                            invariant,
                            format!(
                                "told to come back at {then}; then, on shard {shard}, after {writes} writes: {said}"
                            ),
                        ));
                    }
                }
            }
        }
        Ok(())
    }

    fn latest_end_ms(&self, setting: &Setting) -> Option<i64> {
        let start = |item: &Arc<Item>| number(item, "ws").and_then(|start| i64::try_from(start).ok());
        self.store.items().filter_map(|(_, item)| start(item)).max().map(|start| start + setting.length_ms())
    }
}

impl Task {
    fn boxed(machine: Machine, calls: Vec<Call>, planned: u8) -> Box<Self> {
        Box::new(Self { machine, calls, replies: Vec::new(), planned })
    }
}

fn settled(settlement: &Settlement) -> Result<(), Violation> {
    match settlement {
        Settlement::Failed(error) => {
            Err(Violation::new("liveness", format!("an error where none was due: {error}")))
        }
        _ => Ok(()),
    }
}

fn describe(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Admitted(_) => "admitted".into(),
        Outcome::Rejected { retry_after_ms } => format!("rejected, come back in {retry_after_ms} ms"),
        other => format!("{other:?}"),
    }
}

fn clock(ms: i64) -> u64 {
    u64::try_from(ms).unwrap_or_default()
}

/// A machine that draws this shard, and its first call.
fn draw(setting: &Setting, hint: &Hint, shard: u32, now_ms: i64) -> Option<(Acquire, Call)> {
    let pk = format!("\"{}\"", subject().bucket_pk(shard));
    (0..256).find_map(|seed| {
        let mut machine = Acquire::new(AcquireRequest {
            subject: subject(),
            consume: vec![Amount::new(LIMIT, setting.amount)],
            limits: vec![setting.limit()],
            hint: Some(hint.clone()),
            seed,
            ..AcquireRequest::default()
        });
        match machine.advance(clock(now_ms), &[]) {
            Step::Perform(mut calls) if calls[0].body.contains(&pk) => Some((machine, calls.remove(0))),
            _ => None,
        }
    })
}
