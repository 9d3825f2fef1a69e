//! Worlds with cascades: `a` and `b` are children of `p`, which may be a child of `g`. `q` is another
//! parent that `a` may change to.

use super::base::{EVERYTHING, LONG_MS, base, of_shards};
use crate::setting::{Budget, Entity, Setting};

/// An unsharded entity in the midst of a window.
fn entity(name: &'static str) -> Entity {
    Entity { name, began_ms: Some(500), ..of_shards(1) }
}

/// A child under the entity at that place.
fn under(parent: u8, name: &'static str) -> Entity {
    Entity { parent: Some(parent), ..entity(name) }
}

/// A child, and a parent that has less.
fn child_and_parent() -> Vec<Entity> {
    vec![under(1, "a"), Entity { capacity: 1, ..entity("p") }]
}

/// Worlds small enough for every order of events.
pub(super) fn small() -> Vec<Setting> {
    vec![
        // Two children and the parent itself contend for the parent's last token.
        Setting {
            entities: vec![under(2, "a"), under(2, "b"), entity("p")],
            asks: vec![0, 1, 2],
            instants_ms: vec![0],
            requests: 2,
            ..base("cascade")
        },
        // Both windows end.
        Setting { entities: child_and_parent(), instants_ms: vec![0, 500], ..base("cascade-boundary") },
        // The parent's window ends in the midst of the child's.
        Setting {
            entities: vec![
                Entity { capacity: 1, length_seconds: 2, ..under(1, "a") },
                Entity { capacity: 1, ..entity("p") },
            ],
            asks: vec![0, 0, 1],
            instants_ms: vec![0, 500],
            ..base("cascade-parent-boundary")
        },
        // The parent is spread over two shards.
        Setting {
            entities: vec![
                Entity { capacity: 1, ..under(1, "a") },
                Entity { shard_count: 2, present: vec![0, 1], ..entity("p") },
            ],
            asks: vec![0, 1],
            instants_ms: vec![0, 500],
            skews_ms: vec![0, 0],
            requests: 2,
            ..base("cascade-shards")
        },
        // A reply is lost, a client dies, between the writes to child and parent and after them.
        Setting {
            entities: child_and_parent(),
            asks: vec![0, 0, 1],
            instants_ms: vec![0, 500],
            budget: Budget { replies: 1, deaths: 1, ..Budget::default() },
            ..base("cascade-lost-replies")
        },
        // The credit that follows it lands late, or is lost as well.
        Setting {
            entities: child_and_parent(),
            instants_ms: vec![0, 500],
            skews_ms: vec![0, 0],
            requests: 2,
            budget: Budget { replies: 1, follow_ups: 1, ..Budget::default() },
            ..base("cascade-lost-credits")
        },
        // A call that was assumed to be lost lands later.
        Setting {
            entities: child_and_parent(),
            instants_ms: vec![0, 500],
            skews_ms: vec![0, 0],
            requests: 2,
            budget: Budget { copies: 1, ..Budget::default() },
            ..base("cascade-late-copies")
        },
        Setting {
            entities: vec![under(1, "a"), under(2, "p"), Entity { capacity: 1, ..entity("g") }],
            asks: vec![0, 1],
            instants_ms: vec![0, 500],
            skews_ms: vec![0, 0],
            requests: 2,
            ..base("cascade-three")
        },
        // The clocks are off.
        Setting {
            entities: child_and_parent(),
            instants_ms: vec![0, 500, 900],
            skews_ms: vec![0, -400],
            requests: 2,
            ..base("cascade-skew")
        },
        // No client knows of the parent before an item names it.
        Setting {
            entities: child_and_parent(),
            knows_parents: false,
            instants_ms: vec![0, 500],
            skews_ms: vec![0, 0],
            requests: 2,
            ..base("cascade-unknown")
        },
        // Nothing is stored but the child's own record.
        Setting {
            entities: vec![
                Entity { shard_count: 2, present: vec![], began_ms: None, ..under(1, "a") },
                Entity { present: vec![], began_ms: None, capacity: 1, ..entity("p") },
            ],
            asks: vec![0, 0, 1],
            instants_ms: vec![0],
            ..base("cascade-first-use")
        },
        // The child changes to another parent meanwhile.
        Setting {
            entities: vec![
                Entity { next_parent: Some(2), shard_count: 2, present: vec![0], ..under(1, "a") },
                Entity { capacity: 1, ..entity("p") },
                Entity { capacity: 1, ..entity("q") },
            ],
            asks: vec![0, 0, 1],
            instants_ms: vec![0],
            budget: Budget { restamps: 1, ..Budget::default() },
            ..base("cascade-restamp")
        },
    ]
}

/// Larger ones.
pub(super) fn large() -> Vec<Setting> {
    let everything = Budget { settlements: 0, restamps: 2, ..EVERYTHING };
    vec![
        // Three clients under one parent, whose own shards open at other times than the children's.
        Setting {
            entities: vec![
                Entity { shard_count: 2, present: vec![0, 1], capacity: 4, ..under(2, "a") },
                Entity { capacity: 3, length_seconds: 2, ..under(2, "b") },
                Entity { shard_count: 2, present: vec![0], capacity: 4, began_ms: Some(800), ..entity("p") },
            ],
            asks: vec![0, 1, 0, 2],
            instants_ms: LONG_MS.to_vec(),
            skews_ms: vec![0, 250, -250, 0],
            requests: 4,
            budget: Budget { restamps: 0, ..everything },
            ..base("storm-cascade")
        },
        // Three levels that clients learn of on the way, and the lowest one's parent changes.
        Setting {
            entities: vec![
                Entity { shard_count: 2, present: vec![1], next_parent: Some(2), ..under(1, "a") },
                Entity { capacity: 4, ..under(3, "p") },
                Entity { capacity: 4, began_ms: Some(900), ..under(3, "q") },
                Entity { shard_count: 2, present: vec![0, 1], capacity: 4, ..entity("g") },
            ],
            asks: vec![0, 0, 2],
            knows_parents: false,
            instants_ms: LONG_MS.to_vec(),
            requests: 5,
            budget: everything,
            ..base("storm-cascade-three")
        },
        // Counts double on both levels.
        Setting {
            entities: vec![
                Entity { capacity: 8, wcu_milli: 2000, ..under(1, "a") },
                Entity { capacity: 8, wcu_milli: 3000, ..entity("p") },
            ],
            asks: vec![0, 0, 1],
            instants_ms: LONG_MS.to_vec(),
            requests: 6,
            budget: Budget { restamps: 0, expiries: 0, ..everything },
            ..base("storm-cascade-doubling")
        },
    ]
}
