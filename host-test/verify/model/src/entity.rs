//! An entity's bucket as it is at first.

use onewindow::{Hint, Limit, Subject};

use crate::{
    store::{Item, Key, Value},
    world::{EPOCH_MS, LIMIT, TABLE, attribute},
};

/// Whose quota it is, and what is stored of it at first.
#[derive(Clone, Debug)]
pub struct Entity {
    /// What it is called.
    pub name: &'static str,
    /// Whom its items debit besides: that entity's place in the setting.
    pub parent: Option<u8>,
    /// Whom its items may be stamped with later.
    pub next_parent: Option<u8>,
    /// Shards it has.
    pub shard_count: u32,
    /// Those that exist at first.
    pub present: Vec<u32>,
    /// One that was made after a doubling of which the others were not told; client 0 doubled.
    pub doubled: Option<u32>,
    /// Whether they were made by an old writer: no `wa`, no `gc`.
    pub old_items: bool,
    /// Whether shard 0 holds a grant of the whole, and the others none of it: they were made after
    /// a doubling in this window.
    pub wide: bool,
    /// When the items were last refilled, ms before the world began; none: as their window began.
    pub refilled_ms: Option<i64>,
    /// Tokens of the quota.
    pub capacity: u64,
    /// The window's length.
    pub length_seconds: u64,
    /// When the window in force at first began, ms before the world did; none: no window yet.
    pub began_ms: Option<i64>,
    /// What the write budget of one shard holds, millitokens; the others' are full.
    pub wcu_milli: i128,
    /// Which one.
    pub wcu_of: u32,
}

impl Default for Entity {
    /// Two shards, a window that is just over, and nobody above.
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
    /// What clients ask for.
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

    /// How many shards there are, to whom was told of the doubling and to whom was not.
    fn count(&self, is_told: bool) -> u32 {
        if is_told { self.shard_count * 2 } else { self.shard_count }
    }

    /// What a client knows at first; none: somebody new.
    #[must_use]
    pub fn hint(&self, client: Option<u8>) -> Hint {
        let shard_count = self.count(self.doubled.is_some() && client == Some(0));
        Hint { key: self.subject().hint_key(), shard_count, rejections: Vec::new() }
    }

    /// A shard's item at first, which the table may drop after so long.
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

/// Whom an item, or an entity's own record, says is debited besides.
#[must_use]
pub fn stamped_parent(item: &Item) -> Option<&str> {
    match (item.get("cascade"), item.get("parent_id")) {
        (Some(Value::Boolean(true)), Some(Value::Text(parent))) => Some(parent),
        _ => None,
    }
}

/// Stamps an item, or an entity's own record.
pub(crate) fn stamp(item: &mut Item, parent: &str) {
    item.insert("cascade".into(), Value::Boolean(true));
    item.insert("parent_id".into(), Value::Text(parent.into()));
}
