//! The Worker in `cloudflare/`, in workerd.

use std::net::SocketAddr;

use anyhow::ensure;
use serde_json::json;
use tokio::process::Command;

use super::{DEFAULT_LIMIT, NAMESPACE, Runtime, Setup, examples, with_keys};

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
            ensure!(file.exists(), "{} is not there; edge-examples/conformance.sh makes it", file.display());
        }
        let (name, capacity, seconds) = DEFAULT_LIMIT;
        let limits = json!([{ "name": name, "capacity": capacity, "resetAfterSeconds": seconds }]);
        let mut command = Command::new(program);
        with_keys(&mut command)
            .current_dir(folder)
            .args(["serve", "workerd.capnp", &format!("--socket-addr=http={address}")])
            .env("DYNAMODB_ENDPOINT", &setup.endpoint)
            .env("TABLE", &setup.table)
            .env("NAMESPACE", NAMESPACE)
            .env("LIMITS", limits.to_string())
            .env("DEADLINE_MS", setup.deadline.as_millis().to_string())
            .env("ON_UNAVAILABLE", if setup.allow { "allow" } else { "block" })
            .env("RATELIMIT_FORM", "rt");
        Ok(command)
    }
}
