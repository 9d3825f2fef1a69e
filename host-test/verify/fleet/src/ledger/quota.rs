//! The quota on an item.

use crate::history::{Image, number};

/// The name of the quota.
pub(crate) const QUOTA: &str = "session";

/// The numbers of the quota on one item. Balances are millitokens, instants epoch ms.
pub(super) struct Quota {
    pub(super) tokens: i128,
    pub(super) consumed: i128,
    pub(super) capacity: i128,
    pub(super) start: Option<i128>,
    pub(super) marker: Option<i128>,
    pub(super) applied: Option<i128>,
    pub(super) refill: i128,
    pub(super) shard_count: i128,
    pub(super) grant_count: Option<i128>,
    pub(super) length_ms: i128,
}

impl Quota {
    pub(super) fn of(image: &Image) -> Option<Self> {
        let field = |suffix: &str| number(image, &format!("b_{QUOTA}_{suffix}"));
        let refill = number(image, "rf").unwrap_or(0);
        let length = field("rsa");
        // A start without a length is a leftover.
        let start = field("ws").filter(|_| length.is_some());
        let marker = field("wa");
        Some(Self {
            tokens: field("tk")?,
            consumed: field("tc").unwrap_or(0),
            capacity: field("cp").unwrap_or(0),
            start,
            marker,
            applied: marker.or(start.filter(|start| *start <= refill)),
            refill,
            shard_count: number(image, "shard_count").unwrap_or(1).max(1),
            grant_count: field("gc"),
            length_ms: length.unwrap_or(0) * 1000,
        })
    }

    /// Whether a window was propagated to it and not applied yet (R3).
    pub(super) fn is_pending(&self) -> bool {
        self.start.is_some_and(|start| self.applied.is_none_or(|applied| start > applied))
    }

    pub(super) fn share(&self) -> i128 {
        self.capacity.div_euclid(self.shard_count)
    }
}
