//! The soak: many hosts, one table, a network that fails, hosts that are killed.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant, SystemTime},
};

use anyhow::Context;
use fastrand::Rng;
use onewindow::{Call, Resend};
use onewindow_host::{Client, ClientConfig, Cost, Embedded, table};
use serde_json::json;
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::{
    checks::{check_items, check_liveness},
    fault::Plan,
    history::History,
    hosts::Hosts,
    load::TABLE,
    options::Options,
    proxy::Proxy,
    report::Report,
};

/// The longest delay of a request on its way.
const LONGEST_DELAY: Duration = Duration::from_millis(800);

/// How often in a row a write budget is spent.
const SPENT_TIMES: usize = 12;

/// Runs a soak. `progress` is called with the number of answers so far.
///
/// # Errors
/// Something cannot be set up, or a host ends by itself.
pub async fn run(options: &Options, progress: impl Fn(u64)) -> anyhow::Result<Report> {
    let database = Embedded::in_memory().await?;
    let direct = Client::new(database.client_config())?;
    table::create(&direct, TABLE, false, Duration::from_secs(30)).await?;
    let plan = Plan::drawn(options.faults_per_mille, LONGEST_DELAY, options.seed);
    let proxy = Proxy::start(&database.endpoint(), plan).await?;
    let through = ClientConfig { endpoint: proxy.endpoint(), ..database.client_config() };
    let mut soak = Soak {
        options,
        client: Client::new(through)?,
        rng: Rng::with_seed(options.seed),
        kills: 0,
        answers: BTreeMap::new(),
        history: History::new(options.load.entity()),
    };
    let lasted = soak.load(&proxy, progress).await?;
    // What is still on its way arrives. After that nothing goes wrong any more.
    sleep(LONGEST_DELAY * 2).await;
    proxy.set_plan(Plan::none());
    let traffic = proxy.traffic();
    let admitting = check_liveness(options, soak.client.clone(), &mut soak.history).await;
    soak.record_writes(&proxy).await;
    soak.history.check_grants();
    check_items(&direct, &mut soak.history).await?;
    let Soak { kills, answers, history, .. } = soak;
    Ok(Report { lasted, kills, answers, traffic, history, admitting })
}

struct Soak<'a> {
    options: &'a Options,
    /// Through the proxy.
    client: Client,
    rng: Rng,
    kills: u64,
    answers: BTreeMap<String, u64>,
    history: History,
}

impl Soak<'_> {
    /// Runs the hosts until there are enough answers; how long that lasted.
    async fn load(&mut self, proxy: &Proxy, progress: impl Fn(u64)) -> anyhow::Result<Duration> {
        let began = Instant::now();
        let (mut hosts, mut lines) = Hosts::start_all(self.options, proxy.endpoint(), &mut self.rng)?;
        let every = |ms: u64| {
            let mut ticks = interval(Duration::from_millis(ms.max(1)));
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            ticks
        };
        let mut kill = every(self.options.kill_every_ms);
        let mut spend = every(self.options.spend_every_ms);
        let mut record = every(500);
        let mut answered = 0;
        while answered < self.options.acquires {
            tokio::select! {
                line = lines.recv() => {
                    let (host, line): (u64, String) = line.context("no host is left")?;
                    hosts.has_answered(host);
                    answered += u64::from(self.record(&line)?);
                }
                _ = kill.tick() => hosts.replace_one(&mut self.rng).await?,
                _ = spend.tick() => self.spend_write_budget().await,
                _ = record.tick() => {
                    self.record_writes(proxy).await;
                    progress(answered);
                }
            }
        }
        let lasted = began.elapsed();
        self.kills = hosts.stop_all().await?;
        while let Some((_, line)) = lines.recv().await {
            self.record(&line)?;
        }
        Ok(lasted)
    }

    /// Records the writes that the table has carried out meanwhile.
    async fn record_writes(&mut self, proxy: &Proxy) {
        proxy.take_history().await.iter().for_each(|written| self.history.record(written));
    }

    /// Records a line of a host; true: it answers an acquire.
    fn record(&mut self, line: &str) -> anyhow::Result<bool> {
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        let name = match kind {
            "A" => {
                self.history.grant(rest).map_err(anyhow::Error::msg)?;
                "admitted".to_owned()
            }
            "R" => "rejected".to_owned(),
            "C" => "contended".to_owned(),
            "U" => "unavailable".to_owned(),
            "S" => format!("settle: {rest}"),
            _ => {
                self.history.violations.push(format!("a host printed {line:?}"));
                "error".to_owned()
            }
        };
        *self.answers.entry(name).or_default() += 1;
        Ok(matches!(kind, "A" | "R" | "C" | "U"))
    }

    /// Spends the write budget of a hot shard, as a burst of other work would. It does so several times in
    /// a row, because the next materialisation restores a budget that was spent before the last one.
    async fn spend_write_budget(&mut self) {
        let subjects = self.options.load.subjects(SystemTime::now());
        let Some(subject) = self.rng.choice(&subjects) else { return };
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
            // It may have a fault like any other.
            self.client.perform(std::slice::from_ref(&call), deadline, &mut Cost::default()).await;
        }
    }
}
