//! The cost of a month, from the units of each operation.

use anyhow::Context;

use super::{
    operations::Operation as O,
    price::{Costs, usd_per_million},
};
use crate::{
    meter::Units,
    table::{Table, digits},
};

/// A month of use. Everything else in it is a steady acquire.
struct Workload {
    name: &'static str,
    /// Edge locations, each with a memory of its own.
    locations: u32,
    /// Requests for tokens, millions.
    acquires: f64,
    /// Windows opened, by the shards of their buckets, millions.
    sessions: &'static [(u32, f64)],
    /// Entities used for the first time, millions.
    new_entities: f64,
    /// The share of the acquires that is rejected.
    rejected: f64,
    /// Locations from which one blocked caller keeps asking. Each learns for itself.
    seen_from: f64,
    /// The share of the admissions that is settled to actual use.
    settled: f64,
    /// Previews, millions.
    previews: f64,
}

/// A location asks the table about a blocked caller every ten seconds, and repeats the rejection in between.
/// Of a caller that retries every second, one request in ten reaches the table.
const REJECTIONS_THAT_REACH_THE_TABLE: f64 = 0.1;

const WORKLOADS: [Workload; 3] = [
    Workload {
        name: "hobby API",
        locations: 1,
        acquires: 1.0,
        sessions: &[(1, 0.02)],
        new_entities: 0.001,
        rejected: 0.02,
        seen_from: 1.0,
        settled: 0.0,
        previews: 0.02,
    },
    Workload {
        name: "SaaS",
        locations: 3,
        acquires: 100.0,
        sessions: &[(1, 1.0), (8, 0.01)],
        new_entities: 0.01,
        rejected: 0.05,
        seen_from: 1.2,
        settled: 1.0,
        previews: 1.0,
    },
    Workload {
        name: "large fleet",
        locations: 20,
        acquires: 5000.0,
        sessions: &[(1, 40.0), (8, 0.1), (32, 0.01)],
        new_entities: 0.2,
        rejected: 0.1,
        seen_from: 2.0,
        settled: 0.2,
        previews: 40.0,
    },
];

impl Workload {
    /// How often each operation is done, millions.
    fn operations(&self) -> Vec<(O, u32, f64)> {
        let rejected = self.acquires * self.rejected;
        let reach = rejected * (REJECTIONS_THAT_REACH_THE_TABLE * self.seen_from).min(1.0);
        let all_sessions: f64 = self.sessions.iter().map(|(_, sessions)| sessions).sum();
        let mut done = vec![
            (O::First, 1, self.new_entities),
            (O::Remembered, 1, rejected - reach),
            (O::Settle, 1, (self.acquires - rejected) * self.settled),
        ];
        let mut steady = self.acquires - rejected - self.new_entities;
        for &(shard_count, sessions) in self.sessions {
            let share = sessions / all_sessions;
            let pending = sessions * f64::from(shard_count - 1);
            steady -= sessions + pending;
            done.extend([
                (O::Opener, shard_count, sessions),
                (O::Rejected, shard_count, reach * share),
                (O::Preview, shard_count, self.previews * share),
            ]);
            if pending > 0.0 {
                // Each of the others resets itself, with its next use.
                done.push((O::Pending, 8, pending));
            }
        }
        done.push((O::Steady, 1, steady));
        done
    }
}

pub(super) fn print(costs: &Costs) -> anyhow::Result<()> {
    let mut stated = Table::new([
        "a month of",
        "locations",
        "acquires, millions",
        "sessions, millions (shards)",
        "new entities, thousands",
        "rejected",
        "of them by the table",
        "settled",
        "previews, millions",
    ]);
    let mut priced = Table::new([
        "a month of",
        "requests, millions",
        "WRU, millions",
        "RRU, millions",
        "$",
        "$ a million acquires",
        "peer: requests, millions",
        "WRU, millions",
        "RRU, millions",
        "$",
        "$ a million acquires",
    ]);
    for workload in WORKLOADS {
        let percent = |share: f64| format!("{} %", share * 100.0);
        let sessions = workload.sessions.iter().map(|(shards, sessions)| format!("{sessions} ({shards})"));
        stated.row([
            workload.name.to_owned(),
            workload.locations.to_string(),
            workload.acquires.to_string(),
            sessions.collect::<Vec<_>>().join(", "),
            digits(workload.new_entities * 1000.0),
            percent(workload.rejected),
            percent(REJECTIONS_THAT_REACH_THE_TABLE * workload.seen_from),
            percent(workload.settled),
            workload.previews.to_string(),
        ]);
        let mut sums = [Units::default(); 2];
        for (operation, shard_count, times) in workload.operations() {
            let each = costs
                .get(&(operation, shard_count))
                .with_context(|| format!("{operation:?} of {shard_count} shards was not measured"))?;
            for (sum, units) in sums.iter_mut().zip(each) {
                let units = units.with_context(|| format!("{operation:?} is not done by both"))?;
                *sum = *sum + units.each(1.0 / times);
            }
        }
        let mut row = vec![workload.name.to_owned()];
        for sum in sums {
            let dollars = usd_per_million(sum);
            row.extend(
                [sum.requests, sum.written, sum.read, dollars, dollars / workload.acquires].map(digits),
            );
        }
        priced.row(row);
    }
    stated.print();
    priced.print();
    Ok(())
}
