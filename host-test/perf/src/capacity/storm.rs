//! Ten thousand windows end in the same second, and all callers come back at once.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::ensure;
use onewindow::{AcquireRequest, Amount, Limit, Outcome};
use onewindow_host::{Engine, Limiter};

use super::price::usd_per_million;
use crate::{
    fixture::{Fixture, LENGTH_MS, QUOTA, ShardState},
    meter::Units,
    table::{Table, digits, time},
};

/// Entities with one shard: the requests for each, and its tokens.
const ENTITIES: u32 = 10_000;
const ASKED: u32 = 5;
const ALLOWED: u32 = 3;
/// The entity that all callers use: its shards, the requests for it, and its tokens.
const SHARDS: u32 = 32;
const HOT_ASKED: u32 = 4_000;
const HOT_ALLOWED: u32 = 3_200;
const HOT: u32 = ENTITIES;
/// Hosts, each with a memory of its own, and the requests that each has under way.
const HOSTS: usize = 8;
const AT_ONCE: usize = 8;

/// The answer to a caller, and its time.
struct Answered {
    number: u32,
    outcome: Outcome,
    answered: Duration,
    round_trips: u32,
}

pub(super) async fn run() -> anyhow::Result<()> {
    let fixture = Fixture::new(Engine::component()?).await?;
    let held = |number| match number {
        HOT => ShardState { capacity: HOT_ALLOWED.into(), ..ShardState::over(SHARDS) },
        _ => ShardState { capacity: ALLOWED.into(), ..ShardState::over(1) },
    };
    let items = (0..=HOT).flat_map(|number| {
        let held = held(number);
        (0..held.shard_count).map(move |shard| (number, shard, held))
    });
    fixture
        .put(items.map(|(number, shard, held)| fixture.item(&name(number), shard, held)).collect())
        .await?;

    let mut asks: Vec<u32> = (0..ENTITIES).flat_map(|number| [number; ASKED as usize]).collect();
    asks.extend([HOT; HOT_ASKED as usize]);
    fastrand::Rng::with_seed(1).shuffle(&mut asks);
    let request = |number| {
        let request = AcquireRequest {
            subject: fixture.subject(&name(number)),
            consume: vec![Amount::new(QUOTA, 1)],
            limits: vec![Limit::session(QUOTA, held(number).capacity, LENGTH_MS / 1000)],
            ..AcquireRequest::default()
        };
        (number, request)
    };
    let asks: Arc<[_]> = asks.into_iter().map(request).collect();

    let hosts = (0..HOSTS).map(|_| fixture.host(true)).collect::<anyhow::Result<Vec<_>>>()?;
    let next = Arc::new(AtomicUsize::new(0));
    let before = fixture.meter.total();
    let began = Instant::now();
    let callers: Vec<_> = hosts
        .iter()
        .flat_map(|host| vec![host; AT_ONCE])
        .map(|host| tokio::spawn(call(host.clone(), Arc::clone(&asks), Arc::clone(&next))))
        .collect();
    let mut answers = Vec::with_capacity(asks.len());
    for caller in callers {
        answers.extend(caller.await?);
    }
    let answered_after = began.elapsed();
    for host in &hosts {
        host.flush().await;
    }
    report(&answers, answered_after, fixture.meter.total() - before)
}

fn name(number: u32) -> String {
    format!("user-{number}")
}

/// Sends one request after the other, as long as there are more.
async fn call(host: Limiter, asks: Arc<[(u32, AcquireRequest)]>, next: Arc<AtomicUsize>) -> Vec<Answered> {
    let mut answers = Vec::new();
    while let Some((number, request)) = asks.get(next.fetch_add(1, Ordering::Relaxed)) {
        let began = Instant::now();
        let answer = host.acquire(request.clone()).await;
        answers.push(Answered {
            number: *number,
            outcome: answer.decision.outcome,
            answered: began.elapsed(),
            round_trips: answer.cost.round_trips,
        });
    }
    answers
}

fn report(answers: &[Answered], answered_after: Duration, units: Units) -> anyhow::Result<()> {
    let mut admitted: HashMap<u32, u32> = HashMap::new();
    for answer in answers.iter().filter(|answer| answer.outcome.is_admitted()) {
        *admitted.entry(answer.number).or_default() += 1;
    }
    let most = |number| if number == HOT { HOT_ALLOWED } else { ALLOWED };
    let over = admitted.iter().filter(|(number, admitted)| **admitted > most(**number)).count();
    ensure!(over == 0, "{over} entities were admitted more than they may have");

    let mut table = Table::new(["", "10,000 entities, 1 shard each", "one entity, 32 shards"]);
    let mut row = |what: &str, cell: &dyn Fn(&[&Answered]) -> String| {
        let of =
            |hot: bool| answers.iter().filter(|answer| (answer.number == HOT) == hot).collect::<Vec<_>>();
        table.row([what.to_owned(), cell(&of(false)), cell(&of(true))]);
    };
    let count = |is: fn(&Outcome) -> bool| {
        move |answers: &[&Answered]| answers.iter().filter(|answer| is(&answer.outcome)).count().to_string()
    };
    let answered = |percent: usize| {
        move |answers: &[&Answered]| {
            let mut times: Vec<_> = answers.iter().map(|answer| answer.answered).collect();
            times.sort_unstable();
            time(times[(times.len() - 1) * percent / 100])
        }
    };
    row("acquires", &|answers| answers.len().to_string());
    row("might be admitted", &|answers| {
        if answers[0].number == HOT { HOT_ALLOWED } else { ENTITIES * ALLOWED }.to_string()
    });
    row("admitted", &count(Outcome::is_admitted));
    row("rejected", &count(|outcome| matches!(outcome, Outcome::Rejected { .. })));
    row("contended", &count(|outcome| matches!(outcome, Outcome::Contended { .. })));
    row(
        "anything else",
        &count(|outcome| {
            !matches!(outcome, Outcome::Admitted(_) | Outcome::Rejected { .. } | Outcome::Contended { .. })
        }),
    );
    row("round trips to an answer", &|answers| {
        digits(f64::from(answers.iter().map(|answer| answer.round_trips).sum::<u32>()) / answers.len() as f64)
    });
    row("answer, median", &answered(50));
    row("answer, 99 %", &answered(99));
    table.print();

    let mut table = Table::new(["all of it", ""]);
    table.row(["requests, with what follows the answers".to_owned(), units.requests.to_string()]);
    table.row(["of them refused by a condition".to_owned(), units.refused.to_string()]);
    table.row(["write request units".to_owned(), units.written.to_string()]);
    table.row(["read request units".to_owned(), units.read.to_string()]);
    table.row(["the last answer after".to_owned(), time(answered_after)]);
    table.row(["dollars".to_owned(), format!("{:.3}", usd_per_million(units) / 1e6)]);
    table.print();
    Ok(())
}
