//! The state of a world at one moment.

use std::sync::Arc;

use super::{client::Client, message::Message};
use crate::{
    ledger::{Actor, Ledger, Violation},
    parent::stamped_parent,
    setting::{Budget, Setting},
    store::{Item, Landed, Store},
    time::EPOCH_MS,
};

/// Everything there is at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// The table.
    pub store: Store,
    /// A ledger for each entity.
    pub ledgers: Vec<Ledger>,
    pub(super) instant: u8,
    pub(super) clients: Vec<Client>,
    pub(super) network: Vec<Message>,
    pub(super) budget: Budget,
}

impl World {
    /// The world as the setting begins it.
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
    pub(super) fn clock_ms(&self, setting: &Setting, client: u8) -> i64 {
        self.now_ms(setting) + self.clients[usize::from(client)].skew_ms
    }

    /// Whether no request and no message is on its way.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.network.is_empty() && self.clients.iter().all(|client| client.task.is_none())
    }

    /// The instant at which a call is planned; 0 where nothing expires, since it makes no difference there.
    pub(super) fn planned(&self) -> u8 {
        if self.budget.expiries > 0 { self.instant } else { 0 }
    }

    /// How long ago an instant was.
    pub(super) fn ago_ms(&self, setting: &Setting, instant: u8) -> i64 {
        self.now_ms(setting) - EPOCH_MS - setting.instants_ms[usize::from(instant)]
    }

    /// Records what landed; no request writes to two entities. K4: a created shard names the parent
    /// that its entity's own record names at that moment.
    pub(super) fn observe(
        &mut self,
        setting: &Setting,
        actor: Actor,
        landed: &[Landed],
    ) -> Result<(), Violation> {
        let Some(place) = landed.first().and_then(|landed| setting.owner(&landed.key)) else {
            return Ok(());
        };
        let entity = setting.entity(place);
        let record = self.store.get(&entity.record_key()).and_then(|record| stamped_parent(record));
        for created in landed.iter().filter(|landed| landed.before.is_none()) {
            if stamped_parent(&created.after) != record {
                let how = format!("{} is created under another parent than {record:?}", created.key.0);
                return Err(Violation::new("K4", how));
            }
        }
        self.ledgers[usize::from(place)].observe(entity, actor, landed)
    }

    /// Something went wrong after which convergence is not promised.
    pub(super) fn fault(&mut self) {
        self.ledgers.iter_mut().for_each(Ledger::fault);
    }

    /// The shards of an entity.
    pub(super) fn shards<'a>(
        &'a self,
        setting: &'a Setting,
        place: u8,
    ) -> impl Iterator<Item = &'a Arc<Item>> {
        let entity = setting.entity(place);
        self.store.items().filter(|(key, _)| entity.owns(key)).map(|(_, item)| item)
    }

    /// What must hold where no request and no message is on its way.
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
