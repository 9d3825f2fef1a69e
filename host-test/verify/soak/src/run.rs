//! The soak: many hosts, one table, a network that breaks, hosts that are killed.

use std::{
    collections::BTreeMap,
    process::Stdio,
    time::{Duration, Instant, SystemTime},
};

use anyhow::Context;
use onewindow::{Call, Reply, Resend, Subject};
use onewindow_host::{
    AcquireRequest, Amount, Client, ClientConfig, Clock, Cost, Embedded, Engine, Limiter, LimiterOptions,
    Outcome, table,
};
use onewindow_model::{store::request, world::LIMIT};
use serde_json::{Value as Json, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    sync::mpsc,
    time::{MissedTickBehavior, interval, sleep},
};

use crate::{
    fault::Plan,
    history::History,
    load::Load,
    proxy::{Passed, Proxy},
};

/// The table.
pub const TABLE: &str = "limits";

/// No request is held longer on its way.
const LONGEST_DELAY: Duration = Duration::from_millis(800);

/// How often in a row a write budget is spent.
const SPENT_TIMES: usize = 12;

/// What a soak is.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Host processes.
    #[arg(long, default_value_t = 8)]
    pub hosts: u32,
    /// Answers to callers, after which it ends.
    #[arg(long, default_value_t = 200_000)]
    pub acquires: u64,
    /// Each kind of fault happens to so many of 1000 requests.
    #[arg(long, default_value_t = 4)]
    pub faults_per_mille: u32,
    /// Every so many milliseconds one of the hosts that have got going is killed and started anew.
    #[arg(long, default_value_t = 1500)]
    pub kill_every_ms: u64,
    /// The write budget of a hot shard is spent every so many milliseconds, so that its count doubles.
    #[arg(long, default_value_t = 400)]
    pub spend_every_ms: u64,
    /// How far hosts' clocks are off at most, ms, either way.
    #[arg(long, default_value_t = 200)]
    pub skew_ms: i64,
    /// Tells one run from another.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// What every host does.
    #[command(flatten)]
    pub load: Load,
}

/// What came of it.
#[derive(Debug)]
pub struct Report {
    /// How long the load lasted.
    pub lasted: Duration,
    /// Hosts that were killed.
    pub kills: u64,
    /// What callers were told, by kind.
    pub answers: BTreeMap<String, u64>,
    /// What passed the proxy.
    pub passed: Passed,
    /// The table's books, with the violations.
    pub history: History,
    /// Entities that a fresh host asked for after the faults were over, and was admitted.
    pub unstuck: usize,
}

/// Runs a soak. `progress` is told how many answers there are.
///
/// # Errors
/// Where something cannot be set up, or a host ends by itself.
pub async fn run(options: &Options, progress: impl Fn(u64)) -> anyhow::Result<Report> {
    let database = Embedded::in_memory().await?;
    let direct = Client::new(database.client_config())?;
    table::create(&direct, TABLE, false, Duration::from_secs(30)).await?;
    let plan = Plan::drawn(options.faults_per_mille, LONGEST_DELAY, options.seed);
    let proxy = Proxy::start(&database.endpoint(), plan).await?;
    let through = ClientConfig { endpoint: proxy.endpoint(), ..database.client_config() };
    let mut soak = Soak {
        options,
        endpoint: proxy.endpoint(),
        client: Client::new(through)?,
        dice: fastrand::Rng::with_seed(options.seed),
        hosts: Vec::new(),
        kills: 0,
        answers: BTreeMap::new(),
        history: History::new(options.load.entity()),
    };
    let lasted = soak.load(&proxy, progress).await?;
    // What is still on its way arrives; then nothing goes wrong any more.
    sleep(LONGEST_DELAY * 2).await;
    proxy.set_plan(Plan::none());
    let passed = proxy.passed();
    let unstuck = soak.check_liveness().await;
    proxy.take_history().await.iter().for_each(|written| soak.history.book(written));
    soak.history.check_told();
    soak.check_items(&direct).await?;
    let Soak { kills, answers, history, .. } = soak;
    Ok(Report { lasted, kills, answers, passed, history, unstuck })
}

/// A host's process.
struct Host {
    id: u64,
    process: Child,
    /// Whether it has answered anything yet: one that has not is nothing worth killing.
    going: bool,
}

struct Soak<'a> {
    options: &'a Options,
    endpoint: String,
    /// Through the proxy.
    client: Client,
    dice: fastrand::Rng,
    hosts: Vec<Host>,
    kills: u64,
    answers: BTreeMap<String, u64>,
    history: History,
}

impl Soak<'_> {
    async fn load(&mut self, proxy: &Proxy, progress: impl Fn(u64)) -> anyhow::Result<Duration> {
        let began = Instant::now();
        let (told, mut lines) = mpsc::unbounded_channel();
        for index in 0..self.options.hosts {
            let host = self.host(index, &told)?;
            self.hosts.push(host);
        }
        let every = |ms: u64| {
            let mut ticks = interval(Duration::from_millis(ms.max(1)));
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            ticks
        };
        let mut kill = every(self.options.kill_every_ms);
        let mut spend = every(self.options.spend_every_ms);
        let mut book = every(500);
        let mut answered = 0;
        while answered < self.options.acquires {
            tokio::select! {
                line = lines.recv() => {
                    let (host, line): (u64, String) = line.context("no host is left")?;
                    self.hosts.iter_mut().filter(|known| known.id == host).for_each(|known| known.going = true);
                    answered += u64::from(self.hear(&line)?);
                }
                _ = kill.tick() => {
                    self.kill(&told).await?;
                }
                _ = spend.tick() => self.spend().await,
                _ = book.tick() => {
                    proxy.take_history().await.iter().for_each(|written| self.history.book(written));
                    progress(answered);
                }
            }
        }
        let lasted = began.elapsed();
        for mut host in self.hosts.drain(..) {
            host.process.kill().await?;
        }
        drop(told);
        while let Some((_, line)) = lines.recv().await {
            self.hear(&line)?;
        }
        Ok(lasted)
    }

    /// Kills one of the hosts that have got going, and starts another in its place.
    async fn kill(&mut self, told: &mpsc::UnboundedSender<(u64, String)>) -> anyhow::Result<()> {
        let going = (0_u32..).zip(&self.hosts).filter(|(_, host)| host.going).map(|(index, _)| index);
        let Some(index) = self.dice.choice(going.collect::<Vec<_>>()) else { return Ok(()) };
        let host = self.host(index, told)?;
        let mut killed = std::mem::replace(&mut self.hosts[usize::try_from(index)?], host);
        if let Some(status) = killed.process.try_wait()? {
            anyhow::bail!("a host ended by itself: {status}");
        }
        killed.process.kill().await?;
        self.kills += 1;
        Ok(())
    }

    /// Starts a host. Its lines come through the channel, whole ones only.
    fn host(&mut self, index: u32, told: &mpsc::UnboundedSender<(u64, String)>) -> anyhow::Result<Host> {
        let load = &self.options.load;
        let skew_ms = i64::from(index) % 3 - 1;
        let mut process = Command::new(std::env::current_exe()?)
            .arg("host")
            .args(["--endpoint", &self.endpoint])
            .args(["--seed", &self.dice.u32(..).to_string()])
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
        let (id, told) = (self.dice.u64(..), told.clone());
        tokio::spawn(async move {
            let mut line = String::new();
            while out.read_line(&mut line).await.is_ok_and(|read| read > 0) {
                if line.ends_with('\n') && told.send((id, line.trim_end().to_owned())).is_err() {
                    break;
                }
                line.clear();
            }
        });
        Ok(Host { id, process, going: false })
    }

    /// Books a line of a host; whether it answers an acquire.
    fn hear(&mut self, line: &str) -> anyhow::Result<bool> {
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        let name = match kind {
            "A" => {
                self.history.told(rest).map_err(anyhow::Error::msg)?;
                "admitted".to_owned()
            }
            "R" => "rejected".to_owned(),
            "C" => "contended".to_owned(),
            "U" => "unavailable".to_owned(),
            "S" => format!("settle: {rest}"),
            _ => {
                self.history.violations.push(format!("a host said {line:?}"));
                "error".to_owned()
            }
        };
        *self.answers.entry(name).or_default() += 1;
        Ok(matches!(kind, "A" | "R" | "C" | "U"))
    }

    /// Spends what a hot shard may be written, as a burst of other work would: again and again for
    /// a moment, since what was spent before the last materialisation is given back by the next.
    async fn spend(&mut self) {
        let subjects = self.options.load.subjects(SystemTime::now());
        let Some(subject) = self.dice.choice(&subjects) else { return };
        let pk = subject.bucket_pk(0);
        let body = json!({
            "TableName": TABLE,
            "Key": { "PK": { "S": pk }, "SK": { "S": "#STATE" } },
            "UpdateExpression": "SET #a0 = :v0",
            // It may not be there yet.
            "ConditionExpression": "attribute_exists(#a1)",
            "ExpressionAttributeNames": { "#a0": "b_wcu_tk", "#a1": "PK" },
            "ExpressionAttributeValues": { ":v0": { "N": "0" } },
        });
        let call = Call { operation: "UpdateItem", body: body.to_string(), resend: Resend::Idempotent };
        let deadline = std::time::Instant::now() + Duration::from_secs(1);
        for _ in 0..SPENT_TIMES {
            // It may suffer a fault like any other.
            self.client.perform(std::slice::from_ref(&call), deadline, &mut Cost::default()).await;
        }
    }

    /// I9: once nothing goes wrong any more and every window is over, a fresh host is admitted by
    /// each entity that was hot at last, on whichever shard, in three requests at most.
    async fn check_liveness(&mut self) -> usize {
        let subjects = self.options.load.subjects(SystemTime::now());
        let skew = Duration::from_millis(self.options.skew_ms.unsigned_abs());
        sleep(Duration::from_secs(self.options.load.window_seconds) + skew).await;
        let options = LimiterOptions { clock: Clock::System, ..LimiterOptions::default() };
        let limiter = Limiter::new(Engine::native(), self.client.clone(), options);
        let mut unstuck = 0;
        for subject in subjects {
            match self.ask(&limiter, subject.clone()).await {
                Ok(()) => unstuck += 1,
                Err(how) => self.history.violations.push(format!("I9: {}: {how}", subject.entity)),
            }
        }
        limiter.flush().await;
        unstuck
    }

    async fn ask(&mut self, limiter: &Limiter, subject: Subject) -> Result<(), String> {
        let request = AcquireRequest {
            subject,
            consume: vec![Amount::new(LIMIT, 1)],
            limits: vec![self.options.load.limit()],
            ..AcquireRequest::default()
        };
        let answer = limiter.acquire(request).await;
        match answer.decision.outcome {
            Outcome::Admitted(lease) if answer.cost.requests <= 3 => self.history.told(&lease.encode()),
            Outcome::Admitted(_) => Err(format!("admitted after {} requests", answer.cost.requests)),
            other => Err(format!("{other:?}")),
        }
    }

    /// The table holds what its history says, item by item.
    async fn check_items(&mut self, direct: &Client) -> anyhow::Result<()> {
        let mut seen = 0;
        let mut from = Json::Null;
        loop {
            let mut body = json!({ "TableName": TABLE, "ConsistentRead": true });
            if !from.is_null() {
                body["ExclusiveStartKey"] = from.take();
            }
            let call = Call { operation: "Scan", body: body.to_string(), resend: Resend::Idempotent };
            let deadline = std::time::Instant::now() + Duration::from_secs(60);
            let replies = direct.perform(&[call], deadline, &mut Cost::default()).await;
            let [Reply::Http { status: 200, body }] = &replies[..] else {
                anyhow::bail!("the table cannot be read: {replies:?}");
            };
            let page: Json = serde_json::from_str(body)?;
            for json in page["Items"].as_array().context("a page of items")? {
                let item = request::item(json).map_err(anyhow::Error::msg)?;
                let text = |name: &str| json[name]["S"].as_str().unwrap_or_default().to_owned();
                self.history.check_item(&(text("PK"), text("SK")), &item);
                seen += 1;
            }
            from = page["LastEvaluatedKey"].clone();
            if from.is_null() {
                break;
            }
        }
        if seen != self.history.items() {
            let made = self.history.items();
            self.history.violations.push(format!("the table holds {seen} items, its history made {made}"));
        }
        Ok(())
    }
}
