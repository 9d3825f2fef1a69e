//! Larger worlds of one entity, in which everything goes wrong at once.

use super::base::{EVERYTHING, LONG_MS, base, of_shards};
use crate::setting::{Budget, Entity, Setting};

pub(super) fn large() -> Vec<Setting> {
    let skews_ms = vec![0, 250, -250];
    vec![
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
    ]
}
