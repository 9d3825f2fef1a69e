//! `onewindow serve`: wasmtime, or the core linked natively.

use std::net::SocketAddr;

use anyhow::Context;
use tokio::process::Command;

use super::{DEFAULT_LIMIT, NAMESPACE, Runtime, Setup, with_keys};

/// The command, built beside this one.
pub(super) struct Onewindow {
    pub(super) native: bool,
}

impl Runtime for Onewindow {
    fn name(&self) -> &'static str {
        if self.native { "native" } else { "wasmtime" }
    }

    fn command(&self, setup: &Setup, address: SocketAddr) -> anyhow::Result<Command> {
        let beside = std::env::current_exe()?.with_file_name("onewindow");
        let program = beside.canonicalize().with_context(|| {
            format!("{} is not there; it is built by `cargo build -p onewindow-host`", beside.display())
        })?;
        let mut command = Command::new(program);
        let (name, capacity, seconds) = DEFAULT_LIMIT;
        with_keys(&mut command)
            .args(["serve", "--listen", &address.to_string(), "--endpoint", &setup.endpoint])
            .args(["--table", &setup.table, "--namespace", NAMESPACE])
            .args(["--limit", &format!("{name}={capacity}/{seconds}s")])
            .args(["--deadline-ms", &setup.deadline.as_millis().to_string()])
            .args(["--on-unavailable", if setup.allow { "allow" } else { "block" }]);
        if self.native {
            command.arg("--native");
        }
        Ok(command)
    }
}
