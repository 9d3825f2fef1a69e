//! What it takes to answer the first acquire after a window's end, when the others have to be told.

use anyhow::Context;
use onewindow_host::Clock;
use serde::Deserialize;
use serde_json::Value as Json;

use crate::{
    Arguments,
    bed::{Ask, Bed, Process, WINDOW_SECONDS, Who},
    load::{median, micros},
    table::{Table, digits},
};

const SHARDS: [u32; 3] = [1, 8, 32];
/// Ends that are measured in each round, of each case.
const ENDS: usize = 7;

/// What a client tells of one acquire.
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
    let bed = Bed::new(&arguments.python).await?;
    let mut subjects = Vec::new();
    for who in Who::ALL {
        subjects.push((who, bed.begin(who, &arguments.python).await?));
    }
    let mut measured = Vec::new();
    for number in 0..arguments.rounds * ENDS {
        for shards in SHARDS {
            for cold in [false, true] {
                for (who, process) in &mut subjects {
                    let entity = format!("{who:?}-{shards}-{cold}-{number}");
                    let ended = end(&bed, *who, process, &entity, shards, cold).await?;
                    measured.push(((*who, shards, cold), ended));
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
    bed: &Bed,
    who: Who,
    process: &mut Process,
    entity: &str,
    shards: u32,
    cold: bool,
) -> anyhow::Result<Ended> {
    let now_ms = Clock::System.now_ms();
    // The bare update is the unit of time: it opens nothing.
    if who == Who::Bare {
        bed.put_shards(entity, 1, now_ms - 1000).await?;
    } else {
        bed.put_shards(entity, shards, now_ms - 1000).await?;
        if !cold {
            process.ask::<Json>(&Ask::Debit { entity: entity.into() }).await?;
        }
        bed.put_shards(entity, shards, now_ms - WINDOW_SECONDS * 1000).await?;
    }
    process.ask(&Ask::End { entity: entity.into(), cold }).await
}

fn print(measured: &[((Who, u32, bool), Ended)], cold: bool) -> anyhow::Result<()> {
    let mut table = Table::new([
        "shards, who",
        "requests before the answer",
        "round trips before it",
        "requests after it",
        "time to answer",
        "in bare updates",
    ]);
    for shards in SHARDS {
        let figure = |who: Who, figure: fn(&Ended) -> f64| {
            let case = (who, shards, cold);
            let figures = measured.iter().filter(|(other, _)| *other == case).map(|(_, ended)| figure(ended));
            median(figures.collect()).context("nothing was measured")
        };
        let bare_us = figure(Who::Bare, |ended| ended.answer_us)?;
        for who in Who::ALL.into_iter().filter(|who| *who != Who::Bare) {
            let answer_us = figure(who, |ended| ended.answer_us)?;
            table.row([
                format!("{shards}, {}", who.name()),
                figure(who, |ended| ended.requests)?.to_string(),
                figure(who, |ended| ended.round_trips)?.to_string(),
                figure(who, |ended| ended.after)?.to_string(),
                micros(answer_us),
                digits(answer_us / bare_us),
            ]);
        }
    }
    table.print();
    Ok(())
}
