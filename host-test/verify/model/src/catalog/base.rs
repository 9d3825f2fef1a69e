//! What the worlds have in common.

use crate::{
    ablation::Ablation,
    setting::{Budget, Entity, Setting},
};

/// An entity whose shards all exist.
pub(super) fn of_shards(count: u32) -> Entity {
    Entity { shard_count: count, present: (0..count).collect(), ..Entity::default() }
}

/// All that may go wrong, without old writers.
pub(super) const EVERYTHING: Budget = Budget {
    replies: 2,
    copies: 1,
    deaths: 1,
    follow_ups: 2,
    duplicates: 1,
    old: 0,
    stale: 1,
    expiries: 1,
    settlements: 2,
    restamps: 0,
};

/// The instants of a world of several windows, ms.
pub(super) const LONG_MS: [i64; 8] = [0, 300, 700, 1000, 1300, 1700, 2000, 2500];

/// Two shards, three clients, nothing goes wrong: the others are variations of it.
pub(super) fn base(name: &'static str) -> Setting {
    Setting {
        name,
        entities: vec![Entity::default()],
        asks: vec![],
        knows_parents: true,
        amount: 1,
        instants_ms: vec![0, 1000],
        skews_ms: vec![0, 0, 0],
        requests: 1,
        old_skews_ms: vec![],
        budget: Budget::default(),
        ablation: Ablation::Nothing,
    }
}
