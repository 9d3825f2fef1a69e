//! zae-limiter, in a process of its own that does what each line says.

use std::{path::Path, process::Stdio};

use anyhow::Context;
use serde_json::{Value as Json, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
};

use crate::fixture::{CAPACITY, LENGTH_MS, QUOTA, RESOURCE, TABLE};

pub(crate) struct Peer {
    _child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Peer {
    /// Starts it on the table at this URL; and the id of the namespace it registers there.
    pub(crate) async fn start(python: &Path, endpoint: &str) -> anyhow::Result<(Self, String)> {
        let plan = json!({
            "endpoint": endpoint, "table": TABLE, "resource": RESOURCE, "quota": QUOTA, "capacity": CAPACITY,
            "window_seconds": LENGTH_MS / 1000,
        });
        let mut child = Command::new(python)
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/peer/capacity.py"))
            .arg(plan.to_string())
            .env("AWS_ACCESS_KEY_ID", "perf")
            .env("AWS_SECRET_ACCESS_KEY", "perf")
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("{} cannot be started", python.display()))?;
        let input = child.stdin.take().context("a process without an input")?;
        let output = child.stdout.take().context("a process without an output")?;
        let mut peer = Self { _child: child, input, output: BufReader::new(output).lines() };
        let namespace = peer.read().await?["namespace"].as_str().context("no namespace")?.to_owned();
        Ok((peer, namespace))
    }

    pub(crate) async fn ask(&mut self, line: &Json) -> anyhow::Result<Json> {
        self.input.write_all(format!("{line}\n").as_bytes()).await?;
        self.input.flush().await?;
        self.read().await
    }

    async fn read(&mut self) -> anyhow::Result<Json> {
        let line = self.output.next_line().await?.context("the peer ended unasked")?;
        serde_json::from_str(&line).with_context(|| format!("not an answer: {line}"))
    }
}
