//! The cost of the first acquire after a window's end, which propagates the new window.

use anyhow::Context;
use onewindow_host::Clock;
use serde::Deserialize;
use serde_json::Value as Json;

use crate::{
    arguments::Arguments,
    load::{median, micros},
    processes::{EngineProcess, Process},
    protocol::{Implementation, Task, WINDOW_SECONDS},
    table::{Table, digits},
};

const SHARDS: [u32; 3] = [1, 8, 32];
/// Window ends that are measured in each round, for each case.
const ENDS: usize = 7;

/// What a client measured of one acquire.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Ended {
    /// HTTP requests before the answer.
    requests: f64,
    /// Sequential waits before the answer.
    round_trips: f64,
    /// HTTP requests after the answer.
    after: f64,
    answer_us: f64,
}

pub(crate) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let engine = EngineProcess::new(&arguments.python).await?;
    let mut subjects = Vec::new();
    for implementation in Implementation::ALL {
        subjects.push((implementation, engine.begin(implementation, &arguments.python).await?));
    }
    let mut measured = Vec::new();
    for number in 0..arguments.rounds * ENDS {
        for shards in SHARDS {
            for cold in [false, true] {
                for (implementation, process) in &mut subjects {
                    let entity = format!("{implementation:?}-{shards}-{cold}-{number}");
                    let ended = end(&engine, *implementation, process, &entity, shards, cold).await?;
                    measured.push(((*implementation, shards, cold), ended));
                }
            }
        }
    }
    println!("## At a window's end\n");
    for (cold, host) in [(false, "A host that knows the bucket"), (true, "A host that has just started")] {
        println!("{host}:\n");
        print(&measured, cold)?;
    }
    Ok(())
}

/// One acquire at the end of a bucket's window.
async fn end(
    engine: &EngineProcess,
    implementation: Implementation,
    process: &mut Process,
    entity: &str,
    shards: u32,
    cold: bool,
) -> anyhow::Result<Ended> {
    let now_ms = Clock::System.now_ms();
    // The bare update is the unit of time. It opens no window.
    if implementation == Implementation::Bare {
        engine.put_shards(entity, 1, now_ms - 1000).await?;
    } else {
        engine.put_shards(entity, shards, now_ms - 1000).await?;
        if !cold {
            process.ask::<Json>(&Task::Debit { entity: entity.into() }).await?;
        }
        engine.put_shards(entity, shards, now_ms - WINDOW_SECONDS * 1000).await?;
    }
    process.ask(&Task::End { entity: entity.into(), cold }).await
}

fn print(measured: &[((Implementation, u32, bool), Ended)], cold: bool) -> anyhow::Result<()> {
    let mut table = Table::new([
        "shards, who",
        "requests before the answer",
        "round trips before it",
        "requests after it",
        "time to answer",
        "in bare updates",
    ]);
    for shards in SHARDS {
        let figure = |implementation: Implementation, figure: fn(&Ended) -> f64| {
            let case = (implementation, shards, cold);
            let figures = measured.iter().filter(|(other, _)| *other == case).map(|(_, ended)| figure(ended));
            median(figures.collect()).context("nothing was measured")
        };
        let bare_us = figure(Implementation::Bare, |ended| ended.answer_us)?;
        for implementation in
            Implementation::ALL.into_iter().filter(|implementation| *implementation != Implementation::Bare)
        {
            let answer_us = figure(implementation, |ended| ended.answer_us)?;
            table.row([
                format!("{shards}, {}", implementation.name()),
                figure(implementation, |ended| ended.requests)?.to_string(),
                figure(implementation, |ended| ended.round_trips)?.to_string(),
                figure(implementation, |ended| ended.after)?.to_string(),
                micros(answer_us),
                digits(answer_us / bare_us),
            ]);
        }
    }
    table.print();
    Ok(())
}
