//! What onewindow costs, side by side in one run: `host-test/perf.sh` runs all of it and prints the
//! tables that `host-test/perf/README.md` shows.

mod allocations;
mod bed;
mod capacity;
mod client;
mod decisions;
mod ends;
mod growth;
mod instance;
mod load;
mod meter;
mod scene;
mod size;
mod start;
mod table;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[global_allocator]
static MEMORY: allocations::Counted = allocations::Counted;

/// Where the figures come from, and which.
#[derive(Parser)]
struct Arguments {
    /// What to measure; all of it where nothing is named.
    #[command(subcommand)]
    what: Option<What>,
    /// A Python that has zae-limiter 0.17.0.
    #[arg(long, global = true, default_value = "python3")]
    python: PathBuf,
    /// The folder in which criterion left its estimates.
    #[arg(long, global = true, default_value = "target/criterion")]
    criterion: PathBuf,
    /// The folder for the plots.
    #[arg(long, global = true, default_value = "host-test/perf/plots")]
    plots: PathBuf,
    /// How long each phase of a load lasts, s.
    #[arg(long, global = true, default_value_t = 3.0)]
    seconds: f64,
    /// How often everything end to end is repeated, in turns; what is told is the median.
    #[arg(long, global = true, default_value_t = 5)]
    rounds: usize,
}

#[derive(Clone, Copy, Subcommand)]
enum What {
    /// A decision without the network, natively and through the component.
    Decisions,
    /// What the component weighs, and what with.
    Size,
    /// Compiling, deserialising and instantiating the component.
    Start,
    /// Acquires end to end: ours, zae-limiter's and the bare update.
    Load,
    /// What it takes to answer when a window has ended.
    Ends,
    /// How cost grows with shards, limits, entities and open windows.
    Growth,
    /// Requests and capacity units, and what a month costs.
    Capacity,
    /// The embedded engine in a process of its own.
    #[command(hide = true)]
    Engine,
    /// A client of ours in a process of its own.
    #[command(hide = true)]
    Client,
}

impl What {
    const ALL: [What; 7] =
        [What::Decisions, What::Size, What::Start, What::Load, What::Ends, What::Growth, What::Capacity];
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    match arguments.what {
        Some(what) => run(what, &arguments).await,
        None => {
            for what in What::ALL {
                run(what, &arguments).await?;
            }
            Ok(())
        }
    }
}

async fn run(what: What, arguments: &Arguments) -> Result<()> {
    match what {
        What::Decisions => decisions::run(arguments),
        What::Size => size::run(),
        What::Start => start::run(),
        What::Load => load::run(arguments).await,
        What::Ends => ends::run(arguments).await,
        What::Growth => growth::run(arguments).await,
        What::Capacity => capacity::run(arguments).await,
        What::Engine => bed::engine().await,
        What::Client => client::run().await,
    }
}
