//! `onewindow-soak`: hosts through a network that breaks, and what the table's history says of it.

use std::{io::IsTerminal as _, process::ExitCode};

use clap::{Parser, Subcommand};
use onewindow_soak::{run, worker};

/// Many hosts on one table, with faults on the way; every write is checked.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs a soak; ends with 1 where an invariant was broken.
    Run(run::Options),
    /// One host of it; the soak starts these.
    #[command(hide = true)]
    Host(worker::Options),
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    match Arguments::parse().command {
        Command::Run(options) => {
            let watched = std::io::stderr().is_terminal();
            let progress = |answered| {
                if watched {
                    eprint!("\r{answered} of {} acquires ", options.acquires);
                }
            };
            let report = run::run(&options, progress).await?;
            progress(options.acquires);
            print!("{}", report.of(&options));
            Ok(if report.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        Command::Host(options) => {
            worker::run(options).await?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
