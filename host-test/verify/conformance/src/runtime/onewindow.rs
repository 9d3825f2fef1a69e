//! `onewindow serve`: wasmtime, or the core linked natively.

use std::net::SocketAddr;

use tokio::process::Command;

use super::setup::{DEFAULT_LIMIT, NAMESPACE, Runtime, Setup, beside, with_keys};

/// The command, built beside this one.
pub(super) struct Onewindow {
    pub(super) native: bool,
}

impl Runtime for Onewindow {
    fn name(&self) -> &'static str {
        if self.native { "native" } else { "wasmtime" }
    }

    fn command(&self, setup: &Setup, address: SocketAddr) -> anyhow::Result<Command> {
        let mut command = Command::new(beside("onewindow")?);
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
        if setup.logs_answers {
            command.arg("-vv");
        }
        Ok(command)
    }
}
