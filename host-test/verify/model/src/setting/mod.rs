//! What a world begins with: the stored items, the clients, their clocks, and what may go wrong.

mod budget;
mod entity;

use onewindow::MAX_SHARD_COUNT;

pub use budget::Budget;
pub(crate) use budget::spend;
pub use entity::Entity;

use crate::{
    ablation::Ablation,
    parent::stamp,
    store::{Item, Key, Store, Value},
};

/// What a world begins with.
#[derive(Clone, Debug)]
pub struct Setting {
    /// What it is called on the command line.
    pub name: &'static str,
    /// The entities, each with a quota and shards of its own.
    pub entities: Vec<Entity>,
    /// The entity each client asks for, by its place. A client that is left out asks for the first.
    pub asks: Vec<u8>,
    /// Whether clients know at first which parents the entity has that they ask for.
    pub knows_parents: bool,
    /// Tokens each request asks for.
    pub amount: u64,
    /// The instants of the world's clock, ms since it began.
    pub instants_ms: Vec<i64>,
    /// How far each client's clock is off, ms.
    pub skews_ms: Vec<i64>,
    /// Requests each client makes.
    pub requests: u8,
    /// How far an old writer's clock may be off, ms.
    pub old_skews_ms: Vec<i32>,
    /// What may go wrong.
    pub budget: Budget,
    /// The clause that is left out.
    pub ablation: Ablation,
}

impl Setting {
    /// The entity a client asks for, by its place.
    #[must_use]
    pub fn asked_by(&self, client: u8) -> u8 {
        self.asks.get(usize::from(client)).copied().unwrap_or(0)
    }

    /// An entity.
    #[must_use]
    pub fn entity(&self, place: u8) -> &Entity {
        &self.entities[usize::from(place)]
    }

    /// The place of the entity of that name.
    #[must_use]
    pub fn place(&self, name: &str) -> Option<u8> {
        (0..).zip(&self.entities).find(|(_, entity)| entity.name == name).map(|(place, _)| place)
    }

    /// The place of the entity that the shard belongs to.
    #[must_use]
    pub fn owner(&self, key: &Key) -> Option<u8> {
        (0..).zip(&self.entities).find(|(_, entity)| entity.owns(key)).map(|(place, _)| place)
    }

    /// A shard's number among those of all entities: the first entity's are their own ids.
    #[must_use]
    pub const fn shard_number(place: u8, shard: u32) -> u32 {
        place as u32 * MAX_SHARD_COUNT + shard
    }

    /// The entity's place and the shard that have a number.
    #[must_use]
    pub fn numbered(&self, number: u32) -> Option<(u8, Key)> {
        let place = u8::try_from(number / MAX_SHARD_COUNT).ok()?;
        let entity = self.entities.get(usize::from(place))?;
        Some((place, entity.shard_key(number % MAX_SHARD_COUNT)))
    }

    /// The entity and its parents, as they are at first.
    #[must_use]
    pub fn chain(&self, place: u8) -> Vec<u8> {
        std::iter::successors(Some(place), |place| self.entity(*place).parent).collect()
    }

    /// The table at first.
    #[must_use]
    pub fn store(&self) -> Store {
        let mut store = Store::default();
        for entity in &self.entities {
            // An item is dropped seven windows after its last use; in worlds with expiries, after one.
            let length = entity.length_seconds;
            let lifetime = if self.budget.expiries > 0 { length } else { 7 * length + 1 };
            let parent = entity.parent.map(|parent| self.entity(parent).name);
            for shard in entity.stored() {
                let mut item = entity.item(shard, lifetime);
                parent.into_iter().for_each(|parent| stamp(&mut item, parent));
                store.insert(entity.shard_key(shard), item);
            }
            if let Some(parent) = parent {
                let (pk, sk) = entity.record_key();
                let mut record = Item::from([("PK".into(), Value::Text(pk)), ("SK".into(), Value::Text(sk))]);
                stamp(&mut record, parent);
                store.insert(entity.record_key(), record);
            }
        }
        store
    }
}
