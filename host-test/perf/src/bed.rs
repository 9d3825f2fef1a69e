//! The bed of the measurements end to end: the embedded engine and each client in a process of its own,
//! so that what a client's process takes is the client's alone.

use std::{
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use onewindow::{Call, Reply, Resend, Subject};
use onewindow_host::{Client, ClientConfig, Cost, Credentials, Embedded, table};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value as Json, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
};

/// No answer is worth waiting for longer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
/// A quota that is never used up, of five hours.
pub(crate) const CAPACITY: u64 = 1_000_000_000;
pub(crate) const WINDOW_SECONDS: u64 = 18_000;

/// Who is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Who {
    /// The update that an acquire would make, prepared, through the same client: no deciding.
    Bare,
    Native,
    Component,
    /// zae-limiter's synchronous form.
    Sync,
    /// Its asynchronous form.
    Async,
}

impl Who {
    pub(crate) const ALL: [Self; 5] = [Self::Bare, Self::Native, Self::Component, Self::Sync, Self::Async];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare update",
            Self::Native => "onewindow, native",
            Self::Component => "onewindow, component",
            Self::Sync => "zae-limiter, sync",
            Self::Async => "zae-limiter, async",
        }
    }

    pub(crate) const fn is_ours(self) -> bool {
        matches!(self, Self::Native | Self::Component)
    }

    pub(crate) const fn is_peers(self) -> bool {
        matches!(self, Self::Sync | Self::Async)
    }
}

/// Where the table is, and who to be: the first line that a client reads.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Place {
    who: String,
    endpoint: String,
    table: String,
    namespace: String,
    resource: String,
    pub(crate) quota: String,
    capacity: u64,
    window_seconds: u64,
}

impl Place {
    pub(crate) fn who(&self) -> anyhow::Result<Who> {
        Ok(serde_json::from_value(json!(self.who))?)
    }

    pub(crate) fn client(&self) -> anyhow::Result<Client> {
        let config = ClientConfig::new(&self.endpoint, "us-east-1", Credentials::unchecked());
        Ok(Client::new(ClientConfig { connect_timeout: PATIENCE, attempt_timeout: PATIENCE, ..config })?)
    }

    pub(crate) fn subject(&self, entity: &str) -> Subject {
        Subject::new(&self.table, &self.namespace, entity, &self.resource)
    }
}

/// What a client is asked for, one line each.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Ask {
    /// One acquire, to get to know the entity.
    Debit { entity: String },
    /// Acquires for some seconds, by clients at the same time: the entities of each, taken in turn.
    Load { clients: Vec<Vec<String>>, seconds: f64 },
    /// One acquire, counted; `cold`: by a process that has just started.
    End { entity: String, cold: bool },
    /// Decisions without the network.
    Decide { entity: String, times: u32 },
}

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

    async fn tell(&mut self, told: &impl Serialize) -> anyhow::Result<()> {
        self.input.write_all(format!("{}\n", serde_json::to_string(told)?).as_bytes()).await?;
        Ok(self.input.flush().await?)
    }

    async fn hear<T: DeserializeOwned>(&mut self) -> anyhow::Result<T> {
        let line = self.output.next_line().await?.context("a process ended unasked")?;
        serde_json::from_str(&line).with_context(|| format!("not an answer: {line}"))
    }

    pub(crate) async fn ask<T: DeserializeOwned>(&mut self, ask: &Ask) -> anyhow::Result<T> {
        self.tell(ask).await?;
        self.hear().await
    }
}

/// The engine, with a table that zae-limiter configured.
pub(crate) struct Bed {
    _engine: Process,
    pub(crate) place: Place,
    /// Puts things in place.
    client: Client,
}

impl Bed {
    pub(crate) async fn new(python: &Path) -> anyhow::Result<Self> {
        let mut engine = Process::begin(ourselves()?.arg("engine"))?;
        let mut place: Place = engine.hear().await?;
        let mut setup = Process::begin(&mut peer(python))?;
        setup.tell(&place).await?;
        let told: Json = setup.hear().await?;
        place.namespace = told["namespace"].as_str().context("no namespace")?.into();
        Ok(Self { _engine: engine, client: place.client()?, place })
    }

    /// A client's process.
    pub(crate) async fn begin(&self, who: Who, python: &Path) -> anyhow::Result<Process> {
        let mut process = match who {
            Who::Sync | Who::Async => Process::begin(&mut peer(python))?,
            Who::Bare | Who::Native | Who::Component => Process::begin(ourselves()?.arg("client"))?,
        };
        let who = json!(who).as_str().unwrap_or_default().into();
        process.tell(&Place { who, ..self.place.clone() }).await?;
        Ok(process)
    }

    /// Puts all shards of a bucket in place, whatever is there: with their shares, in a window that began
    /// at this instant.
    pub(crate) async fn put_shards(
        &self,
        entity: &str,
        shard_count: u32,
        began_ms: u64,
    ) -> anyhow::Result<()> {
        for shard in 0..shard_count {
            let item = self.shard(entity, shard, shard_count, began_ms);
            let body = json!({ "TableName": self.place.table, "Item": item }).to_string();
            perform(&self.client, Call { operation: "PutItem", body, resend: Resend::Idempotent }).await?;
        }
        Ok(())
    }

    fn shard(&self, entity: &str, shard: u32, shard_count: u32, began_ms: u64) -> Json {
        let Place { namespace, resource, quota, .. } = &self.place;
        let number = |number: u64| json!({ "N": number.to_string() });
        let mut item = json!({
            "PK": { "S": self.place.subject(entity).bucket_pk(shard) }, "SK": { "S": "#STATE" },
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

/// The engine's process: says where it is, and listens until its input ends.
pub(crate) async fn engine() -> anyhow::Result<()> {
    let database = Embedded::in_memory().await?;
    let place = Place {
        who: "setup".into(),
        endpoint: database.endpoint(),
        table: "limits".into(),
        namespace: "default".into(),
        resource: "gpt-4".into(),
        quota: "session".into(),
        capacity: CAPACITY,
        window_seconds: WINDOW_SECONDS,
    };
    table::create(&place.client()?, &place.table, false, PATIENCE).await?;
    println!("{}", serde_json::to_string(&place)?);
    std::io::stdin().lines().count();
    Ok(())
}

/// One call that has to succeed; and the reply.
pub(crate) async fn perform(client: &Client, call: Call) -> anyhow::Result<Reply> {
    let operation = call.operation;
    match client.perform(&[call], Instant::now() + PATIENCE, &mut Cost::default()).await.pop() {
        Some(reply @ Reply::Http { status: 200, .. }) => Ok(reply),
        other => bail!("{operation}: {other:?}"),
    }
}

fn ourselves() -> anyhow::Result<Command> {
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
