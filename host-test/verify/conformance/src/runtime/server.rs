//! A server under test: its process, and what it logs.

use std::{
    fs::File,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::PathBuf,
    process::Stdio,
    time::Duration,
};

use anyhow::{Context, bail};
use tokio::process::Child;

use super::setup::{Runtime, Setup};

/// A server that runs as long as this value lives.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) log: PathBuf,
    child: Child,
}

impl Server {
    /// Starts a server, and waits until it answers.
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
                bail!("{name} ended with {status}: {}", self.output());
            }
            let health = http.get(format!("{}/healthz", self.url)).send().await;
            if health.is_ok_and(|health| health.status() == 200) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        bail!("{name} does not answer /healthz within a minute: {}", self.output())
    }

    /// What it wrote to its standard output and error so far.
    pub(crate) fn output(&self) -> String {
        let output = std::fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&output).into_owned()
    }

    /// Its resident memory, KiB; none where the system does not report it.
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
