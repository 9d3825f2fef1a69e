//! The processes of the measurements end to end. The embedded engine and each client have a process of their
//! own, so that a client's CPU time is the client's alone.

use std::{path::Path, process::Stdio, time::Instant};

use anyhow::{Context, bail};
use onewindow::{Call, Reply, Resend};
use onewindow_host::{Client, Cost, Embedded, table};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value as Json, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
};

use crate::protocol::{CAPACITY, Implementation, PATIENCE, Target, Task, WINDOW_SECONDS};

/// A process that answers line by line, until its input ends.
pub(crate) struct Process {
    _child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Process {
    fn begin(command: &mut Command) -> anyhow::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let name = command.as_std().get_program().to_owned();
        let mut child = command.spawn().with_context(|| format!("{} cannot be started", name.display()))?;
        let input = child.stdin.take().context("a process without an input")?;
        let output = child.stdout.take().context("a process without an output")?;
        Ok(Self { _child: child, input, output: BufReader::new(output).lines() })
    }

    async fn write(&mut self, message: &impl Serialize) -> anyhow::Result<()> {
        self.input.write_all(format!("{}\n", serde_json::to_string(message)?).as_bytes()).await?;
        Ok(self.input.flush().await?)
    }

    async fn read<T: DeserializeOwned>(&mut self) -> anyhow::Result<T> {
        let line = self.output.next_line().await?.context("a process ended by itself")?;
        serde_json::from_str(&line).with_context(|| format!("not an answer: {line}"))
    }

    pub(crate) async fn ask<T: DeserializeOwned>(&mut self, task: &Task) -> anyhow::Result<T> {
        self.write(task).await?;
        self.read().await
    }
}

/// The engine, with a table that zae-limiter configured.
pub(crate) struct EngineProcess {
    _engine: Process,
    pub(crate) target: Target,
    /// Writes items, without a measured client.
    client: Client,
}

impl EngineProcess {
    pub(crate) async fn new(python: &Path) -> anyhow::Result<Self> {
        let mut engine = Process::begin(this_program()?.arg("engine"))?;
        let mut target: Target = engine.read().await?;
        let mut setup = Process::begin(&mut peer(python))?;
        setup.write(&target).await?;
        let answer: Json = setup.read().await?;
        target.namespace = answer["namespace"].as_str().context("no namespace")?.into();
        Ok(Self { _engine: engine, client: target.client()?, target })
    }

    /// A client's process.
    pub(crate) async fn begin(&self, who: Implementation, python: &Path) -> anyhow::Result<Process> {
        let mut process = match who {
            Implementation::Sync | Implementation::Async => Process::begin(&mut peer(python))?,
            Implementation::Bare | Implementation::Native | Implementation::Component => {
                Process::begin(this_program()?.arg("client"))?
            }
        };
        let who = json!(who).as_str().unwrap_or_default().into();
        process.write(&Target { who, ..self.target.clone() }).await?;
        Ok(process)
    }

    /// Writes all shards of a bucket, each with its share, in a window that began at this instant.
    pub(crate) async fn put_shards(
        &self,
        entity: &str,
        shard_count: u32,
        began_ms: u64,
    ) -> anyhow::Result<()> {
        for shard in 0..shard_count {
            let item = self.shard(entity, shard, shard_count, began_ms);
            let body = json!({ "TableName": self.target.table, "Item": item }).to_string();
            perform(&self.client, Call { operation: "PutItem", body, resend: Resend::Idempotent }).await?;
        }
        Ok(())
    }

    fn shard(&self, entity: &str, shard: u32, shard_count: u32, began_ms: u64) -> Json {
        let Target { namespace, resource, quota, .. } = &self.target;
        let number = |number: u64| json!({ "N": number.to_string() });
        let mut item = json!({
            "PK": { "S": self.target.subject(entity).bucket_pk(shard) }, "SK": { "S": "#STATE" },
            "entity_id": { "S": entity }, "resource": { "S": resource }, "cascade": { "BOOL": false },
            "GSI2PK": { "S": format!("{namespace}/RESOURCE#{resource}") },
            "GSI2SK": { "S": format!("BUCKET#{entity}#{shard}") },
            "GSI3PK": { "S": format!("{namespace}/ENTITY#{entity}") },
            "GSI3SK": { "S": format!("BUCKET#{resource}#{shard}") },
            "GSI4PK": { "S": namespace }, "GSI4SK": { "S": format!("BUCKET#{entity}#{resource}#{shard}") },
            "rf": number(began_ms), "vu": number(began_ms + WINDOW_SECONDS * 1000),
            "shard_count": number(shard_count.into()), "ttl": number(began_ms / 1000 + 7 * WINDOW_SECONDS),
            "b_wcu_tk": number(1_000_000), "b_wcu_cp": number(1_000_000), "b_wcu_ra": number(1_000_000),
            "b_wcu_rp": number(1000), "b_wcu_tc": number(0),
        });
        for (field, value) in [
            ("tk", CAPACITY * 1000 / u64::from(shard_count)),
            ("cp", CAPACITY * 1000),
            ("ra", 0),
            ("rp", 1000),
            ("tc", 0),
            ("rsa", WINDOW_SECONDS),
            ("ws", began_ms),
            ("wa", began_ms),
            ("gc", shard_count.into()),
        ] {
            item[format!("b_{quota}_{field}")] = number(value);
        }
        item
    }
}

/// The engine's process: it prints where the table is, and runs until its input ends.
pub(crate) async fn engine() -> anyhow::Result<()> {
    let database = Embedded::in_memory().await?;
    let target = Target {
        who: "setup".into(),
        endpoint: database.endpoint(),
        table: "limits".into(),
        namespace: "default".into(),
        resource: "gpt-4".into(),
        quota: "session".into(),
        capacity: CAPACITY,
        window_seconds: WINDOW_SECONDS,
    };
    table::create(&target.client()?, &target.table, false, PATIENCE).await?;
    println!("{}", serde_json::to_string(&target)?);
    std::io::stdin().lines().count();
    Ok(())
}

/// The reply to one call, which must succeed.
pub(crate) async fn perform(client: &Client, call: Call) -> anyhow::Result<Reply> {
    let operation = call.operation;
    match client.perform(&[call], Instant::now() + PATIENCE, &mut Cost::default()).await.pop() {
        Some(reply @ Reply::Http { status: 200, .. }) => Ok(reply),
        other => bail!("{operation}: {other:?}"),
    }
}

fn this_program() -> anyhow::Result<Command> {
    Ok(Command::new(std::env::current_exe()?))
}

fn peer(python: &Path) -> Command {
    let mut command = Command::new(python);
    command
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/peer/client.py"))
        .env("AWS_ACCESS_KEY_ID", "perf")
        .env("AWS_SECRET_ACCESS_KEY", "perf")
        .env("AWS_EC2_METADATA_DISABLED", "true");
    command
}
