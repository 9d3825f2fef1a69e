//! Acquires end to end over loopback: ours, zae-limiter's, and the bare update.

use std::time::Duration;

use anyhow::Context;
use serde::Deserialize;

use crate::{
    Arguments,
    bed::{Ask, Bed, Process, Who},
    table::{Table, digits, time},
};

/// Clients at the same time.
const CLIENTS: [usize; 3] = [1, 8, 64];
/// Entities that are used in a phase, by all of its clients together: so many that none meets the
/// thousand writes a second of its partition.
const ENTITIES: usize = 256;
/// Decisions without the network, each time; and of zae-limiter's, which take longer.
const DECISIONS: u32 = 100_000;
const PEERS_DECISIONS: u32 = 3_000;

/// What a client tells of a phase.
#[derive(Clone, Debug, Default, Deserialize)]
struct Loaded {
    acquires: f64,
    seconds: f64,
    p50_us: f64,
    p99_us: f64,
    /// Of the client's process, each acquire.
    cpu_us: f64,
    /// HTTP requests, each acquire.
    requests: f64,
}

impl Loaded {
    fn each_second(&self) -> f64 {
        self.acquires / self.seconds
    }
}

/// CPU of a decision without the network.
#[derive(Clone, Debug, Default, Deserialize)]
struct Decided {
    /// The decision alone.
    alone_us: f64,
    /// All of an acquire but the sending.
    unsent_us: f64,
}

pub(crate) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let bed = Bed::new(&arguments.python).await?;
    let mut subjects = Vec::new();
    for who in Who::ALL {
        subjects.push((who, bed.begin(who, &arguments.python).await?));
    }
    // Each takes its turn in each round, so that what else the machine does hits all of them alike.
    let (mut loads, mut decisions) = (Rounds::default(), Rounds::default());
    for round in 0..arguments.rounds {
        for clients in CLIENTS {
            for (who, process) in &mut subjects {
                let ask = Ask::Load { clients: entities(*who, round, clients), seconds: arguments.seconds };
                loads.add((*who, clients), process.ask::<Loaded>(&ask).await?);
            }
        }
        for (who, process) in subjects.iter_mut().filter(|(who, _)| *who != Who::Bare) {
            decisions.add((*who, 1), decide(*who, process).await?);
        }
    }

    println!("## End to end\n");
    print_loads(&loads)?;
    println!("## End to end, as ratios\n");
    print_ratios(&loads)?;
    println!("## The decision, no HTTP\n");
    print_decisions(&loads, &decisions)
}

/// New buckets in each phase; those of each client.
fn entities(who: Who, round: usize, clients: usize) -> Vec<Vec<String>> {
    let name = |number| format!("{who:?}-{round}-{clients}-{number}");
    (0..clients).map(|client| (client..ENTITIES).step_by(clients).map(name).collect()).collect()
}

async fn decide(who: Who, process: &mut Process) -> anyhow::Result<Decided> {
    let entity = entities(who, 0, 1)[0][0].clone();
    let times = if who.is_peers() { PEERS_DECISIONS } else { DECISIONS };
    process.ask(&Ask::Decide { entity, times }).await
}

/// What was measured in each round, of each case.
struct Rounds<T>(Vec<((Who, usize), T)>);

impl<T> Default for Rounds<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Rounds<T> {
    fn add(&mut self, case: (Who, usize), measured: T) {
        self.0.push((case, measured));
    }

    /// A figure of a case: the median of its rounds.
    fn median(&self, case: (Who, usize), figure: impl Fn(&T) -> f64) -> anyhow::Result<f64> {
        let figures = self.0.iter().filter(|(other, _)| *other == case).map(|(_, measured)| figure(measured));
        median(figures.collect()).with_context(|| format!("nothing was measured of {case:?}"))
    }
}

pub(crate) fn median(mut figures: Vec<f64>) -> Option<f64> {
    figures.sort_unstable_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied()
}

pub(crate) fn micros(figure: f64) -> String {
    time(Duration::from_secs_f64(figure / 1e6))
}

fn print_loads(loads: &Rounds<Loaded>) -> anyhow::Result<()> {
    let mut table =
        Table::new(["clients, who", "acquires/s", "p50", "p99", "client CPU, each", "requests, each"]);
    for clients in CLIENTS {
        for who in Who::ALL {
            let median = |figure: fn(&Loaded) -> f64| loads.median((who, clients), figure);
            table.row([
                format!("{clients}, {}", who.name()),
                digits(median(Loaded::each_second)?),
                micros(median(|loaded| loaded.p50_us)?),
                micros(median(|loaded| loaded.p99_us)?),
                micros(median(|loaded| loaded.cpu_us)?),
                digits(median(|loaded| loaded.requests)?),
            ]);
        }
    }
    table.print();
    Ok(())
}

/// Ours to the bare update, and the better one of zae-limiter's forms to ours.
fn print_ratios(loads: &Rounds<Loaded>) -> anyhow::Result<()> {
    let mut table = Table::new([
        "clients, who",
        "p50, of the bare update's",
        "acquires/s, times zae-limiter's",
        "client CPU, zae-limiter's times ours",
    ]);
    for clients in CLIENTS {
        for who in Who::ALL.into_iter().filter(|who| who.is_ours()) {
            let of = |who, figure: fn(&Loaded) -> f64| loads.median((who, clients), figure);
            let (sync, other) = (Who::Sync, Who::Async);
            let rate = of(sync, Loaded::each_second)?.max(of(other, Loaded::each_second)?);
            let cpu_us = of(sync, |loaded| loaded.cpu_us)?.min(of(other, |loaded| loaded.cpu_us)?);
            table.row([
                format!("{clients}, {}", who.name()),
                digits(of(who, |loaded| loaded.p50_us)? / of(Who::Bare, |loaded| loaded.p50_us)?),
                digits(of(who, Loaded::each_second)? / rate),
                digits(cpu_us / of(who, |loaded| loaded.cpu_us)?),
            ]);
        }
    }
    table.print();
    Ok(())
}

fn print_decisions(loads: &Rounds<Loaded>, decisions: &Rounds<Decided>) -> anyhow::Result<()> {
    let all = |who| loads.median((who, 1), |loaded| loaded.cpu_us);
    let alone = |who| decisions.median((who, 1), |decided| decided.alone_us);
    let least_us = alone(Who::Sync)?.min(alone(Who::Async)?);
    let mut table = Table::new([
        "client CPU of one acquire",
        "the decision alone",
        "all but the sending",
        "all, 1 client",
        "zae-limiter's decision, times ours",
    ]);
    for who in Who::ALL {
        let (decision, unsent, ratio) = match who {
            Who::Bare => ("–".into(), "–".into(), "–".into()),
            _ => (
                micros(alone(who)?),
                micros(decisions.median((who, 1), |decided| decided.unsent_us)?),
                if who.is_ours() { digits(least_us / alone(who)?) } else { "–".into() },
            ),
        };
        table.row([who.name().into(), decision, unsent, micros(all(who)?), ratio]);
    }
    table.print();
    Ok(())
}
