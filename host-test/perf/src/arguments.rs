//! The arguments of the command.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// The arguments: what is measured, and how long.
#[derive(Parser)]
pub(crate) struct Arguments {
    /// What to measure; everything if nothing is named.
    #[command(subcommand)]
    pub(crate) what: Option<What>,
    /// A Python that has zae-limiter 0.17.0.
    #[arg(long, global = true, default_value = "python3")]
    pub(crate) python: PathBuf,
    /// The folder in which criterion left its estimates.
    #[arg(long, global = true, default_value = "target/criterion")]
    pub(crate) criterion: PathBuf,
    /// The folder for the plots.
    #[arg(long, global = true, default_value = "host-test/perf/plots")]
    pub(crate) plots: PathBuf,
    /// How long each phase of a load lasts, s.
    #[arg(long, global = true, default_value_t = 3.0)]
    pub(crate) seconds: f64,
    /// Rounds of the measurements end to end; the median is reported.
    #[arg(long, global = true, default_value_t = 5)]
    pub(crate) rounds: usize,
}

#[derive(Clone, Copy, Subcommand)]
pub(crate) enum What {
    /// A decision without the network, natively and through the component.
    Decisions,
    /// The size of the component, and what it consists of.
    Size,
    /// Compiling, deserialising and instantiating the component.
    Start,
    /// Acquires end to end: ours, zae-limiter's and the bare update.
    Load,
    /// The cost of the first answer after a window has ended.
    Ends,
    /// How cost grows with shards, limits, entities and open windows.
    Growth,
    /// Requests and capacity units, and the cost of a month.
    Capacity,
    /// The embedded engine in a process of its own.
    #[command(hide = true)]
    Engine,
    /// A client of ours in a process of its own.
    #[command(hide = true)]
    Client,
}

impl What {
    pub(crate) const ALL: [What; 7] =
        [What::Decisions, What::Size, What::Start, What::Load, What::Ends, What::Growth, What::Capacity];
}
