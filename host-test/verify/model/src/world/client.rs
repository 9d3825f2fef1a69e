//! A client: it runs the core's machines against the table, one call at a time.

use onewindow::{
    Amount, Call, CascadeDecision, Decision, LevelDecision, Outcome, Reply, Settle, Settlement, Step,
};

use super::{
    Account, LIMIT, TABLE, World,
    machine::{End, Known, Machine, clock},
    network::{Kind, Message},
    number, parse,
};
use crate::{
    ablation::Ablation,
    ledger::{Actor, Violation},
    setting::Setting,
    store::{Landed, Request},
    tab::{Heard, Tab},
};

/// A client between two requests, or in one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Client {
    pub(super) skew_ms: i64,
    /// Requests it will still make.
    pub(super) left: u8,
    /// What it has heard of the entity it asks for and of those above; none: what it knew at first.
    heard: Option<Vec<Known>>,
    pub(super) task: Option<Box<Task>>,
    /// What it may settle.
    pub(super) lent: Option<Lent>,
}

/// A request on its way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Task {
    machine: Machine,
    /// The calls of the step: they are made side by side, and land in any order.
    calls: Vec<Sent>,
    /// The instant they were planned at.
    pub(super) planned: u8,
}

/// A call of the step that is under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Sent {
    Pending(Call),
    Answered(Reply),
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
        Self { skew_ms, left: requests, heard: None, task: None, lent: None }
    }

    /// What it knows of the entity it asks for, and of those above that it knows.
    pub(super) fn known(&self, setting: &Setting, client: u8) -> Vec<Known> {
        let at_first = || {
            let chain = setting.chain(setting.asked_by(client)).into_iter();
            let known = if setting.knows_parents { usize::MAX } else { 1 };
            chain.take(known).map(|place| Known::at_first(setting, place, Some(client))).collect()
        };
        self.heard.clone().unwrap_or_else(at_first)
    }
}

impl Task {
    fn boxed(machine: Machine, calls: Vec<Call>, planned: u8) -> Box<Self> {
        Box::new(Self { machine, calls: calls.into_iter().map(Sent::Pending).collect(), planned })
    }

    /// What has not landed of the step, and where it stands in it.
    pub(super) fn pending(&self) -> impl Iterator<Item = (usize, &Call)> {
        self.calls.iter().enumerate().filter_map(|(index, sent)| match sent {
            Sent::Pending(call) => Some((index, call)),
            Sent::Answered(_) => None,
        })
    }

    /// The replies to all calls of the step, once there are.
    fn replies(&self) -> Option<Vec<Reply>> {
        let reply = |sent: &Sent| match sent {
            Sent::Pending(_) => None,
            Sent::Answered(reply) => Some(reply.clone()),
        };
        self.calls.iter().map(reply).collect()
    }

    pub(super) fn actor(&self, client: u8, request: &Request) -> Actor {
        self.machine.actor(client, request)
    }
}

impl World {
    pub(super) fn start(&mut self, setting: &Setting, client: u8, draw: u32) -> Option<Account> {
        let it = self.clients.get(usize::from(client))?;
        if it.task.is_some() || it.left == 0 {
            return None;
        }
        let known = it.known(setting, client);
        let mut rest = draw;
        let mut shards = Vec::new();
        for known in &known {
            shards.push(rest % known.hint.shard_count);
            rest /= known.hint.shard_count;
        }
        if rest > 0 {
            return None;
        }
        let now_ms = clock(self.clock_ms(setting, client));
        let (machine, calls) = Machine::begin(setting, &known, &shards, now_ms)?;
        let planned = self.planned();
        let it = &mut self.clients[usize::from(client)];
        it.left -= 1;
        it.task = Some(Task::boxed(machine, calls, planned));
        let drawn = known
            .iter()
            .zip(shards)
            .map(|(known, shard)| format!("{} shard {shard}", setting.entity(known.place).name));
        let drawn = drawn.collect::<Vec<_>>().join(", ");
        Some(Account::said(format!("asks for {} and draws {drawn}", setting.amount)))
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
        let place = setting.asked_by(client);
        self.ledgers[usize::from(place)].lend(client, lent.start, i128::from(setting.amount) * 1000);
        let actual = vec![Amount::new(LIMIT, u64::from(used))];
        let mut machine = Machine::Settle(Settle::new(TABLE, &lent.lease, actual));
        let mut account = Account::said(format!("settles: it used {used}"));
        match machine.advance(clock(self.clock_ms(setting, client)), &[]) {
            Step::Perform(calls) => {
                let task = Task::boxed(machine, calls, self.planned());
                self.clients[usize::from(client)].task = Some(task);
            }
            Step::Done(end) => self.ended(setting, client, end, false, &mut account)?,
        }
        Ok(Some(account))
    }

    pub(super) fn die(&mut self, client: u8) -> Option<Account> {
        self.clients.get_mut(usize::from(client))?.task.take()?;
        self.fault();
        self.network.retain(|message| message.client != client || !message.is_follow_up());
        Some(Account::said("it dies".into()))
    }

    pub(super) fn land(
        &mut self,
        setting: &Setting,
        client: u8,
        index: u8,
        delivery: Delivery,
    ) -> Result<Option<Account>, Violation> {
        let task = self.clients.get(usize::from(client)).and_then(|it| it.task.as_ref());
        let pending = task.and_then(|task| task.pending().nth(index.into()));
        let Some((at, call)) = pending.map(|(at, call)| (at, call.clone())) else { return Ok(None) };
        let Some(mut task) = self.clients[usize::from(client)].task.take() else { return Ok(None) };
        let request = parse(setting, &call, self.clock_ms(setting, client));
        let mut account = Account::default();
        let mut reply = Reply::Failed("no reply".into());
        let mut landed = Vec::new();
        for _ in 0..if delivery == Delivery::Twice { 2 } else { 1 } {
            (reply, landed) = match (&*request, delivery) {
                (Request::Read { keys, .. }, Delivery::Stale) => (self.store.stale_read(keys), Vec::new()),
                (request, _) => self.store.execute(request),
            };
            self.observe(setting, task.actor(client, &request), &landed)?;
            account.landed.extend(landed.clone());
        }
        if let Machine::Cascade(_, tab) = &mut task.machine {
            self.note(setting, client, tab, &request, &landed, delivery)?;
        }
        let lands = if account.landed.is_empty() { "reads or is refused" } else { "lands" };
        account.said = format!("{} {lands}", call.operation);
        if matches!(delivery, Delivery::Twice | Delivery::Unanswered) {
            self.fault();
        }
        if delivery == Delivery::Unanswered {
            account.said.push_str(", the reply is lost");
            reply = Reply::Failed("no reply".into());
        }
        task.calls[at] = Sent::Answered(reply);
        match task.replies() {
            Some(replies) => {
                let stale = delivery == Delivery::Stale;
                self.advance(setting, client, *task, &replies, stale, &mut account)?;
            }
            None => self.clients[usize::from(client)].task = Some(task),
        }
        Ok(Some(account))
    }

    /// Notes on a cascade's tab what a call of it came to.
    fn note(
        &self,
        setting: &Setting,
        client: u8,
        tab: &mut Tab,
        request: &Request,
        landed: &[Landed],
        delivery: Delivery,
    ) -> Result<(), Violation> {
        let answered = delivery != Delivery::Unanswered;
        if request.credit().is_some() {
            if landed.is_empty() && !answered {
                tab.excuse();
            }
            return tab.book(landed).map(drop);
        }
        let Some(place) = request.keys().first().and_then(|key| setting.owner(key)) else { return Ok(()) };
        let heard = if !answered {
            Heard::Nothing
        } else if tab.book(landed)? {
            Heard::Took
        } else if delivery != Delivery::Stale && self.holds_enough(setting, client, place) {
            Heard::Enough
        } else {
            Heard::Short
        };
        tab.hear(place, heard);
        Ok(())
    }

    fn advance(
        &mut self,
        setting: &Setting,
        client: u8,
        mut task: Task,
        replies: &[Reply],
        stale: bool,
        account: &mut Account,
    ) -> Result<(), Violation> {
        let calls = match task.machine.advance(clock(self.clock_ms(setting, client)), replies) {
            Step::Perform(calls) => calls,
            Step::Done(end) => return self.ended(setting, client, end, stale, account),
        };
        let is_look = matches!(task.machine, Machine::Acquire(_))
            && calls
                .iter()
                .any(|call| call.operation == "BatchGetItem" && !call.body.contains("ConsistentRead"));
        if setting.ablation == Ablation::ShardSurvey && is_look {
            account.said.push_str(": rejected without a look at the other shards");
            let shard_count = setting.entity(setting.asked_by(client)).shard_count;
            return self.check_rejection(setting, client, shard_count);
        }
        self.clients[usize::from(client)].task = Some(Task::boxed(task.machine, calls, self.planned()));
        Ok(())
    }

    fn ended(
        &mut self,
        setting: &Setting,
        client: u8,
        end: End,
        stale: bool,
        account: &mut Account,
    ) -> Result<(), Violation> {
        match end {
            End::Decision(decision) => {
                account.said = format!("{}: {}", account.said, describe(&decision.outcome));
                self.decided(setting, client, decision, stale, &account.landed)
            }
            End::Cascade(decision, tab) => {
                account.said = format!("{}: {}", account.said, describe(&decision.outcome));
                self.cascaded(setting, client, decision, tab)
            }
            End::Settlement(settlement) => {
                account.said = format!("{}: {settlement:?}", account.said);
                settled(&settlement)
            }
        }
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
        let message = |call: &Call| Message { client, kind: Kind::FollowUp, call: call.clone(), planned };
        self.send(decision.follow_ups.iter().map(message));
        not_failed(&decision.outcome)?;
        let place = setting.asked_by(client);
        let clock_ms = self.clock_ms(setting, client);
        let ledger = &self.ledgers[usize::from(place)];
        ledger.check_instant(setting.entity(place), clock_ms, &decision.outcome, &decision.limits)?;
        if let Outcome::Rejected { retry_after_ms } = decision.outcome {
            self.probe(setting, place, clock_ms, retry_after_ms)?;
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
        it.heard = Some(vec![Known::of(place, decision.hint)]);
        Ok(())
    }

    /// A cascade's answer: what its tab says of it, and what holds of every level by itself.
    fn cascaded(
        &mut self,
        setting: &Setting,
        client: u8,
        decision: CascadeDecision,
        mut tab: Tab,
    ) -> Result<(), Violation> {
        let (planned, clock_ms) = (self.planned(), self.clock_ms(setting, client));
        let mut messages = Vec::new();
        for call in &decision.follow_ups {
            let request = parse(setting, call, clock_ms);
            let kind = match request.credit() {
                Some((key, milli)) => Kind::Credit(tab.promise(key, milli)?),
                None => Kind::FollowUp,
            };
            messages.push(Message { client, kind, call: call.clone(), planned });
        }
        self.send(messages);
        not_failed(&decision.outcome)?;
        tab.check(setting, &self.store, clock_ms, &decision)?;
        let mut heard = Vec::new();
        for LevelDecision { entity, limits, hint, .. } in decision.levels {
            let Some(place) = setting.place(&entity) else { continue };
            let ledger = &self.ledgers[usize::from(place)];
            ledger.check_instant(setting.entity(place), clock_ms, &decision.outcome, &limits)?;
            heard.push(Known::of(place, hint));
        }
        if let (Outcome::Rejected { retry_after_ms }, Some(level)) =
            (&decision.outcome, heard.get(decision.decided_by))
        {
            self.probe(setting, level.place, clock_ms, *retry_after_ms)?;
        }
        self.clients[usize::from(client)].heard = Some(heard).filter(|heard| !heard.is_empty());
        Ok(())
    }
}

fn not_failed(outcome: &Outcome) -> Result<(), Violation> {
    match outcome {
        Outcome::Failed(error) => {
            Err(Violation::new("liveness", format!("an error where none was due: {error}")))
        }
        _ => Ok(()),
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

pub(super) fn describe(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Admitted(_) => "admitted".into(),
        Outcome::Rejected { retry_after_ms } => format!("rejected, come back in {retry_after_ms} ms"),
        other => format!("{other:?}"),
    }
}
