//! What onewindow costs, beside zae-limiter and the bare update. `host-test/perf.sh` runs all of it and prints
//! the tables of `host-test/perf/README.md`.

mod allocations;
mod arguments;
mod capacity;
#[path = "../benches/cases/mod.rs"]
mod cases;
mod client;
mod decisions;
mod ends;
mod fixture;
mod growth;
mod instance;
mod load;
mod meter;
mod processes;
mod protocol;
mod size;
mod start;
mod table;

use anyhow::Result;
use clap::Parser as _;

use arguments::{Arguments, What};

#[global_allocator]
static MEMORY: allocations::Counted = allocations::Counted;

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
        What::Engine => processes::engine().await,
        What::Client => client::run().await,
    }
}
