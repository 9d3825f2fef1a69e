//! `onewindow-soak`: hosts on a network that fails, and what the table's history shows.

use std::{io::IsTerminal as _, process::ExitCode};

use clap::{Parser, Subcommand};
use onewindow_soak::{options, run, worker};

/// Many hosts on one table, with faults on the way; every write is checked.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs a soak. The exit code is 1 if an invariant was broken.
    Run(options::Options),
    /// One host. The soak starts these itself.
    #[command(hide = true)]
    Host(worker::Options),
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    match Arguments::parse().command {
        Command::Run(options) => {
            let is_terminal = std::io::stderr().is_terminal();
            let progress = |answered| {
                if is_terminal {
                    eprint!("\r{answered} of {} acquires ", options.acquires);
                }
            };
            let report = run::run(&options, progress).await?;
            progress(options.acquires);
            print!("{}", report.display(&options));
            Ok(if report.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        Command::Host(options) => {
            worker::run(options).await?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
