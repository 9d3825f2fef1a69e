//! Worlds in which entities debit others besides: children `a` and `b` under `p`, which may be under
//! `g`; `q` is another parent that `a` may come under.

use super::base;
use crate::{entity::Entity, event::Budget, setting::Setting};

/// An unsharded entity in the midst of a window.
fn entity(name: &'static str) -> Entity {
    Entity { name, shard_count: 1, present: vec![0], began_ms: Some(500), ..Entity::default() }
}

/// A child under the entity at that place.
fn under(parent: u8, name: &'static str) -> Entity {
    Entity { parent: Some(parent), ..entity(name) }
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
        Setting {
            entities: vec![under(1, "a"), Entity { capacity: 1, ..entity("p") }],
            instants_ms: vec![0, 500],
            ..base("cascade-boundary")
        },
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
            entities: vec![under(1, "a"), Entity { capacity: 1, ..entity("p") }],
            asks: vec![0, 0, 1],
            instants_ms: vec![0, 500],
            skews_ms: vec![0, 0],
            requests: 2,
            budget: Budget { replies: 1, deaths: 1, ..Budget::default() },
            ..base("cascade-lost-replies")
        },
        Setting {
            entities: vec![under(1, "a"), Entity { capacity: 1, ..entity("p") }],
            instants_ms: vec![0, 500],
            skews_ms: vec![0, 0],
            requests: 2,
            budget: Budget { copies: 1, follow_ups: 1, replies: 1, ..Budget::default() },
            ..base("cascade-late-copies")
        },
        Setting {
            entities: vec![under(1, "a"), under(2, "p"), Entity { capacity: 1, ..entity("g") }],
            asks: vec![0, 1, 2],
            instants_ms: vec![0],
            ..base("cascade-three")
        },
        // Nobody knows of the parent before an item names it.
        Setting {
            entities: vec![under(1, "a"), Entity { capacity: 1, ..entity("p") }],
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
        // The child comes under another parent meanwhile.
        Setting {
            entities: vec![
                Entity { next_parent: Some(2), shard_count: 2, present: vec![0], ..under(1, "a") },
                Entity { capacity: 1, ..entity("p") },
                Entity { capacity: 1, ..entity("q") },
            ],
            instants_ms: vec![0],
            skews_ms: vec![0, 0],
            requests: 2,
            budget: Budget { restamps: 1, ..Budget::default() },
            ..base("cascade-restamp")
        },
    ]
}

/// Larger ones.
pub(super) fn large() -> Vec<Setting> {
    vec![]
}
