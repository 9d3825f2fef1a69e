//! The options of a soak.

use crate::load::Load;

/// The options of a soak.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Host processes.
    #[arg(long, default_value_t = 8)]
    pub hosts: u32,
    /// The soak ends after this many answers to callers.
    #[arg(long, default_value_t = 200_000)]
    pub acquires: u64,
    /// Each kind of fault happens to this many of 1000 requests.
    #[arg(long, default_value_t = 4)]
    pub faults_per_mille: u32,
    /// Milliseconds between kills: one of the hosts that have answered is killed, and started again.
    #[arg(long, default_value_t = 1500)]
    pub kill_every_ms: u64,
    /// Milliseconds between the times at which the write budget of a hot shard is spent, so that its count doubles.
    #[arg(long, default_value_t = 400)]
    pub spend_every_ms: u64,
    /// How far hosts' clocks are off at most, either way, ms.
    #[arg(long, default_value_t = 200)]
    pub skew_ms: i64,
    /// Another seed is another run.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// What every host does.
    #[command(flatten)]
    pub load: Load,
}
