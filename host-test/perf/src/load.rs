//! Acquires end to end over loopback: ours, zae-limiter's, and the bare update.

use std::time::Duration;

use anyhow::Context;
use serde::Deserialize;

use crate::{
    arguments::Arguments,
    processes::{EngineProcess, Process},
    protocol::{Implementation, Task},
    table::{Table, digits, time},
};

/// Clients at the same time.
const CLIENTS: [usize; 3] = [1, 8, 64];
/// Entities of a phase, shared by its clients. There are enough that no partition reaches a thousand writes
/// a second.
const ENTITIES: usize = 256;
/// Decisions without the network; fewer of zae-limiter's, which last longer.
const DECISIONS: u32 = 100_000;
const PEERS_DECISIONS: u32 = 3_000;

/// What a client measured in a phase.
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
    let engine = EngineProcess::new(&arguments.python).await?;
    let mut subjects = Vec::new();
    for implementation in Implementation::ALL {
        subjects.push((implementation, engine.begin(implementation, &arguments.python).await?));
    }
    // All are measured in each round, so that other work on the machine affects all of them.
    let (mut loads, mut decisions) = (Rounds::default(), Rounds::default());
    for round in 0..arguments.rounds {
        for clients in CLIENTS {
            for (implementation, process) in &mut subjects {
                let task = Task::Load {
                    clients: entities(*implementation, round, clients),
                    seconds: arguments.seconds,
                };
                loads.add((*implementation, clients), process.ask::<Loaded>(&task).await?);
            }
        }
        for (implementation, process) in
            subjects.iter_mut().filter(|(implementation, _)| *implementation != Implementation::Bare)
        {
            decisions.add((*implementation, 1), decide(*implementation, process).await?);
        }
    }

    println!("## End to end\n");
    print_loads(&loads)?;
    println!("## End to end, as ratios\n");
    print_ratios(&loads)?;
    println!("## The decision, no HTTP\n");
    print_decisions(&loads, &decisions)
}

/// The entities of each client, new ones in each phase.
fn entities(implementation: Implementation, round: usize, clients: usize) -> Vec<Vec<String>> {
    let name = |number| format!("{implementation:?}-{round}-{clients}-{number}");
    (0..clients).map(|client| (client..ENTITIES).step_by(clients).map(name).collect()).collect()
}

async fn decide(implementation: Implementation, process: &mut Process) -> anyhow::Result<Decided> {
    let entity = entities(implementation, 0, 1)[0][0].clone();
    let times = if implementation.is_peers() { PEERS_DECISIONS } else { DECISIONS };
    process.ask(&Task::Decide { entity, times }).await
}

/// What was measured in each round, of each case.
struct Rounds<T>(Vec<((Implementation, usize), T)>);

impl<T> Default for Rounds<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Rounds<T> {
    fn add(&mut self, case: (Implementation, usize), measured: T) {
        self.0.push((case, measured));
    }

    /// A figure of a case: the median of its rounds.
    fn median(&self, case: (Implementation, usize), figure: impl Fn(&T) -> f64) -> anyhow::Result<f64> {
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
        for implementation in Implementation::ALL {
            let median = |figure: fn(&Loaded) -> f64| loads.median((implementation, clients), figure);
            table.row([
                format!("{clients}, {}", implementation.name()),
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
        for implementation in
            Implementation::ALL.into_iter().filter(|implementation| implementation.is_ours())
        {
            let of =
                |implementation, figure: fn(&Loaded) -> f64| loads.median((implementation, clients), figure);
            let (sync, other) = (Implementation::Sync, Implementation::Async);
            let rate = of(sync, Loaded::each_second)?.max(of(other, Loaded::each_second)?);
            let cpu_us = of(sync, |loaded| loaded.cpu_us)?.min(of(other, |loaded| loaded.cpu_us)?);
            table.row([
                format!("{clients}, {}", implementation.name()),
                digits(
                    of(implementation, |loaded| loaded.p50_us)?
                        / of(Implementation::Bare, |loaded| loaded.p50_us)?,
                ),
                digits(of(implementation, Loaded::each_second)? / rate),
                digits(cpu_us / of(implementation, |loaded| loaded.cpu_us)?),
            ]);
        }
    }
    table.print();
    Ok(())
}

fn print_decisions(loads: &Rounds<Loaded>, decisions: &Rounds<Decided>) -> anyhow::Result<()> {
    let all = |implementation| loads.median((implementation, 1), |loaded| loaded.cpu_us);
    let alone = |implementation| decisions.median((implementation, 1), |decided| decided.alone_us);
    let least_us = alone(Implementation::Sync)?.min(alone(Implementation::Async)?);
    let mut table = Table::new([
        "client CPU of one acquire",
        "the decision alone",
        "all but the sending",
        "all, 1 client",
        "zae-limiter's decision, times ours",
    ]);
    for implementation in Implementation::ALL {
        let (decision, unsent, ratio) = match implementation {
            Implementation::Bare => ("–".into(), "–".into(), "–".into()),
            _ => (
                micros(alone(implementation)?),
                micros(decisions.median((implementation, 1), |decided| decided.unsent_us)?),
                if implementation.is_ours() {
                    digits(least_us / alone(implementation)?)
                } else {
                    "–".into()
                },
            ),
        };
        table.row([implementation.name().into(), decision, unsent, micros(all(implementation)?), ratio]);
    }
    table.print();
    Ok(())
}
