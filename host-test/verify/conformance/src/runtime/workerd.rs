//! The Worker in `cloudflare/`, in workerd.

use std::net::SocketAddr;

use anyhow::ensure;
use tokio::process::Command;

use super::setup::{Runtime, Setup, examples, with_settings};

/// The binary as npm installs it, and the bundle as `npm run build` makes it.
pub(super) struct Workerd;

impl Runtime for Workerd {
    fn name(&self) -> &'static str {
        "workerd"
    }

    fn command(&self, setup: &Setup, address: SocketAddr) -> anyhow::Result<Command> {
        let folder = examples().join("cloudflare");
        let program = examples().join("node_modules/@cloudflare/workerd-linux-64/bin/workerd");
        for file in [&program, &folder.join("dist/worker.js")] {
            ensure!(file.exists(), "{} is not there; host-test/conformance.sh builds it", file.display());
        }
        let mut command = Command::new(program);
        with_settings(&mut command, setup).current_dir(folder).args([
            "serve",
            "workerd.capnp",
            &format!("--socket-addr=http={address}"),
        ]);
        Ok(command)
    }
}
