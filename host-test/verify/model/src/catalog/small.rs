//! Worlds of one entity, small enough for every order of events.

use super::base::{base, of_shards};
use crate::setting::{Budget, Entity, Setting};

pub(super) fn small() -> Vec<Setting> {
    vec![
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
        // Less than half of the newest shard's write budget came back. The doubling is propagated to the
        // other shard late, twice or not at all.
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
        // Shard 0 was doubled, and dropped before the doubling was propagated to any shard but the new shard 2.
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
            ..base("doubling-unpropagated")
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
        // A window is propagated to a shard whose old balance is larger than its share, and an old writer
        // removes the `vu` that would have stopped a fast write.
        Setting {
            entities: vec![Entity { wide: true, capacity: 4, ..Entity::default() }],
            instants_ms: vec![0],
            skews_ms: vec![0, 0],
            requests: 3,
            old_skews_ms: vec![0],
            budget: Budget { old: 1, ..Budget::default() },
            ..base("old-wide")
        },
        // A client whose clock is behind doubles the count while another opens the next window.
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
        // Leases are settled up or down while the window ends.
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
    ]
}
