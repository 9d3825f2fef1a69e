//! The plan of every process of the fleet.

use serde::{Deserialize, Serialize};

/// The resource of all requests.
pub(crate) const RESOURCE: &str = "gpt-4";
/// The token bucket beside the quota.
pub(crate) const RATE: &str = "rpm";

/// Shared by all processes. Each gets it on its command line, as JSON.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// Where the recorder listens.
    pub(crate) endpoint: String,
    pub(crate) table: String,
    /// The namespace's id.
    pub(crate) namespace: String,
    /// What the entities' names begin with.
    pub(crate) run: String,
    /// When the first period began, epoch ms.
    pub(crate) began_ms: u64,
    /// How long entities are used before new ones replace them, ms.
    pub(crate) period_ms: u64,
    /// Entities at the same time.
    pub(crate) entities: u32,
    /// How many of them debit the first one as well (section 7).
    pub(crate) children: u32,
    /// For how many periods there are records of such entities.
    pub(crate) periods: u64,
    /// The quota: whole tokens, and the window's length.
    pub(crate) capacity: u64,
    pub(crate) window_seconds: u64,
    /// The token bucket: its capacity, and its refill each second.
    pub(crate) rate_capacity: u64,
    /// Whole tokens that a correction adds to what was estimated.
    pub(crate) correction: u64,
    /// How many acquires a second this process aims at.
    pub(crate) rate: f64,
    /// How far this process's clock is off, ms.
    pub(crate) skew_ms: i64,
}

impl Plan {
    /// The entities in use at an instant.
    pub(crate) fn entities_at(&self, now_ms: u64) -> Vec<String> {
        let period = now_ms.saturating_sub(self.began_ms) / self.period_ms.max(1);
        (0..self.entities).map(|index| format!("{}-{period}-{index}", self.run)).collect()
    }
}
