//! The Compute service in `fastly/`, in Viceroy.

use std::net::SocketAddr;

use tokio::process::Command;

use super::setup::{Runtime, Setup, beside, examples, with_settings};

/// Viceroy as cargo installs it, and the service's module.
pub(super) struct Fastly;

impl Runtime for Fastly {
    fn name(&self) -> &'static str {
        "fastly"
    }

    fn command(&self, setup: &Setup, address: SocketAddr) -> anyhow::Result<Command> {
        let mut command = Command::new(examples().join("fastly/start.sh"));
        with_settings(&mut command, setup)
            .env("LISTEN", address.to_string())
            .env("MODULE", beside("onewindow-fastly.wasm")?);
        Ok(command)
    }
}
