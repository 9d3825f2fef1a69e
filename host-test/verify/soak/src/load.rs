//! The load: which entities are hot at a time, and what is asked of them.

use std::time::{SystemTime, UNIX_EPOCH};

use onewindow_host::{Limit, Subject};
use onewindow_model::{quota::LIMIT, setting::Entity};

/// The table.
pub const TABLE: &str = "limits";

/// What every host does.
#[derive(Clone, Debug, clap::Args)]
pub struct Load {
    /// Callers of each host at the same time.
    #[arg(long, default_value_t = 4)]
    pub callers: u32,
    /// Entities that are hot at the same time.
    #[arg(long, default_value_t = 4)]
    pub entities: u64,
    /// Seconds after which new entities replace them.
    #[arg(long, default_value_t = 12)]
    pub era_seconds: u64,
    /// The quota.
    #[arg(long, default_value_t = 300)]
    pub capacity: u64,
    /// The window, seconds.
    #[arg(long, default_value_t = 2)]
    pub window_seconds: u64,
    /// The largest amount of a request, tokens.
    #[arg(long, default_value_t = 4)]
    pub most_tokens: u64,
    /// How many of 100 leases are settled.
    #[arg(long, default_value_t = 15)]
    pub settled_percent: u32,
    /// Hosts link the core. Without this, each process compiles the component.
    #[arg(long)]
    pub native: bool,
}

impl Load {
    /// The quota of every entity.
    #[must_use]
    pub fn limit(&self) -> Limit {
        Limit::session(LIMIT, self.capacity, self.window_seconds)
    }

    /// The entities that are hot at this time.
    #[must_use]
    pub fn subjects(&self, now: SystemTime) -> Vec<Subject> {
        let era = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() / self.era_seconds.max(1);
        (0..self.entities).map(|index| self.named(era, index)).collect()
    }

    /// One of the entities that are hot.
    pub fn subject(&self, now: SystemTime, dice: &mut fastrand::Rng) -> Subject {
        let era = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() / self.era_seconds.max(1);
        self.named(era, dice.u64(..self.entities.max(1)))
    }

    fn named(&self, era: u64, index: u64) -> Subject {
        Subject::new(TABLE, "soak", &format!("user-{era}-{index}"), "resource")
    }

    /// The same quota for the model's ledger.
    #[must_use]
    pub fn entity(&self) -> Entity {
        Entity { capacity: self.capacity, length_seconds: self.window_seconds, ..Entity::default() }
    }
}
