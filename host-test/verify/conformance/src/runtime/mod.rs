//! The runtimes under test: how each is started. A new one is a file here and a line in [`all`].

mod fastly;
mod onewindow;
mod wasi_http;
mod workerd;

use std::{
    fs::File,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use anyhow::{Context, bail};
use serde_json::json;
use tokio::process::{Child, Command};

/// What a server is to be started with.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    /// The DynamoDB endpoint.
    pub(crate) endpoint: String,
    /// The table.
    pub(crate) table: String,
    /// How long a request may wait for the table.
    pub(crate) deadline: Duration,
    /// Whether a request is let through where the table does not answer.
    pub(crate) allow: bool,
    /// Whether a line of its output tells of each answer; edge guests always do.
    pub(crate) tell: bool,
    /// A folder for its files; its output goes to `log` in it.
    pub(crate) folder: PathBuf,
}

/// The namespace id of every key.
pub(crate) const NAMESPACE: &str = "conformance";
/// The limit of requests that bring none: a session quota by this name, of so many tokens, for so
/// many seconds.
pub(crate) const DEFAULT_LIMIT: (&str, u64, u64) = ("session", 7, 3600);
/// Any region and any keys: the engine checks none.
pub(crate) const REGION: &str = "us-east-1";
pub(crate) const KEY: &str = "conformance";

/// A runtime, and how a server is started on it.
pub(crate) trait Runtime {
    /// What the table of results calls it.
    fn name(&self) -> &'static str;
    /// The command that serves the HTTP surface on `address`.
    fn command(&self, setup: &Setup, address: SocketAddr) -> anyhow::Result<Command>;
}

/// Every runtime there is.
pub(crate) fn all() -> Vec<Box<dyn Runtime>> {
    vec![
        Box::new(onewindow::Onewindow { native: false }),
        Box::new(onewindow::Onewindow { native: true }),
        Box::new(wasi_http::WasiHttp),
        Box::new(workerd::Workerd),
        Box::new(fastly::Fastly),
    ]
}

/// A server that runs as long as this value lives.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) log: PathBuf,
    child: Child,
}

impl Server {
    /// Starts one, and waits until it answers.
    pub(crate) async fn start(runtime: &dyn Runtime, setup: &Setup) -> anyhow::Result<Self> {
        let name = runtime.name();
        std::fs::create_dir_all(&setup.folder)?;
        let address = free_address()?;
        let log = setup.folder.join("log");
        let output = File::create(&log)?;
        let child = runtime
            .command(setup, address)?
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("{name} cannot be started"))?;
        let mut server = Self { url: format!("http://{address}"), log, child };
        server.ready(name).await?;
        Ok(server)
    }

    async fn ready(&mut self, name: &str) -> anyhow::Result<()> {
        let http = reqwest::Client::builder().no_proxy().build()?;
        for _ in 0..600 {
            if let Some(status) = self.child.try_wait()? {
                bail!("{name} ended with {status}: {}", self.said());
            }
            let health = http.get(format!("{}/healthz", self.url)).send().await;
            if health.is_ok_and(|health| health.status() == 200) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        bail!("{name} does not answer /healthz within a minute: {}", self.said())
    }

    /// What it wrote to its standard output and error.
    pub(crate) fn said(&self) -> String {
        let said = std::fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&said).into_owned()
    }

    /// Its resident memory, KiB; none where the system does not tell.
    pub(crate) fn resident_kib(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()?)).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        line.split_whitespace().next()?.parse().ok()
    }
}

/// A port that was free a moment ago.
fn free_address() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}

/// The folder `edge-examples`.
fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../edge-examples")
}

/// A program that is built beside this one, or a file.
fn beside(name: &str) -> anyhow::Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name(name);
    anyhow::ensure!(path.exists(), "{} is not there; host-test/conformance.sh makes it", path.display());
    Ok(path)
}

/// The environment with the keys that AWS's own tools read.
fn with_keys(command: &mut Command) -> &mut Command {
    command.env("AWS_REGION", REGION).env("AWS_ACCESS_KEY_ID", KEY).env("AWS_SECRET_ACCESS_KEY", KEY)
}

/// The environment that sets up every example.
fn with_settings<'a>(command: &'a mut Command, setup: &Setup) -> &'a mut Command {
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
