//! Requests and capacity units, as the table counts them: by operation, by month, and for ten thousand windows
//! that end in the same second.

pub(crate) mod operations;
mod peer;
mod price;
mod storm;
mod workloads;

use std::path::Path;

use onewindow_host::Engine;
use serde_json::json;

use crate::{
    arguments::Arguments,
    fixture::{Fixture, NOW_MS},
    meter::Units,
    table::{Table, digits},
};
use operations::Operation;
use peer::Peer;
use price::{Costs, usd_per_million};

/// Entities that each operation is measured on.
const ENTITIES: u32 = 10;

pub(crate) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    println!("## By operation\n");
    let costs = by_operation(&arguments.python).await?;
    println!("## By the month\n");
    workloads::print(&costs)?;
    println!("## Ten thousand windows that end in the same second\n");
    storm::run().await
}

async fn by_operation(python: &Path) -> anyhow::Result<Costs> {
    let mut fixture = Fixture::new(Engine::component()?).await?;
    let (mut peer, namespace) = Peer::start(python, &fixture.meter.endpoint).await?;
    fixture.namespace = namespace;
    // It reads the configuration once, and what else it needs.
    let warm =
        json!({ "do": "acquire", "entity": "warm", "tokens": 1, "shard": 0, "count": 1, "now_ms": NOW_MS });
    for _ in 0..2 {
        peer.ask(&warm).await?;
    }
    let host = fixture.host(true)?;
    let mut costs = Costs::new();
    let mut table = Table::new([
        "operation",
        "requests",
        "WRU",
        "of them indexes",
        "RRU",
        "$ a million",
        "peer: requests",
        "WRU",
        "RRU",
        "$ a million",
    ]);
    for (number, (operation, shard_count)) in operations::ALL.into_iter().enumerate() {
        let mut sums = [Some(Units::default()); 2];
        for entity in 0..ENTITIES {
            let [ours, theirs] = ["ours", "theirs"].map(|by| format!("{by}-{number}-{entity}"));
            if operation == Operation::Cascade {
                for child in [&ours, &theirs] {
                    let family =
                        json!({ "do": "family", "parent": format!("{child}-parent"), "child": child });
                    peer.ask(&family).await?;
                }
            }
            let units = [
                Some(operation.ours(&fixture, &host, &ours, shard_count).await?.units),
                operation.theirs(&fixture, &mut peer, &theirs, shard_count).await?,
            ];
            for (sum, units) in sums.iter_mut().zip(units) {
                *sum = sum.zip(units).map(|(sum, taken)| sum + taken);
            }
        }
        let each = sums.map(|sum| sum.map(|sum| sum.each(f64::from(ENTITIES))));
        let [ours, theirs] = each;
        let cells = |units: Option<Units>, columns: &[fn(Units) -> f64]| {
            let cell = |of: &fn(Units) -> f64| units.map_or("–".into(), |units| digits(of(units)));
            let dollars = units.map_or("–".into(), |units| format!("{:.3}", usd_per_million(units)));
            columns.iter().map(cell).chain([dollars]).collect::<Vec<String>>()
        };
        let [requests, written, indexed, read]: [fn(Units) -> f64; 4] =
            [|units| units.requests, |units| units.written, |units| units.indexed, |units| units.read];
        let mut row = vec![operation.name(shard_count)];
        row.extend(cells(ours, &[requests, written, indexed, read]));
        row.extend(cells(theirs, &[requests, written, read]));
        table.row(row);
        costs.insert((operation, shard_count), each);
    }
    table.print();
    Ok(costs)
}
