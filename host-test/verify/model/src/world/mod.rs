//! A world: a table, clients that run the shipped core, and everything that can happen to them.
//!
//! A [`World`] is a value. [`World::events`] lists what can happen next, [`World::step`] makes it
//! happen and checks the invariants on the way. Time is a list of instants; a client's clock is
//! the world's plus its own error.

mod client;
mod hands;
mod machine;
mod network;
mod rejection;

use std::{cell::RefCell, collections::HashMap, sync::Arc};

use onewindow::{Call, Resend};

use crate::{
    ablation::Ablation,
    entity::stamped_parent,
    event::{Budget, Event, spend},
    ledger::{Actor, Ledger, Violation},
    setting::Setting,
    store::{Item, Landed, Request, Store, Value},
};
use client::{Client, Delivery};
use network::Message;

/// The table every world has.
pub const TABLE: &str = "t";
/// The quota every entity has.
pub const LIMIT: &str = "q";
/// When the world's clock starts, epoch ms.
pub const EPOCH_MS: i64 = 1_800_000_000_000;

/// Everything there is at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// The table.
    pub store: Store,
    /// The books, one for each entity.
    pub ledgers: Vec<Ledger>,
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
        let skewed = setting.skews_ms.iter().any(|skew| *skew != 0);
        let ledgers = setting.entities.iter().map(|entity| Ledger::new(skewed || entity.old_items));
        Self {
            store: setting.store(),
            ledgers: ledgers.collect(),
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
            match &client.task {
                None => {
                    if client.left > 0 {
                        let known = client.known(setting, index);
                        let draws = known.iter().map(|known| known.hint.shard_count).product();
                        events.extend((0..draws).map(|draw| Event::Start(index, draw)));
                    }
                    if client.lent.is_some() && self.budget.settlements > 0 {
                        let more = u8::try_from(setting.amount).unwrap_or(u8::MAX).saturating_add(1);
                        events.extend([Event::Settle(index, 0), Event::Settle(index, more)]);
                    }
                }
                Some(task) => {
                    for (place, (_, call)) in (0_u8..).zip(task.pending()) {
                        self.events_of_call(setting, index, place, call, &mut events);
                    }
                    if self.budget.deaths > 0 {
                        events.push(Event::Die(index));
                    }
                }
            }
        }
        for (index, message) in (0_u8..).zip(&self.network) {
            events.push(Event::Deliver(index));
            if message.may_land_twice() && self.budget.duplicates > 0 {
                events.push(Event::Duplicate(index));
            }
            if message.is_follow_up() && self.budget.follow_ups > 0 {
                events.push(Event::LoseFollowUp(index));
            }
        }
        for (key, item) in self.store.items() {
            let Some(place) = setting.owner(key) else { continue };
            let Some(id) = key.0.rsplit('#').next().and_then(|id| id.parse().ok()) else { continue };
            let shard = Setting::shard_number(place, id);
            if self.budget.old > 0 && number(item, "tk").is_some_and(|tokens| tokens >= 1000) {
                events.push(Event::OldFast(shard));
                events.extend(setting.old_skews_ms.iter().map(|skew_ms| Event::OldPass(shard, *skew_ms)));
            }
            if self.budget.expiries > 0 && self.may_expire(setting, place, item) {
                events.push(Event::Expire(shard));
            }
            if self.budget.restamps > 0 && setting.entity(place).next_parent.is_some() {
                events.push(Event::Restamp(shard));
            }
        }
        events
    }

    fn events_of_call(&self, setting: &Setting, client: u8, place: u8, call: &Call, events: &mut Vec<Event>) {
        events.push(Event::Land(client, place));
        if call.operation == "BatchGetItem" {
            let may_be_stale =
                setting.ablation == Ablation::ConsistentRead || !call.body.contains("ConsistentRead");
            if self.budget.stale > 0 && may_be_stale {
                events.push(Event::LandStale(client, place));
            }
        } else {
            if self.budget.replies > 0 {
                events.push(Event::LoseReply(client, place));
                if call.resend != Resend::Never {
                    events.push(Event::Resend(client, place));
                }
            }
            if self.budget.copies > 0 && call.resend != Resend::Never {
                events.push(Event::Copy(client, place));
            }
        }
    }

    /// Makes an event happen. None: it cannot happen here.
    ///
    /// # Errors
    /// The invariant it breaks.
    pub fn step(&mut self, setting: &Setting, event: Event) -> Result<Option<Account>, Violation> {
        let can_happen = match event {
            Event::LandStale(..) => spend(&mut self.budget.stale),
            Event::Resend(..) | Event::LoseReply(..) => spend(&mut self.budget.replies),
            Event::Copy(..) => spend(&mut self.budget.copies),
            Event::Die(_) => spend(&mut self.budget.deaths),
            Event::Duplicate(_) => spend(&mut self.budget.duplicates),
            Event::LoseFollowUp(_) => spend(&mut self.budget.follow_ups),
            Event::OldFast(_) | Event::OldPass(..) => spend(&mut self.budget.old),
            Event::Expire(_) => spend(&mut self.budget.expiries),
            Event::Settle(..) => spend(&mut self.budget.settlements),
            Event::Restamp(_) => spend(&mut self.budget.restamps),
            Event::Tick | Event::Start(..) | Event::Land(..) | Event::Deliver(_) => true,
        };
        if !can_happen {
            return Ok(None);
        }
        match event {
            Event::Tick => Ok(self.tick(setting)),
            Event::Start(client, shard) => Ok(self.start(setting, client, shard)),
            Event::Settle(client, used) => self.settle(setting, client, used),
            Event::Land(client, call) => self.land(setting, client, call, Delivery::Once),
            Event::LandStale(client, call) => self.land(setting, client, call, Delivery::Stale),
            Event::Resend(client, call) => self.land(setting, client, call, Delivery::Twice),
            Event::LoseReply(client, call) => self.land(setting, client, call, Delivery::Unanswered),
            Event::Copy(client, call) => Ok(self.copy(setting, client, call)),
            Event::Die(client) => Ok(self.die(client)),
            Event::Deliver(index) => self.deliver(setting, index, true),
            Event::Duplicate(index) => self.deliver(setting, index, false),
            Event::LoseFollowUp(index) => Ok(self.lose(index)),
            Event::OldFast(shard) => self.old_write(setting, shard, None),
            Event::OldPass(shard, skew_ms) => {
                self.old_write(setting, shard, Some(self.now_ms(setting) + i64::from(skew_ms)))
            }
            Event::Expire(shard) => Ok(self.expire(setting, shard)),
            Event::Restamp(shard) => Ok(self.restamp(setting, shard)),
        }
    }

    fn tick(&mut self, setting: &Setting) -> Option<Account> {
        if usize::from(self.instant) + 1 >= setting.instants_ms.len() {
            return None;
        }
        self.instant += 1;
        Some(Account::said(format!("the clock reads {}", told(self.now_ms(setting)))))
    }

    /// The instant a call is planned at; where nothing expires, it makes no difference.
    fn planned(&self) -> u8 {
        if self.budget.expiries > 0 { self.instant } else { 0 }
    }

    fn ago_ms(&self, setting: &Setting, instant: u8) -> i64 {
        self.now_ms(setting) - EPOCH_MS - setting.instants_ms[usize::from(instant)]
    }

    /// Books what landed: no request speaks of two entities. K4: a shard is made under the parent
    /// that its entity's own record names at that moment.
    fn observe(&mut self, setting: &Setting, actor: Actor, landed: &[Landed]) -> Result<(), Violation> {
        let Some(place) = landed.first().and_then(|landed| setting.owner(&landed.key)) else {
            return Ok(());
        };
        let entity = setting.entity(place);
        let record = self.store.get(&entity.record_key()).and_then(|record| stamped_parent(record));
        for made in landed.iter().filter(|landed| landed.before.is_none()) {
            if stamped_parent(&made.after) != record {
                let how = format!("{} is made under another parent than {record:?}", made.key.0);
                return Err(Violation::new("K4", how));
            }
        }
        self.ledgers[usize::from(place)].observe(entity, actor, landed)
    }

    /// Something went wrong.
    fn fault(&mut self) {
        self.ledgers.iter_mut().for_each(Ledger::fault);
    }

    /// The shards of an entity.
    fn shards<'a>(&'a self, setting: &'a Setting, place: u8) -> impl Iterator<Item = &'a Arc<Item>> {
        let entity = setting.entity(place);
        self.store.items().filter(|(key, _)| entity.owns(key)).map(|(_, item)| item)
    }

    /// What must hold where nobody is on the way.
    ///
    /// # Errors
    /// I3.
    pub fn check_rest(&self, setting: &Setting) -> Result<(), Violation> {
        if !self.is_quiet() {
            return Ok(());
        }
        let check = |(place, ledger): (u8, &Ledger)| {
            let items = self.shards(setting, place).map(|item| &**item);
            ledger.check_convergence(setting.entity(place), items)
        };
        (0..).zip(&self.ledgers).try_for_each(check)
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
