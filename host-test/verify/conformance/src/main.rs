//! Runs one list of cases over HTTP against every runtime that serves onewindow: the real runtimes, the
//! embedded DynamoDB, the real clock. It prints a table of cases by runtime, and fails if a case fails.

mod cases;
mod kit;
mod load;
mod proxy;
mod runtime;

use std::{
    any::Any, cell::Cell, panic::AssertUnwindSafe, path::Path, process::ExitCode, sync::Arc, time::Duration,
};

use anyhow::Context;
use clap::Parser;
use futures::{FutureExt, StreamExt, TryFutureExt, stream};
use onewindow_host::{Client, Embedded, table};

use cases::Case;
use kit::{Fixture, SECRET, Servers, TABLE};
use load::Measured;
use proxy::Proxy;
use runtime::{Runtime, Server, Setup};

/// A long deadline, so that a busy machine fails no case.
const PATIENT: Duration = Duration::from_secs(10);
/// The default deadline of users.
const DEADLINE: Duration = Duration::from_secs(1);
/// Cases at the same time.
const AT_ONCE: usize = 4;
const NO_NAMES: &str = "entity ids are in no log";

/// One list of cases against every runtime.
#[derive(Debug, Parser)]
struct Args {
    /// Only these runtimes, by name; all of them if none is named.
    #[arg(long = "runtime", value_name = "NAME")]
    runtimes: Vec<String>,
    /// Only the cases whose name contains this.
    #[arg(long = "case", value_name = "PART")]
    part: Option<String>,
    /// How long each runtime is put under load, seconds; 0 leaves it out.
    #[arg(long, value_name = "SECONDS", default_value_t = 4)]
    load: u64,
}

/// The result of a case; the error says why it failed.
type Verdict = Result<(), String>;

/// A runtime's column.
struct Column {
    name: &'static str,
    verdicts: Vec<Verdict>,
    load: Option<Measured>,
}

#[tokio::main]
async fn main() -> ExitCode {
    match suite(Args::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

async fn suite(args: Args) -> anyhow::Result<bool> {
    let wanted = |name: &str| args.runtimes.is_empty() || args.runtimes.iter().any(|other| other == name);
    let runtimes: Vec<_> = runtime::all().into_iter().filter(|runtime| wanted(runtime.name())).collect();
    anyhow::ensure!(!runtimes.is_empty(), "no runtime is called {:?}", args.runtimes);
    let holds = |case: &&Case| args.part.as_deref().is_none_or(|part| case.name.contains(part));
    let cases: Vec<_> = cases::ALL.iter().filter(holds).copied().collect();

    let database = Embedded::in_memory().await?;
    let client = Client::new(database.client_config())?;
    table::create(&client, TABLE, false, PATIENT).await?;
    let proxy = Proxy::start(database.endpoint()).await?;
    let folder = tempfile::tempdir()?;
    let lasting = Duration::from_secs(args.load);
    std::panic::set_hook(Box::new(|panic| FAILED_AT.set(panic.location().map(ToString::to_string))));

    let mut columns = Vec::new();
    for runtime in &runtimes {
        let folder = folder.path().join(runtime.name());
        let fixture = fixture(runtime.as_ref(), &folder, &database, &client, &proxy).await?;
        let mut verdicts = run(&fixture, runtime.name(), &cases).await;
        let load = if lasting.is_zero() { None } else { Some(load::run(&fixture, lasting).await) };
        verdicts.push(no_names(&fixture.servers));
        columns.push(Column { name: runtime.name(), verdicts, load });
    }
    let ceiling = if lasting.is_zero() { 0.0 } else { load::ceiling(&client, lasting / 2).await };
    let names: Vec<_> = cases.iter().map(|case| case.name).chain([NO_NAMES]).collect();
    print(&names, &columns, ceiling);
    Ok(columns.iter().all(Column::passed))
}

impl Column {
    fn under_load(&self) -> Verdict {
        self.load.as_ref().map_or(Ok(()), Measured::verdict)
    }

    fn passed(&self) -> bool {
        self.verdicts.iter().all(Result::is_ok) && self.under_load().is_ok()
    }
}

/// The servers of a runtime, and what the cases need.
async fn fixture(
    runtime: &dyn Runtime,
    folder: &Path,
    database: &Embedded,
    table: &Client,
    proxy: &Proxy,
) -> anyhow::Result<Fixture> {
    let start = async |name: &str, endpoint: String, table: &str, deadline, allow| {
        let folder = folder.join(name);
        // The server under load does not log answers, where that can be turned off.
        let logs_answers = name != "plain";
        let setup = Setup { endpoint, table: table.into(), deadline, allow, logs_answers, folder };
        Server::start(runtime, &setup).await
    };
    let servers = Servers {
        plain: start("plain", database.endpoint(), TABLE, PATIENT, false).await?,
        proxied: start("proxied", proxy.url.clone(), TABLE, PATIENT, false).await?,
        block: start("block", proxy.url.clone(), TABLE, DEADLINE, false).await?,
        allow: start("allow", proxy.url.clone(), TABLE, DEADLINE, true).await?,
        misplaced: start("misplaced", database.endpoint(), "not-there", DEADLINE, true).await?,
    };
    let http = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .timeout(Duration::from_secs(60))
        .build()
        .context("the HTTP client cannot be set up")?;
    let entity = format!("{SECRET}-{}", runtime.name());
    Ok(Fixture { servers: Arc::new(servers), proxy: proxy.clone(), table: table.clone(), http, entity })
}

/// Runs the cases, several at once, each once and on an entity of its own.
async fn run(fixture: &Fixture, runtime: &str, cases: &[Case]) -> Vec<Verdict> {
    let one = |(index, case): (usize, Case)| one(fixture.other(&index.to_string()), runtime, case);
    stream::iter(cases.iter().copied().enumerate()).map(one).buffered(AT_ONCE).collect().await
}

async fn one(fixture: Fixture, runtime: &str, case: Case) -> Result<(), String> {
    let caught = AssertUnwindSafe(within_patience(case, fixture)).catch_unwind();
    // A task of its own, that cases run at the same time.
    let verdict = tokio::spawn(caught.map_err(reason)).await.unwrap_or_else(|error| Err(error.to_string()));
    if let Err(reason) = &verdict {
        println!("{runtime}: {}: {reason}", case.name);
    }
    verdict
}

async fn within_patience(case: Case, fixture: Fixture) {
    let finished = tokio::time::timeout(Duration::from_secs(120), (case.run)(fixture)).await;
    finished.expect("it hangs");
}

thread_local! {
    /// Where the last panic of this thread was.
    static FAILED_AT: Cell<Option<String>> = const { Cell::new(None) };
}

/// The message and the place of a panic, on the thread that caught it.
fn reason(panic: Box<dyn Any + Send>) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked");
    format!("{}: {text}", FAILED_AT.take().unwrap_or_default())
}

fn no_names(servers: &Servers) -> Verdict {
    for server in [&servers.plain, &servers.proxied, &servers.block, &servers.allow, &servers.misplaced] {
        if let Some(line) = server.output().lines().find(|line| line.contains(SECRET)) {
            return Err(format!("one is in this line: {line}"));
        }
    }
    Ok(())
}

fn print(names: &[&str], columns: &[Column], ceiling: f64) {
    let first = names.iter().map(|name| name.chars().count()).max().unwrap_or_default();
    let row = |name: &str, cells: Vec<String>| {
        let cells: String = cells.iter().map(|cell| format!("  {cell:>10}")).collect();
        println!("{name:<first$}{cells}");
    };
    println!();
    row("", columns.iter().map(|column| column.name.to_owned()).collect());
    for (index, name) in names.iter().enumerate() {
        let mark = |column: &Column| {
            let ok = column.verdicts[index].is_ok();
            String::from(if ok { "ok" } else { "FAILED" })
        };
        row(name, columns.iter().map(mark).collect());
    }
    let measured = |name: &str, cell: fn(&Measured) -> String| {
        let cell = |column: &Column| column.load.as_ref().map_or_else(|| "-".to_owned(), cell);
        row(name, columns.iter().map(cell).collect());
    };
    println!();
    measured("200 clients, an ample quota: admitted/s", |load| format!("{:.0}", load.admitted_per_second));
    measured("200 clients, a tight quota: answers/s", |load| format!("{:.0}", load.answers_per_second));
    measured("errors other than 429", |load| load.errors.to_string());
    measured("tokens beyond the quota", |load| load.excess.to_string());
    measured("memory after 1/4, 1/2 and all of it: MiB", |load| match load.resident_kib {
        Some(kib) => kib.map(|kib| (kib >> 10).to_string()).join(" "),
        None => "-".into(),
    });
    row("bare conditional updates of the engine/s", vec![format!("{ceiling:.0}")]);
    for column in columns {
        for (name, verdict) in names.iter().zip(&column.verdicts) {
            if let Err(reason) = verdict {
                println!("\n{}: {name}\n  {reason}", column.name);
            }
        }
        if let Err(reason) = column.under_load() {
            println!("\n{}: under load\n  {reason}", column.name);
        }
    }
}
