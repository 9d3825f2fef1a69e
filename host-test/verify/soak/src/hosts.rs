//! The host processes: they are started, killed, and started again.

use std::process::Stdio;

use anyhow::Context;
use fastrand::Rng;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    sync::mpsc,
};

use crate::options::Options;

/// A line that a host printed, with the host's id.
pub(crate) type Line = (u64, String);

/// A host's process.
struct Host {
    id: u64,
    process: Child,
    /// Whether it has answered anything yet. A host that has not is not killed.
    has_answered: bool,
}

/// The hosts that run.
pub(crate) struct Hosts<'a> {
    options: &'a Options,
    /// The table's URL, through the proxy.
    endpoint: String,
    lines: mpsc::UnboundedSender<Line>,
    running: Vec<Host>,
    /// Hosts that were killed during the load.
    pub(crate) kills: u64,
}

impl<'a> Hosts<'a> {
    /// Starts all hosts; their lines come through the channel.
    pub(crate) fn start_all(
        options: &'a Options,
        endpoint: String,
        rng: &mut Rng,
    ) -> anyhow::Result<(Self, mpsc::UnboundedReceiver<Line>)> {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut hosts = Self { options, endpoint, lines: sender, running: Vec::new(), kills: 0 };
        for index in 0..options.hosts {
            let host = hosts.start(index, rng)?;
            hosts.running.push(host);
        }
        Ok((hosts, receiver))
    }

    /// A host has answered: it may be killed from now on.
    pub(crate) fn has_answered(&mut self, id: u64) {
        self.running.iter_mut().filter(|host| host.id == id).for_each(|host| host.has_answered = true);
    }

    /// Kills all hosts. The channel of their lines ends after the last of them; the kills of the load are
    /// returned.
    pub(crate) async fn stop_all(mut self) -> anyhow::Result<u64> {
        for mut host in self.running.drain(..) {
            host.process.kill().await?;
        }
        Ok(self.kills)
    }

    /// Kills one of the hosts that have answered, and starts another in its place.
    pub(crate) async fn replace_one(&mut self, rng: &mut Rng) -> anyhow::Result<()> {
        let answered =
            (0_u32..).zip(&self.running).filter(|(_, host)| host.has_answered).map(|(index, _)| index);
        let Some(index) = rng.choice(answered.collect::<Vec<_>>()) else { return Ok(()) };
        let host = self.start(index, rng)?;
        let mut killed = std::mem::replace(&mut self.running[usize::try_from(index)?], host);
        if let Some(status) = killed.process.try_wait()? {
            anyhow::bail!("a host ended by itself: {status}");
        }
        killed.process.kill().await?;
        self.kills += 1;
        Ok(())
    }

    /// Starts a host. Its lines come through the channel, whole ones only.
    fn start(&self, index: u32, rng: &mut Rng) -> anyhow::Result<Host> {
        let load = &self.options.load;
        let skew_ms = i64::from(index) % 3 - 1;
        let mut process = Command::new(std::env::current_exe()?)
            .arg("host")
            .args(["--endpoint", &self.endpoint])
            .args(["--seed", &rng.u32(..).to_string()])
            .args(["--skew-ms", &(skew_ms * self.options.skew_ms).to_string()])
            .args(["--callers", &load.callers.to_string()])
            .args(["--entities", &load.entities.to_string()])
            .args(["--era-seconds", &load.era_seconds.to_string()])
            .args(["--capacity", &load.capacity.to_string()])
            .args(["--window-seconds", &load.window_seconds.to_string()])
            .args(["--most-tokens", &load.most_tokens.to_string()])
            .args(["--settled-percent", &load.settled_percent.to_string()])
            .args(load.native.then_some("--native"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("a host cannot be started")?;
        let mut out = BufReader::new(process.stdout.take().context("a host has an output")?);
        let (id, lines) = (rng.u64(..), self.lines.clone());
        tokio::spawn(async move {
            let mut line = String::new();
            while out.read_line(&mut line).await.is_ok_and(|read| read > 0) {
                if line.ends_with('\n') && lines.send((id, line.trim_end().to_owned())).is_err() {
                    break;
                }
                line.clear();
            }
        });
        Ok(Host { id, process, has_answered: false })
    }
}
