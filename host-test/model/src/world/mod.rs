//! A world: a table, clients that run the shipped core, and everything that can happen to them.
//!
//! A [`World`] is a value. [`World::events`] lists what can happen next, [`World::step`] makes it
//! happen and checks the invariants on the way. Time is a list of instants; a client's clock is
//! the world's plus its own error.

mod client;

use std::{cell::RefCell, collections::HashMap, sync::Arc};

use onewindow::{Call, Resend, Subject};

use crate::{
    ablation::Ablation,
    event::{Budget, Event, spend},
    ledger::{Actor, Ledger, Violation},
    setting::Setting,
    store::{Item, Key, Landed, Request, Store, Value},
};
use client::{Client, Delivery};

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

/// A call on its way that nobody waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Message {
    client: u8,
    from: Actor,
    call: Call,
    /// The instant it was planned at.
    planned: u8,
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
    network: Vec<Message>,
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
        Self {
            store: setting.store(),
            ledger: Ledger::new(setting),
            instant: 0,
            clients: setting.skews_ms.iter().map(|skew_ms| Client::new(*skew_ms, setting.requests)).collect(),
            network: Vec::new(),
            budget: setting.budget,
        }
    }

    /// The world's clock, epoch ms.
    #[must_use]
    pub fn now_ms(&self, setting: &Setting) -> i64 {
        EPOCH_MS + setting.instants_ms[usize::from(self.instant)]
    }

    /// A client's clock, epoch ms.
    fn clock_ms(&self, setting: &Setting, client: u8) -> i64 {
        self.now_ms(setting) + self.clients[usize::from(client)].skew_ms
    }

    /// Whether nobody is on the way.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.network.is_empty() && self.clients.iter().all(|client| client.task.is_none())
    }

    /// What can happen next.
    #[must_use]
    pub fn events(&self, setting: &Setting) -> Vec<Event> {
        let mut events = Vec::new();
        if usize::from(self.instant) + 1 < setting.instants_ms.len() {
            events.push(Event::Tick);
        }
        for (index, client) in (0_u8..).zip(&self.clients) {
            match client.task.as_ref().and_then(|task| task.calls.first()) {
                None => {
                    if client.left > 0 {
                        let hint = client.hint.as_ref();
                        let known = hint.map_or(setting.shard_count, |hint| hint.shard_count);
                        events.extend((0..known).map(|shard| Event::Start(index, shard)));
                    }
                    if client.lent.is_some() && self.budget.settlements > 0 {
                        let more = u8::try_from(setting.amount).unwrap_or(u8::MAX).saturating_add(1);
                        events.extend([Event::Settle(index, 0), Event::Settle(index, more)]);
                    }
                }
                Some(call) => self.events_of_call(setting, index, call, &mut events),
            }
        }
        for (index, message) in (0_u8..).zip(&self.network) {
            events.push(Event::Deliver(index));
            let is_follow_up = message.from == Actor::FollowUp;
            if is_follow_up && self.budget.duplicates > 0 {
                events.push(Event::Duplicate(index));
            }
            if is_follow_up && self.budget.follow_ups > 0 {
                events.push(Event::LoseFollowUp(index));
            }
        }
        for (key, item) in self.store.items() {
            let Some(shard) = key.0.rsplit('#').next().and_then(|id| id.parse().ok()) else { continue };
            if self.budget.old > 0 && number(item, "tk").is_some_and(|tokens| tokens >= 1000) {
                events.push(Event::OldFast(shard));
                events.extend(setting.old_skews_ms.iter().map(|skew_ms| Event::OldPass(shard, *skew_ms)));
            }
            if self.budget.expiries > 0 && self.may_expire(setting, item) {
                events.push(Event::Expire(shard));
            }
        }
        events
    }

    fn events_of_call(&self, setting: &Setting, client: u8, call: &Call, events: &mut Vec<Event>) {
        events.push(Event::Land(client));
        if call.operation == "BatchGetItem" {
            let may_be_stale =
                setting.ablation == Ablation::ConsistentRead || !call.body.contains("ConsistentRead");
            if self.budget.stale > 0 && may_be_stale {
                events.push(Event::LandStale(client));
            }
        } else {
            if self.budget.replies > 0 {
                events.push(Event::LoseReply(client));
                if call.resend != Resend::Never {
                    events.push(Event::Resend(client));
                }
            }
            if self.budget.copies > 0 && call.resend != Resend::Never {
                events.push(Event::Copy(client));
            }
        }
        if self.budget.deaths > 0 {
            events.push(Event::Die(client));
        }
    }

    /// Makes an event happen. None: it cannot happen here.
    ///
    /// # Errors
    /// The invariant it breaks.
    pub fn step(&mut self, setting: &Setting, event: Event) -> Result<Option<Account>, Violation> {
        let can_happen = match event {
            Event::LandStale(_) => spend(&mut self.budget.stale),
            Event::Resend(_) | Event::LoseReply(_) => spend(&mut self.budget.replies),
            Event::Copy(_) => spend(&mut self.budget.copies),
            Event::Die(_) => spend(&mut self.budget.deaths),
            Event::Duplicate(_) => spend(&mut self.budget.duplicates),
            Event::LoseFollowUp(_) => spend(&mut self.budget.follow_ups),
            Event::OldFast(_) | Event::OldPass(..) => spend(&mut self.budget.old),
            Event::Expire(_) => spend(&mut self.budget.expiries),
            Event::Settle(..) => spend(&mut self.budget.settlements),
            Event::Tick | Event::Start(..) | Event::Land(_) | Event::Deliver(_) => true,
        };
        if !can_happen {
            return Ok(None);
        }
        match event {
            Event::Tick => Ok(self.tick(setting)),
            Event::Start(client, shard) => Ok(self.start(setting, client, shard)),
            Event::Settle(client, used) => self.settle(setting, client, used),
            Event::Land(client) => self.land(setting, client, Delivery::Once),
            Event::LandStale(client) => self.land(setting, client, Delivery::Stale),
            Event::Resend(client) => self.land(setting, client, Delivery::Twice),
            Event::LoseReply(client) => self.land(setting, client, Delivery::Unanswered),
            Event::Copy(client) => Ok(self.copy(client)),
            Event::Die(client) => Ok(self.die(client)),
            Event::Deliver(index) => self.deliver(setting, index, true),
            Event::Duplicate(index) => self.deliver(setting, index, false),
            Event::LoseFollowUp(index) => Ok(self.lose(index)),
            Event::OldFast(shard) => self.old_write(shard, None),
            Event::OldPass(shard, skew_ms) => {
                self.old_write(shard, Some(self.now_ms(setting) + i64::from(skew_ms)))
            }
            Event::Expire(shard) => Ok(self.expire(setting, shard)),
        }
    }

    fn tick(&mut self, setting: &Setting) -> Option<Account> {
        if usize::from(self.instant) + 1 >= setting.instants_ms.len() {
            return None;
        }
        self.instant += 1;
        Some(Account::said(format!("the clock reads {}", told(self.now_ms(setting)))))
    }

    fn deliver(&mut self, setting: &Setting, index: u8, last: bool) -> Result<Option<Account>, Violation> {
        let Some(message) = self.network.get(usize::from(index)).cloned() else { return Ok(None) };
        if last {
            self.network.remove(usize::from(index));
        }
        let request = parse(setting, &message.call, self.clock_ms(setting, message.client));
        let (_, landed) = self.store.execute(&request);
        self.ledger.observe(setting, message.from, &landed)?;
        let what = if message.from == Actor::FollowUp { "a follow-up" } else { "the first copy" };
        let said = format!("{what} {}", if landed.is_empty() { "is refused" } else { "lands" });
        Ok(Some(Account { landed, said }))
    }

    fn lose(&mut self, index: u8) -> Option<Account> {
        let lost = self.network.get(usize::from(index))?;
        if lost.from != Actor::FollowUp {
            return None;
        }
        self.ledger.fault();
        self.network.remove(usize::from(index));
        Some(Account::said("it is lost".into()))
    }

    fn old_write(&mut self, shard: u32, refill_ms: Option<i64>) -> Result<Option<Account>, Violation> {
        let key = shard_key(shard);
        let Some(before) = self.store.get(&key).cloned() else { return Ok(None) };
        let tokens = number(&before, "tk").unwrap_or(0);
        if tokens < 1000 {
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
        self.ledger.observe_old(&landed);
        Ok(Some(Account { landed, said: "an old writer spends a token".into() }))
    }

    /// The instant a call is planned at; where nothing expires, it makes no difference.
    fn planned(&self) -> u8 {
        if self.budget.expiries > 0 { self.instant } else { 0 }
    }

    /// Whether the table may drop the item now.
    ///
    /// Six windows lie between a window's end and the expiry of an item that was used in it. They
    /// are one here, so that an expiry is to be seen at all; a call that was planned before the
    /// item's window ended is not under way for as long as that.
    fn may_expire(&self, setting: &Setting, item: &Item) -> bool {
        let now_ms = self.now_ms(setting);
        let expired = matches!(item.get("ttl"), Some(Value::Number(ttl)) if ttl * 1000 <= i128::from(now_ms));
        let tasks = self.clients.iter().filter_map(|client| client.task.as_ref()).map(|task| task.planned);
        let mut planned = tasks.chain(self.network.iter().map(|message| message.planned));
        let ago_ms = |instant: u8| now_ms - EPOCH_MS - setting.instants_ms[usize::from(instant)];
        expired && planned.all(|instant| ago_ms(instant) < setting.length_ms())
    }

    fn expire(&mut self, setting: &Setting, shard: u32) -> Option<Account> {
        let key = shard_key(shard);
        self.store.get(&key).filter(|item| self.may_expire(setting, item))?;
        self.ledger.fault();
        self.ledger.forget(&key.0);
        self.store.remove(&key);
        Some(Account::said("the item is gone".into()))
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

/// An instant for a person: ms since the world began.
#[must_use]
pub fn told(ms: i64) -> String {
    format!("{:+} ms", ms - EPOCH_MS)
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
