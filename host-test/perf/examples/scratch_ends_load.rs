#![allow(dead_code)]
#[path = "../src/bed.rs"]
mod bed;
#[path = "../src/client.rs"]
mod client;
#[path = "../src/ends.rs"]
mod ends;
#[path = "../src/load.rs"]
mod load;
#[path = "../src/table.rs"]
mod table;
use clap::{Parser, Subcommand};
use std::path::PathBuf;
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    what: What,
    #[arg(long, global = true, default_value = "python3")]
    python: PathBuf,
    #[arg(long, global = true, default_value_t = 3.0)]
    seconds: f64,
    #[arg(long, global = true, default_value_t = 5)]
    rounds: usize,
}
#[derive(Clone, Copy, Subcommand)]
enum What {
    Load,
    Ends,
    Engine,
    Client,
}
#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    match arguments.what {
        What::Load => load::run(&arguments).await,
        What::Ends => ends::run(&arguments).await,
        What::Engine => bed::engine().await,
        What::Client => client::run().await,
    }
}
