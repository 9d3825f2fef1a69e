//! A bucket: its windows, its shards, and its history.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::kind::Kind;

/// What was debited in one window, millitokens.
#[derive(Clone, Debug, Default)]
pub(crate) struct Debited {
    pub(crate) by: BTreeMap<Kind, i128>,
    /// Recorded corrections upward: they may exceed the capacity.
    pub(crate) corrections: i128,
}

impl Debited {
    pub(crate) fn total(&self) -> i128 {
        self.by.values().sum()
    }
}

#[derive(Default)]
pub(crate) struct Bucket {
    pub(crate) capacity: i128,
    pub(crate) length_ms: i128,
    /// By the window's start.
    pub(crate) windows: BTreeMap<i128, Debited>,
    /// The largest shard count seen, and the shards.
    pub(crate) shard_count: i128,
    pub(crate) shards: HashMap<u32, Shard>,
    /// Which shard was reset for which start (I2).
    pub(super) resets: HashSet<(u32, i128)>,
    pub(super) trace: Vec<String>,
    /// Violations that were reported, by the window's start.
    pub(super) reported: HashSet<(&'static str, i128)>,
    /// Grows with each change of a shard's window, and with each new shard.
    pub(crate) version: u64,
    /// By the window's start: who granted a shard's share twice, because another had left a shard count
    /// that is smaller than the size of the grant beside it.
    pub(super) regranted: BTreeMap<i128, String>,
}

#[derive(Default)]
pub(crate) struct Shard {
    pub(crate) start: Option<i128>,
    /// Spent while the reset was pending, by whom.
    pub(super) pending: BTreeMap<Kind, i128>,
    /// Who left a shard count on the item that is smaller than the size of its grant.
    pub(super) misled_by: Option<(Kind, u64)>,
}
