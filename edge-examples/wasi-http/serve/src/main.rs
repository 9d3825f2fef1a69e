//! Builds the component beside it, composes it with the core, and serves it: the engine of
//! `wasmtime serve`, in this process.

mod compose;
mod server;

use std::{net::SocketAddr, path::PathBuf};

use anyhow::Context;
use clap::Parser;

/// Composes the component with the core, and serves it.
#[derive(Debug, Parser)]
struct Args {
    /// The core: what `onewindow component FILE` writes.
    #[arg(long, value_name = "FILE", default_value = "onewindow-quota.wasm")]
    core: PathBuf,
    /// Where the composition goes, for any WASI HTTP host.
    #[arg(long, value_name = "FILE", default_value = "limiter.wasm")]
    output: PathBuf,
    /// Only composes.
    #[arg(long)]
    compose_only: bool,
    /// Serves the composition as it is there.
    #[arg(long, conflicts_with = "compose_only")]
    serve_only: bool,
    /// The address to listen on.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let file = args.output.display();
    if !args.serve_only {
        let core = std::fs::read(&args.core).with_context(|| {
            format!("{} is not there; `onewindow component {0}` writes it", args.core.display())
        })?;
        let composed = compose::compose(&compose::build()?, core)?;
        std::fs::write(&args.output, &composed).with_context(|| format!("{file} cannot be written"))?;
        println!("{file}: the component and the core in it, {} bytes", composed.len());
    }
    if args.compose_only {
        return Ok(());
    }
    let composed = std::fs::read(&args.output).with_context(|| format!("{file} cannot be read"))?;
    server::serve(&composed, args.listen).await.map_err(|error| anyhow::anyhow!("{error:?}"))
}
