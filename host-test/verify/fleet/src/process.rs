//! The processes: they are started, read from, killed, and started again.

use std::{
    io::{BufRead as _, BufReader, Lines, Write as _},
    path::PathBuf,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use anyhow::Context;
use serde_json::Value;

use crate::{ledger::Kind, plan::Plan};

/// Where the other implementation is installed.
#[derive(Clone, Debug)]
pub(crate) struct Pythons {
    pub(crate) script: PathBuf,
    /// The interpreter that has 0.17.0, and the one that has 0.14.0.
    pub(crate) current: PathBuf,
    pub(crate) old: PathBuf,
}

/// What a worker has printed so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress {
    /// Counts of the processes that ended.
    before: [u64; 3],
    /// Counts of the one that runs: acquires, admitted, rejected.
    now: [u64; 3],
    pub(crate) errors: Vec<String>,
}

impl Progress {
    /// Acquires, admitted, rejected.
    pub(crate) fn total(&self) -> [u64; 3] {
        std::array::from_fn(|index| self.before[index] + self.now[index])
    }
}

/// A worker of the fleet; after a kill another process takes its place.
pub(crate) struct Worker {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) plan: Plan,
    pub(crate) kills: u64,
    pub(crate) progress: Arc<Mutex<Progress>>,
    child: Option<Child>,
}

impl Worker {
    pub(crate) fn new(kind: Kind, number: usize, plan: Plan) -> Self {
        let name = format!("{}-{number}", kind.name());
        Self { name, kind, plan, kills: 0, progress: Arc::default(), child: None }
    }

    pub(crate) fn begin(&mut self, pythons: &Pythons) -> anyhow::Result<()> {
        let role = match self.kind {
            Kind::Ours => None,
            Kind::Old => Some((&pythons.old, "old")),
            Kind::Sync => Some((&pythons.current, "sync")),
            Kind::Async | Kind::Operator => Some((&pythons.current, "async")),
        };
        let mut command = command(pythons, role, &self.plan)?;
        let mut child = command
            .env("AWS_ACCESS_KEY_ID", &self.name)
            .spawn()
            .with_context(|| format!("{} cannot be started", self.name))?;
        let output = child.stdout.take().context("a worker without an output")?;
        let progress = Arc::clone(&self.progress);
        thread::spawn(move || follow(output, &progress));
        self.child = Some(child);
        Ok(())
    }

    /// Kills it with SIGKILL: what it was doing stays half done.
    pub(crate) fn kill(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        // It may have ended already.
        let _ = child.kill().and_then(|()| child.wait());
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.before = progress.total();
        progress.now = [0; 3];
    }

    /// Whether it ended by itself, which no worker should do.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(Some(_))))
    }
}

fn follow(output: ChildStdout, progress: &Mutex<Progress>) {
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
        if message["acquires"].is_u64() {
            progress.now =
                ["acquires", "admitted", "rejected"].map(|name| message[name].as_u64().unwrap_or(0));
        } else {
            progress.errors.push(line);
        }
    }
}

/// Our own executable, or a Python script in a role.
fn command(pythons: &Pythons, role: Option<(&PathBuf, &str)>, plan: &Plan) -> anyhow::Result<Command> {
    let plan = serde_json::to_string(plan)?;
    let mut command = match role {
        None => {
            let mut command = Command::new(std::env::current_exe()?);
            command.arg("worker").arg(plan);
            command
        }
        Some((python, role)) => {
            let mut command = Command::new(python);
            command.arg(&pythons.script).arg(role).arg(plan);
            command
        }
    };
    command
        .env("AWS_SECRET_ACCESS_KEY", "fleet")
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    Ok(command)
}

/// A Python process that answers line by line.
pub(crate) struct Peer {
    _child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Peer {
    pub(crate) fn begin(pythons: &Pythons, role: &str, plan: &Plan) -> anyhow::Result<Self> {
        let mut child = command(pythons, Some((&pythons.current, role)), plan)?
            .env("AWS_ACCESS_KEY_ID", format!("operator-{role}"))
            .spawn()
            .with_context(|| format!("{} cannot be started", pythons.current.display()))?;
        let input = child.stdin.take().context("a process without an input")?;
        let output = child.stdout.take().context("a process without an output")?;
        Ok(Self { _child: child, input, output: BufReader::new(output).lines() })
    }

    pub(crate) fn read(&mut self) -> anyhow::Result<Value> {
        let line = tokio::task::block_in_place(|| self.output.next())
            .context("the other implementation ended by itself")??;
        serde_json::from_str(&line).with_context(|| format!("not an answer: {line}"))
    }

    pub(crate) fn ask(&mut self, line: &str) -> anyhow::Result<Value> {
        self.input.write_all(format!("{line}\n").as_bytes())?;
        self.input.flush()?;
        self.read()
    }
}
