//! A world: a table, clients that run the shipped core, and everything that can happen to them.
//!
//! A [`World`] is a value. [`World::events`] lists what can happen next, [`World::step`] makes it
//! happen and checks the invariants on the way. Time is a list of instants; a client's clock is
//! the world's plus its own error.

use std::{cell::RefCell, collections::HashMap, sync::Arc};

use onewindow::{
    Acquire, AcquireRequest, Amount, Call, Decision, Hint, Limit, Outcome, Reply, Step, Subject,
};

use crate::{
    ablation::Ablation,
    ledger::{Actor, Ledger, Violation},
    setting::Setting,
    store::{Item, Key, Landed, Request, Store, Value},
};

/// The quota every world is about.
pub const LIMIT: &str = "q";
/// When the world's clock starts, epoch ms.
pub const EPOCH_MS: i64 = 1_800_000_000_000;

/// The subject every client asks for.
#[must_use]
pub fn subject() -> Subject {
    Subject::new("t", "n", "e", "r")
}

/// The key of a shard's item.
#[must_use]
pub fn shard_key(shard: u32) -> Key {
    (subject().bucket_pk(shard), "#STATE".into())
}

/// Something that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// The world's clock moves to its next instant.
    Tick,
    /// A client begins a request and draws this shard.
    Start(u8, u32),
    /// A client's request lands and its reply arrives.
    Land(u8),
    /// The same, answered from the items as they were one write ago.
    LandStale(u8),
    /// The request lands, its reply is lost, the client sends it again.
    Resend(u8),
    /// The request lands, its reply is lost, the client gives up.
    LoseReply(u8),
    /// The client dies before its request lands, and with it what it had not sent.
    Die(u8),
    /// A follow-up lands.
    FollowUp(u8),
    /// A follow-up lands and will land again.
    Duplicate(u8),
    /// A follow-up is lost.
    LoseFollowUp(u8),
    /// An old writer spends a token without a look at the window.
    OldFast(u32),
    /// An old writer's pass: it spends a token, stamps `rf` from a clock that is this many ms off
    /// and removes `vu`.
    OldPass(u32, i32),
    /// The table drops an item whose `ttl` is over.
    Expire(u32),
}

/// A client on its way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Task {
    machine: Acquire,
    call: Call,
}

/// A client between two requests, or in one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Client {
    skew_ms: i64,
    left: u8,
    hint: Option<Hint>,
    task: Option<Task>,
}

/// Faults that may still happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Budget {
    /// Replies lost.
    pub replies: u8,
    /// Clients that die.
    pub deaths: u8,
    /// Follow-ups lost.
    pub follow_ups: u8,
    /// Follow-ups that land twice.
    pub duplicates: u8,
    /// Writes by old writers.
    pub old: u8,
    /// Reads that are stale.
    pub stale: u8,
    /// Items that expire.
    pub expiries: u8,
}

/// Everything there is at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// The table.
    pub store: Store,
    /// The books.
    pub ledger: Ledger,
    instant: u8,
    clients: Vec<Client>,
    follow_ups: Vec<(u8, Call)>,
    budget: Budget,
}

/// What an event did, for a story.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// What was written.
    pub landed: Vec<Landed>,
    /// What was said.
    pub said: String,
}

impl World {
    /// The beginning of a setting.
    #[must_use]
    pub fn new(setting: &Setting) -> Self {
        let client =
            |skew_ms: &i64| Client { skew_ms: *skew_ms, left: setting.requests, hint: None, task: None };
        Self {
            store: setting.store(),
            ledger: Ledger::new(setting),
            instant: 0,
            clients: setting.skews_ms.iter().map(client).collect(),
            follow_ups: Vec::new(),
            budget: setting.budget,
        }
    }

    /// The world's clock, epoch ms.
    #[must_use]
    pub fn now_ms(&self, setting: &Setting) -> i64 {
        EPOCH_MS + setting.instants_ms[usize::from(self.instant)]
    }

    /// What can happen next.
    #[must_use]
    pub fn events(&self, setting: &Setting) -> Vec<Event> {
        let mut events = Vec::new();
        if usize::from(self.instant) + 1 < setting.instants_ms.len() {
            events.push(Event::Tick);
        }
        for (index, client) in (0_u8..).zip(&self.clients) {
            match &client.task {
                None if client.left > 0 => {
                    let known = client.hint.as_ref().map_or(setting.shard_count, |hint| hint.shard_count);
                    events.extend((0..known).map(|shard| Event::Start(index, shard)));
                }
                None => {}
                Some(task) => {
                    events.push(Event::Land(index));
                    let is_read = task.call.operation == "BatchGetItem";
                    if self.budget.stale > 0 && is_read && !task.call.body.contains("ConsistentRead") {
                        events.push(Event::LandStale(index));
                    }
                    if self.budget.replies > 0 && !is_read {
                        events.push(Event::Resend(index));
                        events.push(Event::LoseReply(index));
                    }
                    if self.budget.deaths > 0 {
                        events.push(Event::Die(index));
                    }
                }
            }
        }
        for (index, _) in (0_u8..).zip(&self.follow_ups) {
            events.push(Event::FollowUp(index));
            if self.budget.duplicates > 0 {
                events.push(Event::Duplicate(index));
            }
            if self.budget.follow_ups > 0 {
                events.push(Event::LoseFollowUp(index));
            }
        }
        for (key, item) in self.store.items() {
            let Some(shard) = key.0.rsplit('#').next().and_then(|id| id.parse().ok()) else { continue };
            if self.budget.old > 0 && number(item, "tk").is_some_and(|tokens| tokens >= 1000) {
                events.push(Event::OldFast(shard));
                events.extend(setting.old_skews_ms.iter().map(|skew_ms| Event::OldPass(shard, *skew_ms)));
            }
            if self.budget.expiries > 0 && has_expired(item, self.now_ms(setting)) {
                events.push(Event::Expire(shard));
            }
        }
        events
    }

    /// Makes an event happen. None: it cannot happen here.
    ///
    /// # Errors
    /// The invariant it breaks.
    pub fn step(&mut self, setting: &Setting, event: Event) -> Result<Option<Account>, Violation> {
        let now_ms = self.now_ms(setting);
        match event {
            Event::Tick => {
                if usize::from(self.instant) + 1 >= setting.instants_ms.len() {
                    return Ok(None);
                }
                self.instant += 1;
                Ok(Some(Account::said(format!("the clock reads {}", told(self.now_ms(setting))))))
            }
            Event::Start(client, shard) => self.start(setting, client, shard),
            Event::Land(client) => self.land(setting, client, false, 1),
            Event::LandStale(client) => {
                if !spend(&mut self.budget.stale) {
                    return Ok(None);
                }
                self.land(setting, client, true, 1)
            }
            Event::Resend(client) => {
                if !spend(&mut self.budget.replies) {
                    return Ok(None);
                }
                self.ledger.fault();
                self.land(setting, client, false, 2)
            }
            Event::LoseReply(client) => {
                if !spend(&mut self.budget.replies) {
                    return Ok(None);
                }
                self.ledger.fault();
                self.lose_reply(setting, client)
            }
            Event::Die(client) => {
                let alive = self.clients.get(usize::from(client)).is_some_and(|client| client.task.is_some());
                if !alive || !spend(&mut self.budget.deaths) {
                    return Ok(None);
                }
                self.ledger.fault();
                self.clients[usize::from(client)].task = None;
                self.follow_ups.retain(|(of, _)| *of != client);
                Ok(Some(Account::said("it dies".into())))
            }
            Event::FollowUp(index) => self.follow_up(setting, index, true),
            Event::Duplicate(index) => {
                if !spend(&mut self.budget.duplicates) {
                    return Ok(None);
                }
                self.follow_up(setting, index, false)
            }
            Event::LoseFollowUp(index) => {
                if usize::from(index) >= self.follow_ups.len() || !spend(&mut self.budget.follow_ups) {
                    return Ok(None);
                }
                self.ledger.fault();
                self.follow_ups.remove(usize::from(index));
                Ok(Some(Account::said("it is lost".into())))
            }
            Event::OldFast(shard) => self.old_write(shard, None),
            Event::OldPass(shard, skew_ms) => self.old_write(shard, Some(now_ms + i64::from(skew_ms))),
            Event::Expire(shard) => {
                let key = shard_key(shard);
                let expired = self.store.get(&key).is_some_and(|item| has_expired(item, now_ms));
                if !expired || !spend(&mut self.budget.expiries) {
                    return Ok(None);
                }
                self.ledger.fault();
                self.ledger.forget(&key.0);
                self.store.remove(&key);
                Ok(Some(Account::said("the item is gone".into())))
            }
        }
    }

    fn start(&mut self, setting: &Setting, client: u8, shard: u32) -> Result<Option<Account>, Violation> {
        let now_ms = self.now_ms(setting);
        let Some(it) = self.clients.get_mut(usize::from(client)) else { return Ok(None) };
        if it.task.is_some() || it.left == 0 {
            return Ok(None);
        }
        let hint = it.hint.clone().unwrap_or_else(|| setting.hint());
        let Some((mut machine, call)) = draw(setting, &hint, shard, now_ms + it.skew_ms) else {
            return Ok(None);
        };
        // Only what is not decided by the seed goes on: two seeds that drew one shard are one.
        machine = machine.clone();
        it.left -= 1;
        it.task = Some(Task { machine, call });
        Ok(Some(Account::said(format!("asks for {} and draws shard {shard}", setting.amount))))
    }

    fn land(
        &mut self,
        setting: &Setting,
        client: u8,
        stale: bool,
        times: u8,
    ) -> Result<Option<Account>, Violation> {
        let now_ms = self.now_ms(setting);
        let Some(it) = self.clients.get_mut(usize::from(client)) else { return Ok(None) };
        let Some(mut task) = it.task.take() else { return Ok(None) };
        let clock_ms = now_ms + it.skew_ms;
        let request = parse(setting, &task.call, clock_ms);
        let mut account = Account::default();
        let mut reply = Reply::Failed(String::new());
        for _ in 0..times {
            let landed;
            (reply, landed) = match (&*request, stale) {
                (Request::Read { keys, .. }, true) => (self.store.stale_read(keys), Vec::new()),
                (request, _) => self.store.execute(request),
            };
            self.ledger.observe(setting, Actor::Ours, &landed)?;
            account.landed.extend(landed);
        }
        let step = task.machine.advance(clock(clock_ms), &[reply]);
        account.said = format!(
            "{} {}",
            task.call.operation,
            if account.landed.is_empty() { "reads or is refused" } else { "lands" }
        );
        match step {
            Step::Perform(mut calls) => {
                let call = calls.remove(0);
                self.clients[usize::from(client)].task = Some(Task { machine: task.machine, call });
            }
            Step::Done(decision) => {
                account.said = format!("{}: {}", account.said, describe(&decision.outcome));
                self.decided(setting, client, clock_ms, decision)?;
            }
        }
        Ok(Some(account))
    }

    fn decided(
        &mut self,
        setting: &Setting,
        client: u8,
        clock_ms: i64,
        decision: Decision,
    ) -> Result<(), Violation> {
        self.follow_ups.extend(decision.follow_ups.iter().map(|call| (client, call.clone())));
        // Which of two equal worlds sent them first makes no difference.
        self.follow_ups.sort_by(|a, b| (a.0, &a.1.body).cmp(&(b.0, &b.1.body)));
        if let Outcome::Failed(error) = &decision.outcome {
            return Err(Violation::new("liveness", format!("an error where none was due: {error}")));
        }
        self.ledger.check_instant(setting, clock_ms, &decision)?;
        if let Outcome::Rejected { retry_after_ms } = decision.outcome {
            self.probe(setting, clock_ms, retry_after_ms)?;
        }
        let it = &mut self.clients[usize::from(client)];
        // The rejection itself is not remembered here: a hint never asks the table anything new.
        it.hint = Some(Hint { blocked: Vec::new(), ..decision.hint });
        Ok(())
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
                        return Err(Violation::new(
                            if decision.outcome.is_admitted() { "I9" } else { "I8" },
                            format!(
                                "told to come back at {}; then, on shard {shard}, after {writes} writes: {said}",
                                told(then_ms)
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

    fn lose_reply(&mut self, setting: &Setting, client: u8) -> Result<Option<Account>, Violation> {
        let now_ms = self.now_ms(setting);
        let Some(it) = self.clients.get_mut(usize::from(client)) else { return Ok(None) };
        let Some(task) = it.task.take() else { return Ok(None) };
        let request = parse(setting, &task.call, now_ms + it.skew_ms);
        let (_, landed) = self.store.execute(&request);
        self.ledger.observe(setting, Actor::Ours, &landed)?;
        Ok(Some(Account {
            landed,
            said: format!("{} lands, the reply is lost, it gives up", task.call.operation),
        }))
    }

    fn follow_up(&mut self, setting: &Setting, index: u8, last: bool) -> Result<Option<Account>, Violation> {
        let now_ms = self.now_ms(setting);
        let Some((client, call)) = self.follow_ups.get(usize::from(index)).cloned() else { return Ok(None) };
        if last {
            self.follow_ups.remove(usize::from(index));
        }
        let clock_ms = now_ms + self.clients[usize::from(client)].skew_ms;
        let (_, landed) = self.store.execute(&parse(setting, &call, clock_ms));
        self.ledger.observe(setting, Actor::FollowUp, &landed)?;
        let said = if landed.is_empty() { "a follow-up is refused" } else { "a follow-up lands" };
        Ok(Some(Account { landed, said: said.into() }))
    }

    fn old_write(&mut self, shard: u32, refill_ms: Option<i64>) -> Result<Option<Account>, Violation> {
        let key = shard_key(shard);
        let Some(before) = self.store.get(&key).cloned() else { return Ok(None) };
        let tokens = number(&before, "tk").unwrap_or(0);
        if tokens < 1000 || !spend(&mut self.budget.old) {
            return Ok(None);
        }
        self.ledger.fault();
        let mut after = (*before).clone();
        after.insert(attribute("tk"), Value::Number(tokens - 1000));
        after.insert(attribute("tc"), Value::Number(number(&before, "tc").unwrap_or(0) + 1000));
        if let Some(refill_ms) = refill_ms {
            after.insert("rf".into(), Value::Number(refill_ms.into()));
            after.remove("vu");
        }
        self.store.insert(key.clone(), after);
        let after = self.store.get(&key).cloned().unwrap_or_default();
        let landed = vec![Landed { key, before: Some(before), after }];
        self.ledger.observe_old(&landed)?;
        Ok(Some(Account { landed, said: "an old writer spends a token".into() }))
    }

    /// Whether nobody is on the way.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.follow_ups.is_empty() && self.clients.iter().all(|client| client.task.is_none())
    }
}

impl Account {
    fn said(said: String) -> Self {
        Self { landed: Vec::new(), said }
    }
}

/// The stored name of one of the quota's attributes.
#[must_use]
pub fn attribute(field: &str) -> String {
    format!("b_{LIMIT}_{field}")
}

/// One of the quota's numbers.
#[must_use]
pub fn number(item: &Item, field: &str) -> Option<i128> {
    match item.get(attribute(field).as_str()) {
        Some(Value::Number(number)) => Some(*number),
        _ => None,
    }
}

/// Whether the table may drop it.
fn has_expired(item: &Item, now_ms: i64) -> bool {
    matches!(item.get("ttl"), Some(Value::Number(ttl)) if ttl * 1000 <= i128::from(now_ms))
}

/// An instant for a person: ms since the world began.
#[must_use]
pub fn told(ms: i64) -> String {
    format!("{:+} ms", ms - EPOCH_MS)
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

fn spend(budget: &mut u8) -> bool {
    let some = *budget > 0;
    *budget = budget.saturating_sub(1);
    some
}

/// A machine that draws this shard, and its first call.
fn draw(setting: &Setting, hint: &Hint, shard: u32, now_ms: i64) -> Option<(Acquire, Call)> {
    let pk = format!("\"{}\"", subject().bucket_pk(shard));
    (0..256).find_map(|seed| {
        let mut machine = Acquire::new(AcquireRequest {
            subject: subject(),
            consume: vec![Amount::new(LIMIT, setting.amount)],
            limits: vec![Limit::session(LIMIT, setting.capacity, setting.length_seconds)],
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

/// What a call asks of the table, with the setting's ablation made; remembered, since the same
/// requests come back in most worlds.
fn parse(setting: &Setting, call: &Call, clock_ms: i64) -> Arc<Request> {
    type Seen = HashMap<(Ablation, String, i64), Arc<Request>>;
    thread_local!(static SEEN: RefCell<Seen> = RefCell::default());
    let key = (setting.ablation, call.body.clone(), clock_ms);
    SEEN.with_borrow_mut(|seen| {
        if seen.len() > 200_000 {
            seen.clear();
        }
        seen.entry(key)
            .or_insert_with(|| {
                let mut request = Request::parse(call.operation, &call.body).unwrap_or_else(|reason| {
                    panic!("a request the model does not understand: {reason}: {}", call.body)
                });
                setting.ablation.apply(&mut request, clock_ms);
                Arc::new(request)
            })
            .clone()
    })
}
