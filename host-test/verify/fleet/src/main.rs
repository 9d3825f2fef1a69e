//! A mixed fleet on one table: processes of the component beside processes of zae-limiter, old and new. Clocks
//! are off and processes are killed. The table's history is checked.
//!
//! `fleet.sh` installs what is needed and runs it.

mod differ;
mod history;
mod ledger;
mod operator;
mod plan;
mod process;
mod readers;
mod recorder;
mod report;
mod worker;

use std::{
    path::PathBuf,
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::Context;
use clap::{Parser, Subcommand};
use onewindow_host::{Client, ClientConfig, Clock, Credentials, table};
use tokio::time::{Instant, sleep};

use ledger::{Kind, Ledger};
use plan::Plan;
use process::{Peer, Pythons, Worker};
use readers::Agreement;
use recorder::Recorder;

/// How long entities are used before new ones replace them.
const PERIOD_MS: u64 = 40_000;

#[derive(Debug, Parser)]
#[command(about = "A mixed fleet on one table, checked from the table's history", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs the fleet, and prints who admitted how much in each window.
    Run(Run),
    /// Compares single decisions on random items, in both directions.
    Differ(Differ),
    /// A process of ours in the fleet.
    #[command(hide = true)]
    Worker {
        /// Its plan, as JSON.
        plan: String,
    },
}

#[derive(Debug, clap::Args)]
struct Peers {
    /// The interpreter with zae-limiter 0.17.0.
    #[arg(long, value_name = "FILE")]
    python: PathBuf,
    /// The interpreter with zae-limiter 0.14.0.
    #[arg(long, value_name = "FILE")]
    old_python: PathBuf,
    /// `peer/worker.py`.
    #[arg(long, value_name = "FILE")]
    script: PathBuf,
}

impl Peers {
    fn pythons(&self) -> Pythons {
        Pythons { script: self.script.clone(), current: self.python.clone(), old: self.old_python.clone() }
    }
}

#[derive(Debug, clap::Args)]
struct Differ {
    #[command(flatten)]
    peers: Peers,
    /// Random buckets.
    #[arg(long, default_value_t = 3_000)]
    cases: u64,
    /// Another seed is another run.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Debug, clap::Args)]
struct Run {
    #[command(flatten)]
    peers: Peers,
    /// The run ends after this many windows, if there are enough acquires.
    #[arg(long, default_value_t = 300)]
    windows: usize,
    /// The run ends after this many acquires, if there are enough windows.
    #[arg(long, default_value_t = 100_000)]
    acquires: u64,
    /// Seconds after which the run ends and has failed.
    #[arg(long, default_value_t = 1_800)]
    patience: u64,
    /// Acquires a second, over all processes.
    #[arg(long, default_value_t = 600.0)]
    rate: f64,
    /// The quota's tokens.
    #[arg(long, default_value_t = 160)]
    capacity: u64,
    /// The quota's window, seconds.
    #[arg(long, default_value_t = 4)]
    window_seconds: u64,
    /// Entities at the same time.
    #[arg(long, default_value_t = 8)]
    entities: u32,
    /// How many of them debit the first one as well.
    #[arg(long, default_value_t = 2)]
    children: u32,
    /// How far the clocks of some processes are off, ms.
    #[arg(long, default_value_t = 1_000)]
    skew_ms: i64,
    /// Leave out the processes of the named kinds: ours, async, sync, old.
    #[arg(long, value_name = "KIND")]
    without: Vec<String>,
    /// Where the history of each violated bucket is written.
    #[arg(long, value_name = "FOLDER")]
    traces: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    match Cli::parse().command {
        Command::Run(run) => Ok(if run.go().await? { ExitCode::SUCCESS } else { ExitCode::FAILURE }),
        Command::Differ(differ) => {
            let recorder = Recorder::start(Box::new(|_| {})).await?;
            let pythons = differ.peers.pythons();
            let plan =
                plan(&recorder, &pythons, Plan { capacity: 96, window_seconds: 60, ..Plan::default() })
                    .await?;
            let peer = Peer::begin(&pythons, "differ", &plan)?;
            let equal = differ::run(&plan, peer, differ.cases, differ.seed).await?;
            Ok(if equal { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        Command::Worker { plan } => {
            worker::run(serde_json::from_str(&plan).context("the plan is not one of ours")?).await?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

impl Run {
    async fn go(&self) -> anyhow::Result<bool> {
        let ledger = Arc::new(Mutex::new(Ledger::default()));
        let recorded = Arc::clone(&ledger);
        let recorder = Recorder::start(Box::new(move |commit| lock(&recorded).observe(&commit))).await?;
        let pythons = self.peers.pythons();
        let wanted = Plan {
            run: "u".into(),
            period_ms: PERIOD_MS,
            entities: self.entities,
            children: self.children.min(self.entities.saturating_sub(1)),
            periods: self.patience * 1000 / PERIOD_MS + 2,
            capacity: self.capacity,
            window_seconds: self.window_seconds,
            correction: 5,
            ..Plan::default()
        };
        let plan = plan(&recorder, &pythons, wanted).await?;
        lock(&ledger).correction = i128::from(plan.correction) * 1000;
        let mut workers = self.workers(&plan);
        for worker in &mut workers {
            worker.begin(&pythons)?;
        }
        let agreement = Arc::new(Mutex::new(Agreement::default()));
        let peer = Peer::begin(&pythons, "reader", &plan)?;
        let reading =
            tokio::spawn(readers::compare(plan.clone(), peer, Arc::clone(&ledger), Arc::clone(&agreement)));
        let disturbing = tokio::spawn(operator::disturb(plan.clone()));
        let in_time = self.watch(&mut workers, &pythons, &ledger).await?;
        anyhow::ensure!(!reading.is_finished(), "the readers ended: {:?}", reading.await);
        anyhow::ensure!(!disturbing.is_finished(), "the operator ended: {:?}", disturbing.await);
        reading.abort();
        disturbing.abort();
        for worker in &mut workers {
            worker.kill();
        }
        let ledger = lock(&ledger);
        let held = report::print(
            &ledger,
            &workers,
            &lock(&agreement),
            &recorder.refused(),
            recorder.requests(),
            plan.began_ms,
        );
        self.write_traces(&ledger)?;
        Ok(held && in_time)
    }

    /// The workers of each kind, some with clocks that are off, and one old writer.
    fn workers(&self, plan: &Plan) -> Vec<Worker> {
        let skew = self.skew_ms;
        let places = [
            (Kind::Ours, 0),
            (Kind::Ours, skew),
            (Kind::Ours, -skew),
            (Kind::Async, 0),
            (Kind::Async, skew / 2),
            (Kind::Sync, 0),
            (Kind::Sync, -skew),
            (Kind::Old, skew),
        ];
        let kept: Vec<_> = places
            .into_iter()
            .filter(|(kind, _)| !self.without.iter().any(|name| name == kind.name()))
            .collect();
        let rate = self.rate / kept.len().max(1) as f64;
        kept.into_iter()
            .enumerate()
            .map(|(number, (kind, skew_ms))| {
                Worker::new(kind, number, Plan { skew_ms, rate, ..plan.clone() })
            })
            .collect()
    }

    /// Kills a worker now and then, until there is enough; false: the time ran out.
    async fn watch(
        &self,
        workers: &mut [Worker],
        pythons: &Pythons,
        ledger: &Mutex<Ledger>,
    ) -> anyhow::Result<bool> {
        let began = Instant::now();
        let mut reported = 0;
        loop {
            sleep(Duration::from_secs(fastrand::u64(3..7))).await;
            for worker in workers.iter_mut() {
                anyhow::ensure!(!worker.has_ended(), "{} ended by itself", worker.name);
            }
            let acquires: u64 = workers.iter().map(|worker| lock(&worker.progress).total()[0]).sum();
            let (windows, violations) = {
                let ledger = lock(ledger);
                (report::windows(&ledger).len(), ledger.violations.len())
            };
            let elapsed = began.elapsed().as_secs();
            if elapsed >= reported + 15 {
                reported = elapsed;
                log(&format!("{elapsed} s: {acquires} acquires, {windows} windows, {violations} violations"));
            }
            if windows >= self.windows && acquires >= self.acquires {
                return Ok(true);
            }
            if elapsed >= self.patience {
                log("out of time");
                return Ok(false);
            }
            let victim = fastrand::usize(..workers.len());
            workers[victim].kill();
            workers[victim].kills += 1;
            workers[victim].begin(pythons)?;
        }
    }

    fn write_traces(&self, ledger: &Ledger) -> anyhow::Result<()> {
        let violations: Vec<_> = ledger.violations.iter().chain(&ledger.theirs).take(20).collect();
        let Some(folder) = self.traces.as_ref().filter(|_| !violations.is_empty()) else {
            return Ok(());
        };
        std::fs::create_dir_all(folder)?;
        for (index, violation) in violations.into_iter().enumerate() {
            let file = folder.join(format!("{index}-{}.txt", violation.invariant));
            let text = format!("{}\n{}\n", violation.how, violation.trace.join("\n"));
            std::fs::write(&file, text).with_context(|| format!("{} cannot be written", file.display()))?;
        }
        log(&format!("the traces are in {}", folder.display()));
        Ok(())
    }
}

/// Creates the table, and lets the peer configure it.
async fn plan(recorder: &Recorder, pythons: &Pythons, wanted: Plan) -> anyhow::Result<Plan> {
    let mut plan = Plan {
        endpoint: recorder.endpoint.clone(),
        table: "fleet".into(),
        // Short enough to be refilled every second or so, which is what old writers do.
        rate_capacity: 60,
        ..wanted
    };
    let credentials = Credentials::fixed("operator-setup", "fleet", None);
    let client = Client::new(ClientConfig::new(&plan.endpoint, "us-east-1", credentials))?;
    table::create(&client, &plan.table, false, Duration::from_secs(60)).await?;
    let answer = Peer::begin(pythons, "setup", &plan)?.read()?;
    plan.namespace = answer["namespace"].as_str().context("the peer named no namespace")?.to_owned();
    plan.began_ms = Clock::System.now_ms();
    Ok(plan)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[expect(clippy::print_stderr, reason = "for the person who runs it")]
fn log(line: &str) {
    eprintln!("  {line}");
}
