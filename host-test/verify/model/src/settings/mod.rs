//! The settings that are explored. Small ones in every order; the others at random.

mod cascades;

use crate::{ablation::Ablation, entity::Entity, event::Budget, setting::Setting};

/// An entity all of whose shards are there.
fn of_shards(count: u32) -> Entity {
    Entity { shard_count: count, present: (0..count).collect(), ..Entity::default() }
}

/// Everything that may go wrong with writers of ours.
const EVERYTHING: Budget = Budget {
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
const LONG_MS: [i64; 8] = [0, 300, 700, 1000, 1300, 1700, 2000, 2500];

/// A quiet world of two shards, on which the others vary.
fn base(name: &'static str) -> Setting {
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

/// Worlds small enough for every order of events.
#[must_use]
pub fn small() -> Vec<Setting> {
    let alone = vec![
        // Three clients, two windows, two shards.
        Setting { instants_ms: vec![0, 500, 1000], ..base("boundary") },
        Setting { skews_ms: vec![0, 400, -400], instants_ms: vec![0, 600, 1000], ..base("skew") },
        Setting {
            entities: vec![Entity { present: vec![0], ..Entity::default() }],
            instants_ms: vec![0, 1000],
            ..base("join")
        },
        Setting {
            entities: vec![Entity { present: vec![0], ..Entity::default() }],
            budget: Budget { stale: 2, ..Budget::default() },
            skews_ms: vec![0, 0],
            requests: 2,
            ..base("join-stale")
        },
        Setting {
            entities: vec![Entity { present: vec![0], began_ms: Some(500), ..Entity::default() }],
            instants_ms: vec![0, 500, 1500],
            ..base("join-live")
        },
        Setting {
            entities: vec![Entity { present: vec![1], began_ms: Some(500), ..Entity::default() }],
            instants_ms: vec![0, 500],
            ..base("shard-0-missing")
        },
        Setting {
            entities: vec![Entity { present: vec![], began_ms: None, ..Entity::default() }],
            ..base("first-use")
        },
        Setting {
            budget: Budget { follow_ups: 1, duplicates: 1, ..Budget::default() },
            skews_ms: vec![0, 0],
            requests: 2,
            ..base("lost-follow-ups")
        },
        Setting {
            budget: Budget { replies: 1, deaths: 1, ..Budget::default() },
            skews_ms: vec![0, 0],
            requests: 2,
            ..base("lost-replies")
        },
        Setting {
            budget: Budget { old: 2, ..Budget::default() },
            old_skews_ms: vec![-400, 0, 400],
            skews_ms: vec![0, 0],
            requests: 2,
            ..base("old-writers")
        },
        Setting {
            entities: vec![Entity { old_items: true, ..Entity::default() }],
            budget: Budget { old: 1, ..Budget::default() },
            old_skews_ms: vec![-400, 400],
            skews_ms: vec![0, 0],
            requests: 2,
            ..base("old-items")
        },
        Setting {
            entities: vec![Entity { capacity: 4, wcu_milli: 1000, began_ms: Some(500), ..of_shards(1) }],
            amount: 2,
            instants_ms: vec![0, 500],
            skews_ms: vec![0, 0],
            requests: 2,
            ..base("doubling")
        },
        // The grant that is split is given in this window.
        Setting {
            entities: vec![Entity { capacity: 4, wcu_milli: 1000, refilled_ms: Some(0), ..of_shards(1) }],
            amount: 2,
            instants_ms: vec![0],
            skews_ms: vec![0, 0],
            requests: 2,
            ..base("doubling-opened")
        },
        // Less than half of the newest shard's budget came back. The others are told of the doubling
        // late, twice or not at all.
        Setting {
            entities: vec![Entity {
                capacity: 4,
                wcu_milli: 0,
                refilled_ms: Some(2),
                began_ms: Some(500),
                wcu_of: 1,
                ..of_shards(2)
            }],
            instants_ms: vec![0],
            skews_ms: vec![0, 0],
            requests: 2,
            budget: Budget { follow_ups: 1, duplicates: 1, ..Budget::default() },
            ..base("doubling-restored")
        },
        // Shard 0 was doubled, and dropped before anybody but the new shard 2 had heard of it.
        Setting {
            entities: vec![Entity {
                present: vec![1],
                doubled: Some(2),
                capacity: 4,
                began_ms: Some(500),
                ..Entity::default()
            }],
            instants_ms: vec![0],
            skews_ms: vec![0, 0],
            requests: 3,
            ..base("doubling-untold")
        },
        // Twice in one window, and the next one after it.
        Setting {
            entities: vec![Entity {
                capacity: 4,
                wcu_milli: 0,
                refilled_ms: Some(0),
                began_ms: Some(0),
                ..of_shards(1)
            }],
            instants_ms: vec![0, 1000],
            requests: 2,
            ..base("doubling-twice")
        },
        Setting {
            entities: vec![Entity { capacity: 4, ..of_shards(4) }],
            amount: 2,
            skews_ms: vec![0, 0],
            ..base("four-shards")
        },
        Setting {
            entities: vec![Entity {
                shard_count: 4,
                present: vec![0, 1],
                capacity: 4,
                began_ms: Some(500),
                ..Entity::default()
            }],
            instants_ms: vec![0, 500],
            skews_ms: vec![0, 0],
            ..base("four-join")
        },
        Setting {
            budget: Budget { expiries: 1, ..Budget::default() },
            instants_ms: vec![0, 1000],
            skews_ms: vec![0, 0],
            requests: 2,
            ..base("expiry")
        },
        // A shard whose old balance is larger than its share is told of a window, and an old writer
        // takes away what would have kept a fast write from it.
        Setting {
            entities: vec![Entity { wide: true, capacity: 4, ..Entity::default() }],
            instants_ms: vec![0],
            skews_ms: vec![0, 0],
            requests: 3,
            old_skews_ms: vec![0],
            budget: Budget { old: 1, ..Budget::default() },
            ..base("old-wide")
        },
        // A clock that is behind doubles the count while one that is not opens the next window.
        Setting {
            entities: vec![Entity { refilled_ms: Some(400), wcu_milli: 0, capacity: 4, ..of_shards(1) }],
            amount: 2,
            instants_ms: vec![0, 400],
            skews_ms: vec![0, -400],
            requests: 3,
            ..base("late-doubling")
        },
        Setting {
            entities: vec![Entity { capacity: 4, ..of_shards(4) }],
            amount: 1,
            instants_ms: vec![0],
            ..base("four-shards-three")
        },
        Setting {
            entities: vec![Entity { capacity: 3, ..Entity::default() }],
            amount: 2,
            budget: Budget { stale: 1, ..Budget::default() },
            ..base("gather")
        },
        Setting {
            budget: Budget { copies: 1, ..Budget::default() },
            skews_ms: vec![0, 0],
            requests: 2,
            ..base("late-copies")
        },
        // Leases that are given back, or cost more, while the window ends.
        Setting {
            entities: vec![Entity { began_ms: Some(500), ..Entity::default() }],
            budget: Budget { settlements: 2, replies: 1, ..Budget::default() },
            instants_ms: vec![0, 600],
            skews_ms: vec![0, 0],
            requests: 2,
            ..base("settle")
        },
        Setting {
            entities: vec![Entity { capacity: 4, wcu_milli: 1000, began_ms: Some(500), ..of_shards(1) }],
            amount: 2,
            instants_ms: vec![0, 600],
            skews_ms: vec![0, 0],
            requests: 2,
            budget: Budget { settlements: 1, ..Budget::default() },
            ..base("settle-doubling")
        },
        // Four shards, three clients, two windows.
        Setting {
            entities: vec![Entity { capacity: 4, ..of_shards(4) }],
            instants_ms: vec![0, 1000],
            ..base("four-boundary")
        },
    ];
    alone.into_iter().chain(cascades::small()).collect()
}

/// Larger worlds, with everything going wrong at once.
#[must_use]
pub fn large() -> Vec<Setting> {
    let skews_ms = vec![0, 250, -250];
    let alone = vec![
        Setting {
            instants_ms: LONG_MS.to_vec(),
            skews_ms: skews_ms.clone(),
            requests: 4,
            budget: EVERYTHING,
            ..base("storm-2")
        },
        Setting {
            entities: vec![Entity {
                shard_count: 4,
                present: vec![0, 2],
                capacity: 8,
                began_ms: Some(500),
                ..Entity::default()
            }],
            amount: 2,
            instants_ms: LONG_MS.to_vec(),
            skews_ms: skews_ms.clone(),
            requests: 5,
            budget: EVERYTHING,
            ..base("storm-4")
        },
        Setting {
            entities: vec![Entity { capacity: 8, wcu_milli: 2000, began_ms: Some(500), ..of_shards(1) }],
            instants_ms: LONG_MS.to_vec(),
            skews_ms: skews_ms.clone(),
            requests: 6,
            budget: EVERYTHING,
            ..base("storm-doubling")
        },
        // Nothing goes wrong, but the count doubles with almost every write.
        Setting {
            entities: vec![Entity {
                capacity: 4,
                wcu_milli: 1000,
                began_ms: Some(0),
                refilled_ms: Some(0),
                ..of_shards(1)
            }],
            instants_ms: vec![0, 1, 2, 3, 1000, 1001],
            requests: 6,
            ..base("doublings")
        },
        Setting {
            entities: vec![Entity {
                capacity: 8,
                wcu_milli: 1000,
                began_ms: Some(0),
                refilled_ms: Some(0),
                ..Entity::default()
            }],
            requests: 12,
            ..base("doublings-to-eight")
        },
        Setting {
            entities: vec![Entity {
                old_items: true,
                capacity: 8,
                wcu_milli: 3000,
                began_ms: Some(0),
                refilled_ms: Some(0),
                ..Entity::default()
            }],
            requests: 8,
            ..base("doublings-of-old-items")
        },
        Setting {
            entities: vec![Entity { capacity: 4, ..Entity::default() }],
            instants_ms: LONG_MS.to_vec(),
            skews_ms: skews_ms.clone(),
            requests: 5,
            old_skews_ms: vec![-250, 0, 250],
            budget: Budget { old: 4, ..EVERYTHING },
            ..base("storm-old")
        },
        Setting {
            entities: vec![Entity {
                capacity: 4,
                old_items: true,
                wcu_milli: 2000,
                began_ms: Some(500),
                ..of_shards(1)
            }],
            instants_ms: LONG_MS.to_vec(),
            skews_ms,
            requests: 5,
            old_skews_ms: vec![-250, 250],
            budget: Budget { old: 3, ..EVERYTHING },
            ..base("storm-old-items")
        },
    ];
    alone.into_iter().chain(cascades::large()).collect()
}

/// Every setting.
pub fn all() -> impl Iterator<Item = Setting> {
    small().into_iter().chain(large())
}

/// The setting of that name.
#[must_use]
pub fn named(name: &str) -> Option<Setting> {
    all().find(|setting| setting.name == name)
}
