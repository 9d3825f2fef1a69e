//! A client of ours that is measured, in its own process: the limiter, or the bare update.

use std::{
    io::BufRead as _,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use futures::future::BoxFuture;
use onewindow::{Acquire, AcquireRequest, Amount, Call, Hint, Limit, Reply, Step};
use onewindow_host::{
    Client, ClientConfig, Clock, Engine, Limiter, LimiterOptions,
    dynamo::{Before, Interpose},
};
use serde_json::{Value as Json, json};

use crate::{
    processes::perform,
    protocol::{CAPACITY, Implementation, PATIENCE, Target, Task, WINDOW_SECONDS},
};

/// The client's process: answers each line of its input.
pub(crate) async fn run() -> anyhow::Result<()> {
    let mut lines = std::io::stdin().lock().lines();
    let target: Target = serde_json::from_str(&lines.next().context("no target")??)?;
    let subject = Measured::new(target)?;
    for line in lines {
        let answer = match serde_json::from_str(&line?)? {
            Task::Debit { entity } => subject.debit(&entity).await?,
            Task::Load { clients, seconds } => {
                subject.load(clients, Duration::from_secs_f64(seconds)).await?
            }
            Task::End { entity, cold } => subject.end(&entity, cold).await?,
            Task::Decide { entity, times } => subject.decide(&entity, times).await?,
        };
        println!("{answer}");
    }
    Ok(())
}

#[derive(Clone)]
struct Measured {
    target: Arc<Target>,
    client: Client,
    limiter: Limiter,
    is_bare: bool,
}

/// The request of one acquire, or its bare update.
enum Work {
    Acquire(AcquireRequest),
    Update(Call),
}

impl Measured {
    fn new(target: Target) -> anyhow::Result<Self> {
        let implementation = target.implementation()?;
        let engine =
            if implementation == Implementation::Component { Engine::component()? } else { Engine::native() };
        let client = target.client()?;
        let limiter = Limiter::new(engine, client.clone(), options());
        Ok(Self {
            target: Arc::new(target),
            client,
            limiter,
            is_bare: implementation == Implementation::Bare,
        })
    }

    fn request(&self, entity: &str) -> AcquireRequest {
        let consume = vec![Amount::new(&self.target.quota, 1)];
        AcquireRequest { subject: self.target.subject(entity), consume, ..AcquireRequest::default() }
    }

    /// The same with what a host remembers: the shard count and the limits.
    fn known(&self, entity: &str) -> AcquireRequest {
        let request = self.request(entity);
        let hint = Hint { key: request.subject.hint_key(), shard_count: 1, rejections: Vec::new() };
        let limits = vec![Limit::session(&self.target.quota, CAPACITY, WINDOW_SECONDS)];
        AcquireRequest { hint: Some(hint), limits, seed: 1, ..request }
    }

    /// The update that an acquire of an entity begins with.
    fn update(&self, entity: &str) -> anyhow::Result<Call> {
        match Acquire::new(self.known(entity)).advance(Clock::System.now_ms(), &[]) {
            Step::Perform(calls) => calls.into_iter().next().context("a step without a call"),
            Step::Done(decision) => bail!("decided without a call: {decision:?}"),
        }
    }

    fn work(&self, entity: &str) -> anyhow::Result<Work> {
        Ok(match self.is_bare {
            true => Work::Update(self.update(entity)?),
            false => Work::Acquire(self.request(entity)),
        })
    }

    async fn perform(&self, work: &Work) -> anyhow::Result<()> {
        match work {
            Work::Acquire(request) => {
                let answer = self.limiter.acquire(request.clone()).await;
                ensure!(answer.is_allowed(), "{answer:?}");
            }
            Work::Update(call) => drop(perform(&self.client, call.clone()).await?),
        }
        Ok(())
    }

    async fn debit(&self, entity: &str) -> anyhow::Result<Json> {
        self.perform(&Work::Acquire(self.request(entity))).await?;
        Ok(json!({}))
    }

    async fn load(&self, clients: Vec<Vec<String>>, seconds: Duration) -> anyhow::Result<Json> {
        let mut once = Vec::new();
        for entities in clients.clone() {
            let measured = self.clone();
            once.push(tokio::spawn(async move {
                for entity in &entities {
                    measured.debit(entity).await?;
                }
                anyhow::Ok(())
            }));
        }
        for client in once {
            client.await??;
        }
        let sent = self.client.stats().requests;
        let (cpu, began) = (cpu()?, Instant::now());
        let cycle =
            clients.into_iter().map(|entities| tokio::spawn(self.clone().cycle(entities, began + seconds)));
        let mut samples = Vec::new();
        for client in cycle.collect::<Vec<_>>() {
            samples.extend(client.await??);
        }
        let (seconds, cpu) = (began.elapsed(), self::cpu()? - cpu);
        let sent = self.client.stats().requests - sent;
        samples.sort_unstable();
        let percentile = |percent: usize| micros(samples[samples.len() * percent / 100]);
        let acquires = samples.len() as f64;
        Ok(json!({
            "acquires": acquires, "seconds": seconds.as_secs_f64(),
            "p50_us": percentile(50), "p99_us": percentile(99),
            "cpu_us": micros(cpu) / acquires, "requests": sent as f64 / acquires,
        }))
    }

    async fn cycle(self, entities: Vec<String>, until: Instant) -> anyhow::Result<Vec<Duration>> {
        let works = entities.iter().map(|entity| self.work(entity)).collect::<Result<Vec<_>, _>>()?;
        let mut samples = Vec::new();
        for work in works.iter().cycle() {
            let began = Instant::now();
            if began >= until {
                break;
            }
            self.perform(work).await?;
            samples.push(began.elapsed());
        }
        Ok(samples)
    }

    async fn end(&self, entity: &str, cold: bool) -> anyhow::Result<Json> {
        if cold {
            self.limiter.forget();
        }
        // On a thread of the runtime, like the requests of a server.
        let (measured, entity) = (self.clone(), entity.to_owned());
        tokio::spawn(async move { measured.ended(&entity).await }).await?
    }

    async fn ended(&self, entity: &str) -> anyhow::Result<Json> {
        if self.is_bare {
            let call = self.update(entity)?;
            let began = Instant::now();
            perform(&self.client, call).await?;
            return Ok(json!({
                "requests": 1, "round_trips": 1, "after": 0, "answer_us": micros(began.elapsed()),
            }));
        }
        let began = Instant::now();
        let answer = self.limiter.acquire(self.request(entity)).await;
        let took = began.elapsed();
        ensure!(answer.is_allowed(), "{answer:?}");
        self.limiter.flush().await;
        Ok(json!({
            "requests": answer.cost.requests, "round_trips": answer.cost.round_trips,
            "after": answer.follow_ups, "answer_us": micros(took),
        }))
    }

    /// The CPU time of one acquire whose update is answered at once: of the machine alone, and of the limiter
    /// around it.
    async fn decide(&self, entity: &str, times: u32) -> anyhow::Result<Json> {
        let now_ms = Clock::System.now_ms();
        let reply = perform(&self.client, self.update(entity)?).await?;
        let (engine, request) = (self.limiter.engine(), self.known(entity));
        let before = cpu()?;
        for _ in 0..times {
            let mut machine = engine.acquire(request.clone());
            machine.advance(now_ms, &[]);
            let Step::Done(decision) = machine.advance(now_ms, std::slice::from_ref(&reply)) else {
                bail!("it needs more calls");
            };
            ensure!(decision.outcome.is_admitted(), "{decision:?}");
        }
        let alone = cpu()? - before;

        let config =
            ClientConfig { interpose: Some(Arc::new(Canned(reply))), ..self.client.config().clone() };
        let limiter = Limiter::new(engine.clone(), Client::new(config)?, options());
        let before = cpu()?;
        for _ in 0..times {
            let answer = limiter.acquire(request.clone()).await;
            ensure!(answer.is_allowed(), "{answer:?}");
        }
        let unsent = cpu()? - before;
        let each = |cpu: Duration| micros(cpu) / f64::from(times);
        Ok(json!({ "alone_us": each(alone), "unsent_us": each(unsent) }))
    }
}

/// Answers every call with a recorded reply.
struct Canned(Reply);

impl Interpose for Canned {
    fn before<'a>(&'a self, _: &'a Call) -> BoxFuture<'a, Before> {
        Box::pin(async { Before::Answer(self.0.clone()) })
    }
}

/// The limits come from the table, and are kept as long as zae-limiter keeps them.
fn options() -> LimiterOptions {
    LimiterOptions {
        deadline: PATIENCE,
        keep_configuration_for: Some(Duration::from_secs(60)),
        ..LimiterOptions::default()
    }
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

/// The CPU time of this process so far, user and system, to 10 ms.
fn cpu() -> anyhow::Result<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The program's name comes in parentheses; what follows has numbers from 3 on: see proc(5).
    let (_, fields) = stat.rsplit_once(") ").context("no name in /proc/self/stat")?;
    let ticks = fields.split(' ').skip(14 - 3).take(2).map(str::parse::<u64>).sum::<Result<u64, _>>()?;
    Ok(Duration::from_millis(ticks * 10))
}
