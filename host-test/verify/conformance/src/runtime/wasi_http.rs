//! The component in `wasi-http/`, composed with the core, in the engine of `wasmtime serve`.

use std::net::SocketAddr;

use tokio::process::Command;

use super::setup::{Runtime, Setup, beside, with_settings};

/// The tool that serves a composition, and the composition.
pub(super) struct WasiHttp;

impl Runtime for WasiHttp {
    fn name(&self) -> &'static str {
        "wasi-http"
    }

    fn command(&self, setup: &Setup, address: SocketAddr) -> anyhow::Result<Command> {
        let mut command = Command::new(beside("onewindow-wasi-http-serve")?);
        with_settings(&mut command, setup)
            .args(["--serve-only", "--listen", &address.to_string(), "--output"])
            .arg(beside("limiter.wasm")?);
        Ok(command)
    }
}
