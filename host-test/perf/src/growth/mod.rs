//! How the cost grows with shards, with limits on an item, with entities, and with open windows. Requests and
//! units are as the table counts them. Times are ratios to the first, within one run.

mod plot;

use std::{
    hint::black_box,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use onewindow::{AcquireRequest, Amount, MAX_LIMITS, Reply, Step};
use onewindow_host::{Engine, Limiter};
use serde_json::json;

use crate::{
    arguments::Arguments,
    capacity::operations::Operation,
    fixture::{Fixture, LENGTH_MS, NOW_MS, ShardState, Usage, limits},
    meter::Units,
    table::{Table, digits},
};
use plot::{Panel, Plot};

pub(crate) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    println!("## How cost grows\n");
    with_shards(&arguments.plots).await?;
    with_limits(&arguments.plots).await?;
    with_entities(&arguments.plots).await?;
    with_windows(&arguments.plots).await
}

/// Write and read request units.
fn all(units: Units) -> f64 {
    units.written + units.read
}

/// Draws it, and prints the same figures.
fn show(plot: &Plot, folder: &Path) -> anyhow::Result<()> {
    let lines =
        || plot.panels.iter().flat_map(|panel| panel.lines.iter().map(move |line| (panel.title, line)));
    let mut headers = vec![plot.over.to_owned()];
    headers.extend(lines().map(|(title, line)| format!("{title}: {}", line.name)));
    let mut table = Table::new(headers);
    for (index, place) in plot.places.iter().enumerate() {
        let figure = |figures: &Vec<f64>| figures.get(index).map_or(String::new(), |figure| digits(*figure));
        let mut cells = vec![place.to_string()];
        cells.extend(lines().map(|(_, line)| figure(&line.figures)));
        table.row(cells);
    }
    table.print();
    plot.draw(folder)
}

/// Each as a multiple of the first.
fn relative(times: Vec<f64>) -> Vec<f64> {
    let first = times.first().copied().unwrap_or(1.0);
    times.into_iter().map(|time| time / first).collect()
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 2).map_or(0.0, Duration::as_secs_f64)
}

// ---- shards ----

async fn with_shards(folder: &Path) -> anyhow::Result<()> {
    const SHARDS: [u32; 6] = [1, 2, 4, 8, 16, 32];
    const TIMED: u32 = 40;
    let fixture = Fixture::new(Engine::component()?).await?;
    let (metered, direct) = (fixture.host(true)?, fixture.host(false)?);
    let mut requests = Panel::new("requests, those after the answer too");
    let mut units = Panel::new("request units, write and read");
    let mut times = Panel::new("time to the answer, × that of 1 shard");
    for (name, operation) in [
        ("steady acquire", Operation::Steady),
        ("rejection", Operation::Rejected),
        ("opener", Operation::Opener),
        ("preview", Operation::Preview),
    ] {
        let mut costs = Vec::new();
        let mut answered = Vec::new();
        for shards in SHARDS {
            let entity = format!("{operation:?}-{shards}");
            costs.push(operation.ours(&fixture, &metered, &entity, shards).await?.units);
            let mut goes = Vec::new();
            for go in 0..TIMED {
                let Usage { answered, .. } =
                    operation.ours(&fixture, &direct, &format!("{entity}-{go}"), shards).await?;
                goes.push(answered);
            }
            answered.push(median(goes));
        }
        requests = requests.line(name, costs.iter().map(|units| units.requests).collect());
        units = units.line(name, costs.iter().map(|units| all(*units)).collect());
        times = times.line(name, relative(answered));
    }
    let places = SHARDS.into_iter().map(|shards| shards as usize).collect();
    show(&Plot { name: "shards", over: "shards", places, panels: vec![requests, units, times] }, folder)
}

// ---- limits ----

async fn with_limits(folder: &Path) -> anyhow::Result<()> {
    const QUOTAS: usize = 20;
    const OPENED_SHARDS: u32 = 8;
    let fixture = Fixture::new(Engine::component()?).await?;
    let host = fixture.host(true)?;
    let (mut one, mut every, mut opened) = (Vec::new(), Vec::new(), Vec::new());
    for quotas in 1..=QUOTAS {
        let held = ShardState { quotas, ..ShardState::live(1) };
        for (asked, costs) in [(1, &mut one), (quotas, &mut every)] {
            if asked > MAX_LIMITS {
                continue;
            }
            let entity = format!("{quotas}-{asked}");
            fixture.put_all(&entity, held).await?;
            let request = asking(&fixture, &entity, 0, 1, asked);
            costs.push(fixture.acquire(&host, request, true).await?.1.units);
        }
        if quotas <= MAX_LIMITS {
            let entity = format!("{quotas}-opened");
            fixture.put_all(&entity, ShardState { quotas, ..ShardState::over(OPENED_SHARDS) }).await?;
            let request = asking(&fixture, &entity, 0, OPENED_SHARDS, quotas);
            opened.push(fixture.acquire(&host, request, true).await?.1.units);
        }
    }
    let cost = |engine: &Engine, asked: fn(usize) -> usize| {
        let quotas = (1..=QUOTAS).filter(|quotas| asked(*quotas) <= MAX_LIMITS);
        let times = quotas.map(|quotas| decision(&fixture, engine, quotas, asked(quotas)));
        anyhow::Ok(relative(times.collect::<anyhow::Result<_>>()?))
    };
    let [native, component] = [Engine::native(), Engine::component()?];
    let decided = Panel::new("time of a steady decision, × that of 1 limit")
        .line("native, one asked for", cost(&native, |_| 1)?)
        .line("native, all asked for", cost(&native, |quotas| quotas)?)
        .line("component, one asked for", cost(&component, |_| 1)?)
        .line("component, all asked for", cost(&component, |quotas| quotas)?);
    let units = Panel::new("write request units of a steady acquire")
        .line("one asked for", one.iter().map(|units| all(*units)).collect())
        .line("all asked for, 12 at most", every.iter().map(|units| all(*units)).collect());
    let requests = Panel::new("requests where 8 shards open, after the answer too")
        .line("all quotas opened, 12 at most", opened.iter().map(|units| units.requests).collect());
    let places = (1..=QUOTAS).collect();
    show(
        &Plot { name: "limits", over: "limits on the item", places, panels: vec![units, requests, decided] },
        folder,
    )
}

/// One token of each of the first quotas.
fn asking(fixture: &Fixture, entity: &str, shard: u32, shard_count: u32, quotas: usize) -> AcquireRequest {
    let limits = limits(quotas);
    let consume = limits.iter().map(|limit| Amount::new(&limit.name, 1)).collect();
    AcquireRequest { consume, limits, ..fixture.request(entity, shard, shard_count, 1) }
}

/// Seconds of a steady decision on an item with this many quotas: of the fastest series, which other work on
/// the machine disturbed least.
fn decision(fixture: &Fixture, engine: &Engine, quotas: usize, asked: usize) -> anyhow::Result<f64> {
    const SERIES: usize = 15;
    const GOES: u32 = 300;
    let request = asking(fixture, "user-1", 0, 1, asked);
    let item = fixture.item("user-1", 0, ShardState { quotas, ..ShardState::live(1) });
    let landed = [Reply::Http { status: 200, body: json!({ "Attributes": item }).to_string() }];
    let decide = || {
        let mut machine = engine.acquire(request.clone());
        let _ = black_box(machine.advance(NOW_MS, &[]));
        machine.advance(NOW_MS, &landed)
    };
    let admitted = matches!(decide(), Step::Done(decision) if decision.outcome.is_admitted());
    ensure!(admitted, "{quotas} quotas, {asked} asked for: not admitted");
    let series = |_| {
        let began = Instant::now();
        for _ in 0..GOES {
            black_box(decide());
        }
        began.elapsed() / GOES
    };
    let fastest = (0..SERIES).map(series).min().context("no series")?;
    Ok(fastest.as_secs_f64())
}

// ---- entities and windows ----

/// 1, 10, 100, and so on.
fn powers_of_ten(most: usize) -> Vec<usize> {
    std::iter::successors(Some(1), |number| Some(number * 10)).take_while(|number| *number <= most).collect()
}

/// Acquires of random entities, one after the other: the units of each, and the median time to the answer.
async fn steady(
    fixture: &Fixture,
    host: &Limiter,
    entities: usize,
    goes: usize,
) -> anyhow::Result<(Units, f64)> {
    let mut random = fastrand::Rng::with_seed(1);
    let before = fixture.meter.total();
    let mut answers = Vec::with_capacity(goes);
    for _ in 0..goes {
        // The write budget of a single entity is refilled meanwhile.
        fixture.clock.advance(Duration::from_millis(5));
        let entity = format!("user-{}", random.usize(..entities));
        let request = AcquireRequest { hint: None, seed: 0, ..plain(fixture, &entity) };
        answers.push(fixture.acquire(host, request, true).await?.1.answered);
    }
    Ok(((fixture.meter.total() - before).each(goes as f64), median(answers)))
}

/// A request for one token, without a hint.
fn plain(fixture: &Fixture, entity: &str) -> AcquireRequest {
    let consume = vec![Amount::new(crate::fixture::QUOTA, 1)];
    AcquireRequest {
        subject: fixture.subject(entity),
        consume,
        limits: limits(1),
        ..AcquireRequest::default()
    }
}

async fn with_entities(folder: &Path) -> anyhow::Result<()> {
    const MOST: usize = 100_000;
    const GOES: usize = 1000;
    let fixture = Fixture::new(Engine::component()?).await?;
    let (metered, direct) = (fixture.host(true)?, fixture.host(false)?);
    let places = powers_of_ten(MOST);
    let (mut costs, mut answered, mut there) = (Vec::new(), Vec::new(), 0);
    for entities in &places {
        let more = there..*entities;
        fixture
            .put(more.map(|number| fixture.item(&format!("user-{number}"), 0, ShardState::live(1))).collect())
            .await?;
        there = *entities;
        costs.push(steady(&fixture, &metered, there, GOES).await?.0);
        answered.push(steady(&fixture, &direct, there, GOES).await?.1);
    }
    let panels = vec![
        Panel::new("a steady acquire, mean")
            .line("requests", costs.iter().map(|units| units.requests).collect())
            .line("request units", costs.iter().map(|units| all(*units)).collect()),
        Panel::new("time to the answer, × that of 1 entity").line("steady acquire", relative(answered)),
    ];
    show(&Plot { name: "entities", over: "entities", places, panels }, folder)
}

async fn with_windows(folder: &Path) -> anyhow::Result<()> {
    const MOST: usize = 10_000;
    const TIMED: usize = 500;
    let fixture = Fixture::new(Engine::component()?).await?;
    let (metered, direct) = (fixture.host(true)?, fixture.host(false)?);
    let places = powers_of_ten(MOST);
    let (mut costs, mut answered, mut there) = (Vec::new(), Vec::new(), 0);
    for windows in &places {
        let live = |number| {
            let began_ms = fixture.clock.now_ms() - 1000;
            let held = ShardState { starts_at_ms: began_ms, applied_ms: began_ms, ..ShardState::live(1) };
            fixture.item(&format!("user-{number}"), 0, held)
        };
        fixture.put((there..*windows).map(live).collect()).await?;
        there = *windows;
        let before = fixture.meter.total();
        all_end(&fixture, &metered, there).await?;
        costs.push((fixture.meter.total() - before).each(there as f64));
        let mut answers = Vec::new();
        while answers.len() < TIMED {
            answers.extend(all_end(&fixture, &direct, there).await?);
        }
        answered.push(median(answers));
    }
    let panels = vec![
        Panel::new("the acquire that opens the next window, mean")
            .line("requests", costs.iter().map(|units| units.requests).collect())
            .line("request units", costs.iter().map(|units| all(*units)).collect()),
        Panel::new("time to the answer, × that of 1 window").line("opener", relative(answered)),
    ];
    show(&Plot { name: "windows", over: "windows that end together", places, panels }, folder)
}

/// Every window ends, and each entity acquires once: the times to the answers.
async fn all_end(fixture: &Fixture, host: &Limiter, entities: usize) -> anyhow::Result<Vec<Duration>> {
    fixture.clock.advance(Duration::from_millis(2 * LENGTH_MS));
    let mut answers = Vec::with_capacity(entities);
    for number in 0..entities {
        let request = plain(fixture, &format!("user-{number}"));
        answers.push(fixture.acquire(host, request, true).await?.1.answered);
    }
    Ok(answers)
}
