//! Settings of worlds: what is there at first, who is there, and what may go wrong.

use onewindow::{Hint, Limit};

use crate::{
    ablation::Ablation,
    event::Budget,
    store::{Item, Store, Value},
    world::{EPOCH_MS, LIMIT, attribute, shard_key, subject},
};

/// What a world begins with.
#[derive(Clone, Debug)]
pub struct Setting {
    /// What it is called on the command line.
    pub name: &'static str,
    /// Shards the entity has.
    pub shard_count: u32,
    /// Those that exist at first.
    pub present: Vec<u32>,
    /// Whether they were made by an old writer: no `wa`, no `gc`.
    pub old_items: bool,
    /// Whether shard 0 holds a grant of the whole, and the others none of it: they were made after
    /// a doubling in this window.
    pub wide: bool,
    /// When the items were last refilled, ms before the world began; none: as their window began.
    pub refilled_ms: Option<i64>,
    /// Tokens of the quota.
    pub capacity: u64,
    /// Tokens each request asks for.
    pub amount: u64,
    /// The window's length.
    pub length_seconds: u64,
    /// When the window in force at first began, ms before the world did; none: no window yet.
    pub began_ms: Option<i64>,
    /// The instants of the world's clock, ms since it began.
    pub instants_ms: Vec<i64>,
    /// How far each client's clock is off, ms.
    pub skews_ms: Vec<i64>,
    /// Requests each client makes.
    pub requests: u8,
    /// How far an old writer's clock may be off, ms.
    pub old_skews_ms: Vec<i32>,
    /// What the first shard's write budget holds, millitokens.
    pub wcu_milli: i128,
    /// What may go wrong.
    pub budget: Budget,
    /// The clause that is left out.
    pub ablation: Ablation,
}

impl Setting {
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

    /// What every client knows at first.
    #[must_use]
    pub fn hint(&self) -> Hint {
        Hint { key: subject().hint_key(), shard_count: self.shard_count, blocked: Vec::new() }
    }

    /// The table at first.
    #[must_use]
    pub fn store(&self) -> Store {
        let mut store = Store::default();
        for shard in &self.present {
            store.insert(shard_key(*shard), self.item(*shard));
        }
        store
    }

    fn item(&self, shard: u32) -> Item {
        let text = |text: &str| Value::Text(text.into());
        let number = |number: i128| Value::Number(number);
        let share = match (self.wide, shard) {
            (true, 0) => self.capacity_milli(),
            (true, _) => 0,
            (false, _) => self.capacity_milli().div_euclid(self.shard_count.into()),
        };
        let granted = if self.wide && shard == 0 { 1 } else { self.shard_count };
        let refilled_ms = self.refilled_ms.or(self.began_ms).map(|ms| i128::from(EPOCH_MS - ms));
        let began_ms = self.began_ms.map(|ms| i128::from(EPOCH_MS - ms));
        // An item is dropped seven windows after its last use; here, where that is to be seen, soon.
        let lifetime = if self.budget.expiries > 0 { 1 } else { 7 * self.length_seconds + 1 };
        let (pk, sk) = shard_key(shard);
        let mut item = Item::from([
            ("PK".into(), Value::Text(pk)),
            ("SK".into(), Value::Text(sk)),
            ("foreign".into(), text("kept")),
            ("rf".into(), number(refilled_ms.unwrap_or(i128::from(EPOCH_MS) - 1))),
            ("shard_count".into(), number(self.shard_count.into())),
            ("ttl".into(), number(i128::from(EPOCH_MS).div_euclid(1000) + i128::from(lifetime))),
            (attribute("tk"), number(share)),
            (attribute("cp"), number(self.capacity_milli())),
            (attribute("ra"), number(0)),
            (attribute("rp"), number(1000)),
            (attribute("tc"), number(0)),
            ("b_wcu_tk".into(), number(if shard == 0 { self.wcu_milli } else { 1_000_000 })),
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
