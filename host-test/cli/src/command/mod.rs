//! The command line: its subcommands, each in a file of its own.

mod acquire;
mod component;
mod demo;
mod dynamodb;
mod exit;
mod limit;
mod preview;
mod print;
mod refill;
mod serve;
mod stop;
mod store;
mod subject_args;
mod table;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tracing_subscriber::{
    filter::{LevelFilter, Targets},
    fmt::format::FmtSpan,
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

/// Session quotas on sharded DynamoDB balances.
#[derive(Debug, Parser)]
#[command(name = "onewindow", version, propagate_version = true, arg_required_else_help = true)]
struct Cli {
    /// Log more, to standard error; -vvv logs everything.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Play a session on an embedded DynamoDB with a virtual clock, and show what happens.
    Demo(demo::Args),
    /// Serve the HTTP surface: POST /acquire, POST /settle, GET and POST /preview, GET /healthz.
    Serve(serve::Args),
    /// Acquire tokens once. Exit code 0: admitted, 1: rejected, 2: the request failed.
    Acquire(acquire::Args),
    /// Show what is left on each shard, and when each limit resets. Nothing is written.
    Preview(preview::Args),
    /// Consume the table's change stream: refills and resets before they are needed.
    Refill(refill::Args),
    /// Manage the table.
    #[command(subcommand)]
    Table(table::Command),
    /// Write the WebAssembly component that this program carries to a file.
    Component(component::Args),
    /// Run an embedded DynamoDB with the table in it, in memory, for other programs to use.
    Dynamodb(dynamodb::Args),
}

pub(crate) fn run() -> ExitCode {
    let Cli { verbose, command } = Cli::parse();
    log(verbose);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let done = runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(command.run()));
    ExitCode::from(done.unwrap_or_else(|error| {
        print::fault(&error);
        exit::FAULT
    }))
}

impl Command {
    async fn run(self) -> anyhow::Result<u8> {
        match self {
            Self::Demo(args) => args.run().await,
            Self::Serve(args) => args.run().await,
            Self::Acquire(args) => args.run().await,
            Self::Preview(args) => args.run().await,
            Self::Refill(args) => args.run().await,
            Self::Table(command) => command.run().await,
            Self::Component(args) => args.run(),
            Self::Dynamodb(args) => args.run().await,
        }
    }
}

/// The log filter: without `-v` this project's warnings and errors; with `-v` more of its events, with `-vv`
/// also a line for each answer, with `-vvv` the events of all crates.
fn log(verbose: u8) {
    let targets = match verbose {
        0 => Targets::new().with_target("onewindow_host", LevelFilter::WARN),
        1 => Targets::new().with_target("onewindow_host", LevelFilter::INFO),
        2 => Targets::new().with_target("onewindow_host", LevelFilter::DEBUG),
        _ => Targets::new().with_default(LevelFilter::TRACE),
    };
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_span_events(FmtSpan::CLOSE)
        .with_writer(std::io::stderr);
    tracing_subscriber::registry().with(lines).with(targets).init();
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
