//! An entity, and what is stored of it at first.

use onewindow::{Hint, Limit, Subject};

use crate::{
    quota::{LIMIT, TABLE, attribute},
    store::{Item, Key, Value},
    time::EPOCH_MS,
};

/// An entity with a quota, and what is stored of it at first.
#[derive(Clone, Debug)]
pub struct Entity {
    /// What it is called.
    pub name: &'static str,
    /// The parent that is debited as well: that entity's place in the setting.
    pub parent: Option<u8>,
    /// The parent that its items may be stamped with later.
    pub next_parent: Option<u8>,
    /// Shards it has.
    pub shard_count: u32,
    /// Those that exist at first.
    pub present: Vec<u32>,
    /// A shard created by a doubling that was not propagated to the others; client 0 made the doubling.
    pub doubled: Option<u32>,
    /// Whether an old writer created the items: they have no `wa` and no `gc`.
    pub old_items: bool,
    /// Whether shard 0 holds a grant of the whole capacity and the others none: they were created by
    /// a doubling in this window.
    pub wide: bool,
    /// When the items were last refilled, ms before the world began; none: as their window began.
    pub refilled_ms: Option<i64>,
    /// Tokens of the quota.
    pub capacity: u64,
    /// The window's length.
    pub length_seconds: u64,
    /// When the first window began, ms before the world did; none: no window yet.
    pub began_ms: Option<i64>,
    /// What the write budget of shard `wcu_of` holds, millitokens; the others' are full.
    pub wcu_milli: i128,
    /// The shard whose write budget is not full.
    pub wcu_of: u32,
}

impl Default for Entity {
    /// Two shards, a window that is just over, and no parent.
    fn default() -> Self {
        Self {
            name: "e",
            parent: None,
            next_parent: None,
            shard_count: 2,
            present: vec![0, 1],
            doubled: None,
            old_items: false,
            wide: false,
            refilled_ms: None,
            capacity: 2,
            length_seconds: 1,
            began_ms: Some(1000),
            wcu_milli: 1_000_000,
            wcu_of: 0,
        }
    }
}

impl Entity {
    /// The subject of its requests.
    #[must_use]
    pub fn subject(&self) -> Subject {
        Subject::new(TABLE, "n", self.name, "r")
    }

    /// The key of a shard's item.
    #[must_use]
    pub fn shard_key(&self, shard: u32) -> Key {
        (self.subject().bucket_pk(shard), "#STATE".into())
    }

    /// Whether it is the key of one of its shards.
    #[must_use]
    pub fn owns(&self, key: &Key) -> bool {
        key.1 == "#STATE" && key.0.split('#').nth(1) == Some(self.name)
    }

    /// The key of its own record.
    #[must_use]
    pub fn record_key(&self) -> Key {
        (format!("n/ENTITY#{}", self.name), "#META".into())
    }

    /// The window's length, ms.
    #[must_use]
    pub fn length_ms(&self) -> i64 {
        i64::try_from(self.length_seconds * 1000).unwrap_or(i64::MAX)
    }

    /// The capacity, millitokens.
    #[must_use]
    pub fn capacity_milli(&self) -> i128 {
        i128::from(self.capacity) * 1000
    }

    /// The quota.
    #[must_use]
    pub fn limit(&self) -> Limit {
        Limit::session(LIMIT, self.capacity, self.length_seconds)
    }

    /// The shards that exist at first.
    pub fn stored(&self) -> impl Iterator<Item = u32> + '_ {
        self.present.iter().copied().chain(self.doubled)
    }

    /// The shard count as it is known with or without the doubling.
    fn count(&self, knows_doubling: bool) -> u32 {
        if knows_doubling { self.shard_count * 2 } else { self.shard_count }
    }

    /// What a client knows at first; none: a client that comes later.
    #[must_use]
    pub fn hint(&self, client: Option<u8>) -> Hint {
        let shard_count = self.count(self.doubled.is_some() && client == Some(0));
        Hint { key: self.subject().hint_key(), shard_count, rejections: Vec::new() }
    }

    /// A shard's item at first; the table may drop it after `lifetime_seconds`.
    #[must_use]
    pub fn item(&self, shard: u32, lifetime_seconds: u64) -> Item {
        let number = |number: i128| Value::Number(number);
        let shard_count = self.count(self.doubled == Some(shard));
        let share = match (self.wide, shard) {
            (true, 0) => self.capacity_milli(),
            (true, _) => 0,
            (false, _) => self.capacity_milli().div_euclid(shard_count.into()),
        };
        let granted = if self.wide && shard == 0 { 1 } else { shard_count };
        let refilled_ms = self.refilled_ms.or(self.began_ms).map(|ms| i128::from(EPOCH_MS - ms));
        let began_ms = self.began_ms.map(|ms| i128::from(EPOCH_MS - ms));
        let (pk, sk) = self.shard_key(shard);
        let mut item = Item::from([
            ("PK".into(), Value::Text(pk)),
            ("SK".into(), Value::Text(sk)),
            ("foreign".into(), Value::Text("kept".into())),
            ("rf".into(), number(refilled_ms.unwrap_or(i128::from(EPOCH_MS) - 1))),
            ("shard_count".into(), number(shard_count.into())),
            ("ttl".into(), number(i128::from(EPOCH_MS).div_euclid(1000) + i128::from(lifetime_seconds))),
            (attribute("tk"), number(share)),
            (attribute("cp"), number(self.capacity_milli())),
            (attribute("ra"), number(0)),
            (attribute("rp"), number(1000)),
            (attribute("tc"), number(0)),
            ("b_wcu_tk".into(), number(if shard == self.wcu_of { self.wcu_milli } else { 1_000_000 })),
            ("b_wcu_cp".into(), number(1_000_000)),
            ("b_wcu_ra".into(), number(1_000_000)),
            ("b_wcu_rp".into(), number(1000)),
            ("b_wcu_tc".into(), number(0)),
        ]);
        if let Some(began_ms) = began_ms {
            item.insert(attribute("rsa"), number(self.length_seconds.into()));
            item.insert(attribute("ws"), number(began_ms));
            item.insert("vu".into(), number(began_ms + i128::from(self.length_ms())));
            if !self.old_items {
                item.insert(attribute("wa"), number(began_ms));
                item.insert(attribute("gc"), number(granted.into()));
            }
        }
        item
    }
}
