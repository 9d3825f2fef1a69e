//! One shard of a bucket as read, and its limits.

use alloc::{string::String, sync::Arc, vec::Vec};

/// One shard of a bucket: an item as read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Shard {
    /// `PK`.
    pub pk: String,
    /// The slot, read from the key.
    pub id: u32,
    /// `shard_count` as this shard stores it; 1 where it is absent or below 1.
    pub shard_count: u32,
    /// `rf`: the last materialisation, ms. The optimistic lock.
    pub last_refill_ms: i64,
    /// `vu`: fast writes are allowed only before it, ms.
    pub valid_until_ms: Option<i64>,
    /// `ttl`: when the table may drop the item, epoch seconds.
    pub ttl_seconds: Option<i64>,
    /// `disabled`: reject everything.
    pub disabled: bool,
    /// `cascade`: the item debits its parent as well ([`Cascade`](crate::Cascade)).
    pub cascade: bool,
    /// `parent_id`: that parent.
    pub parent_id: Option<String>,
    /// Whether the item carries a calendar schedule, which this version cannot evaluate.
    pub scheduled: bool,
    /// `bypass`: admits everything while it is later than now, ms.
    pub bypass_until_ms: Option<i64>,
    /// Every limit but `wcu`, by name.
    pub limits: Vec<LimitState>,
    /// The hidden `wcu` limit: what the shard's partition may still write.
    pub wcu: Option<LimitState>,
}

/// One limit on an item. Balances are millitokens, exact to the 38 digits the table stores.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LimitState {
    /// The limit.
    pub name: Arc<str>,
    /// `tk`: balance; negative is debt.
    pub tokens_milli: i128,
    /// `cp`: capacity, undivided.
    pub capacity_milli: i128,
    /// `ra`: refill each period, undivided; 0 for a quota.
    pub refill_amount_milli: i128,
    /// `rp`: the period, ms.
    pub refill_period_ms: i64,
    /// `tc`: net consumption. It only grows, except for settled credits.
    pub consumed_milli: Option<i128>,
    /// `rsa`: the window's length. Its presence makes the limit a session quota.
    pub reset_after_seconds: Option<i64>,
    /// `ws`: the start of the entity's window, ms.
    pub window_start_ms: Option<i64>,
    /// `wa`: the start this balance reflects, ms; absent on items older than the marker.
    pub window_applied_ms: Option<i64>,
    /// `wtc`: `tc` when a propagation last reached this shard.
    pub consumed_mark_milli: Option<i128>,
    /// `gc`: the shard count at which this window's grant was sized; absent on old items.
    pub grant_count: Option<i64>,
    /// `tu`: an operator's addition in this window; raises the ceiling.
    pub topped_up_milli: Option<i128>,
    /// `soft`: admits everything of this limit while it is later than now, ms.
    pub soft_until_ms: Option<i64>,
}

impl Default for LimitState {
    fn default() -> Self {
        Self {
            name: Arc::from(""),
            tokens_milli: 0,
            capacity_milli: 0,
            refill_amount_milli: 0,
            refill_period_ms: 1000,
            consumed_milli: None,
            reset_after_seconds: None,
            window_start_ms: None,
            window_applied_ms: None,
            consumed_mark_milli: None,
            grant_count: None,
            topped_up_milli: None,
            soft_until_ms: None,
        }
    }
}

impl LimitState {
    /// The grant count in force: `gc`; below 1, or absent, the shard count stored beside it.
    #[must_use]
    pub fn grant_count_or(&self, shard_count: u32) -> i128 {
        match self.grant_count {
            Some(count) if count >= 1 => i128::from(count),
            _ => i128::from(shard_count.max(1)),
        }
    }

    /// Whether the balance reflects the window the item carries (not R3's *pending*).
    pub(crate) fn is_applied(&self, last_refill_ms: i64) -> bool {
        match (self.window_start_ms, self.window_applied_ms) {
            (None, _) => true,
            (Some(start), Some(applied)) => start <= applied,
            (Some(start), None) => start <= last_refill_ms,
        }
    }
}

impl Shard {
    /// The limit of that name, `wcu` aside.
    #[must_use]
    pub fn limit(&self, name: &str) -> Option<&LimitState> {
        self.limits.iter().find(|limit| &*limit.name == name)
    }

    /// Whether a live stamp, `bypass` or the limit's own `soft`, admits any amount of the limit.
    pub(crate) fn is_waived(&self, name: &str, now_ms: i64) -> bool {
        let soft_until_ms = self.limit(name).and_then(|limit| limit.soft_until_ms);
        [self.bypass_until_ms, soft_until_ms].into_iter().flatten().any(|until_ms| until_ms > now_ms)
    }
}

/// The stamps of an entity's record, copied onto every shard that is created for it (section 7).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Owner {
    /// `cascade`.
    pub cascade: Option<bool>,
    /// `parent_id`.
    pub parent_id: Option<String>,
    /// `pgen`.
    pub parent_generation: Option<i128>,
    /// `pinc`.
    pub parent_incarnation: Option<String>,
}
