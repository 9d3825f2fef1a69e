//! The one quota that every entity has: its names in the table, and its numbers on an item.

use crate::store::{Item, Value};

/// The table every world has.
pub const TABLE: &str = "t";
/// The name of the quota every entity has.
pub const LIMIT: &str = "q";

/// The stored name of one of the quota's attributes: `tk` is `b_q_tk`.
#[must_use]
pub fn attribute(field: &str) -> String {
    format!("b_{LIMIT}_{field}")
}

/// One of the quota's numbers; none: the item has no such attribute.
#[must_use]
pub fn number(item: &Item, field: &str) -> Option<i128> {
    match item.get(attribute(field).as_str()) {
        Some(Value::Number(number)) => Some(*number),
        _ => None,
    }
}

/// The numbers of the quota on one item. Balances are millitokens, instants epoch ms.
pub(crate) struct Quota {
    pub(crate) tokens: i128,
    pub(crate) consumed: i128,
    pub(crate) start: Option<i128>,
    pub(crate) marker: Option<i128>,
    /// The start its balance reflects.
    pub(crate) applied: Option<i128>,
    pub(crate) refill: i128,
    /// How many shards its grant was sized for.
    pub(crate) granted: i128,
}

impl Quota {
    pub(crate) fn of(item: &Item) -> Self {
        let refill = match item.get("rf") {
            Some(Value::Number(refill)) => *refill,
            _ => 0,
        };
        let start = number(item, "ws");
        let marker = number(item, "wa");
        Self {
            tokens: number(item, "tk").unwrap_or(0),
            consumed: number(item, "tc").unwrap_or(0),
            start,
            marker,
            applied: marker.or(start.filter(|start| *start <= refill)),
            refill,
            granted: number(item, "gc").unwrap_or(1),
        }
    }

    /// Whether a window was propagated to it and not applied yet (R3).
    pub(crate) fn is_pending(&self) -> bool {
        self.start.is_some_and(|start| self.applied.is_none_or(|applied| start > applied))
    }
}
