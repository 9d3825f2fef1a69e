//! How a server is started: its settings, and what the runtimes share.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::json;
use tokio::process::Command;

/// The settings of a server.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    /// The DynamoDB endpoint.
    pub(crate) endpoint: String,
    /// The table.
    pub(crate) table: String,
    /// How long a request may wait for the table.
    pub(crate) deadline: Duration,
    /// Whether a request is allowed when the table does not answer.
    pub(crate) allow: bool,
    /// Whether it logs each answer; edge guests always do.
    pub(crate) logs_answers: bool,
    /// A folder for its files; its output goes to `log` in it.
    pub(crate) folder: PathBuf,
}

/// The namespace id of every key.
pub(crate) const NAMESPACE: &str = "conformance";
/// The limit of requests that bring none: the name of a session quota, its tokens, its seconds.
pub(crate) const DEFAULT_LIMIT: (&str, u64, u64) = ("session", 7, 3600);
/// Any region and any keys: the engine checks none.
const REGION: &str = "us-east-1";
const KEY: &str = "conformance";

/// A runtime, and how a server is started on it.
pub(crate) trait Runtime {
    /// Its name in the table of results.
    fn name(&self) -> &'static str;
    /// The command that serves the HTTP surface on `address`.
    fn command(&self, setup: &Setup, address: SocketAddr) -> anyhow::Result<Command>;
}

/// The folder `edge-examples`.
pub(super) fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../edge-examples")
}

/// A program that is built beside this one, or a file.
pub(super) fn beside(name: &str) -> anyhow::Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name(name);
    anyhow::ensure!(path.exists(), "{} is not there; host-test/conformance.sh builds it", path.display());
    Ok(path)
}

/// Sets the keys that AWS's own tools read from the environment.
pub(super) fn with_keys(command: &mut Command) -> &mut Command {
    command.env("AWS_REGION", REGION).env("AWS_ACCESS_KEY_ID", KEY).env("AWS_SECRET_ACCESS_KEY", KEY)
}

/// Sets the environment that every example reads its settings from.
pub(super) fn with_settings<'a>(command: &'a mut Command, setup: &Setup) -> &'a mut Command {
    let (name, capacity, seconds) = DEFAULT_LIMIT;
    let limits = json!([{ "name": name, "capacity": capacity, "reset_after_seconds": seconds }]);
    with_keys(command)
        .env("DYNAMODB_ENDPOINT", &setup.endpoint)
        .env("TABLE", &setup.table)
        .env("NAMESPACE", NAMESPACE)
        .env("LIMITS", limits.to_string())
        .env("DEADLINE_MS", setup.deadline.as_millis().to_string())
        .env("ON_UNAVAILABLE", if setup.allow { "allow" } else { "block" })
        .env("RATELIMIT_FORM", "rt")
}
