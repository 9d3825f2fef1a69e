//! Who admitted how much in each window, and the invariants that were broken.

#![expect(clippy::print_stdout, reason = "the report is the point")]

use crate::{
    ledger::{Debited, Kind, Ledger},
    process::Worker,
    readers::Agreement,
};

/// A window: starts less than one length apart are one.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub(crate) bucket: String,
    pub(crate) start: i128,
    pub(crate) capacity: i128,
    /// Distinct starts in it.
    pub(crate) starts: usize,
    pub(crate) shard_count: usize,
    pub(crate) debited: Debited,
}

pub(crate) fn windows(ledger: &Ledger) -> Vec<Window> {
    let mut found: Vec<Window> = Vec::new();
    for (name, bucket) in &ledger.buckets {
        let mut open: Option<Window> = None;
        for (start, debited) in &bucket.windows {
            match &mut open {
                Some(window) if *start < window.start + bucket.length_ms => {
                    window.starts += 1;
                    window.debited.corrections += debited.corrections;
                    for (kind, milli) in &debited.by {
                        *window.debited.by.entry(*kind).or_default() += milli;
                    }
                }
                _ => found.extend(open.replace(Window {
                    bucket: name.rsplit_once("BUCKET#").map_or(name.as_str(), |(_, rest)| rest).into(),
                    start: *start,
                    capacity: bucket.capacity,
                    starts: 1,
                    shard_count: bucket.shards.len(),
                    debited: debited.clone(),
                })),
            }
        }
        found.extend(open);
    }
    found.sort_by_key(|window| (window.start, window.bucket.clone()));
    found
}

/// Prints the report; whether everything held.
pub(crate) fn print(
    ledger: &Ledger,
    workers: &[Worker],
    agreement: &Agreement,
    refused: &[(String, u64)],
    requests: u64,
    began_ms: u64,
) -> bool {
    let windows = windows(ledger);
    println!(
        "\n   start s  bucket                   shards starts    ours  async   sync    old   total of capacity"
    );
    for window in &windows {
        let of = |kind| tokens(window.debited.by.get(&kind).copied().unwrap_or(0));
        println!(
            "{:>10.3}  {:<24} {:>6} {:>6} {:>7} {:>6} {:>6} {:>6} {:>7} of {}{}",
            seconds(window.start - i128::from(began_ms)),
            window.bucket,
            window.shard_count,
            window.starts,
            of(Kind::Ours),
            of(Kind::Async),
            of(Kind::Sync),
            of(Kind::Old),
            tokens(window.debited.total()),
            tokens(window.capacity),
            match window.debited.corrections {
                0 => String::new(),
                more => format!(" + {} corrected", tokens(more)),
            },
        );
    }
    println!("\n  process    clock ms  killed   acquires  admitted  rejected   errors");
    let mut sum = [0; 3];
    let mut errors = Vec::new();
    for worker in workers {
        let progress = worker.progress.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let total = progress.total();
        println!(
            "  {:<10} {:>8} {:>7} {:>10} {:>9} {:>9} {:>8}",
            worker.name,
            worker.plan.skew_ms,
            worker.kills,
            total[0],
            total[1],
            total[2],
            progress.errors.len()
        );
        sum = std::array::from_fn(|index| sum[index] + total[index]);
        errors.extend(progress.errors.iter().map(|error| format!("{}: {error}", worker.name)));
    }
    let counted = |counts: &std::collections::BTreeMap<Kind, u64>| {
        let of = |kind: Kind| format!("{} {}", kind.name(), counts.get(&kind).copied().unwrap_or(0));
        Kind::WRITERS.map(of).join(", ")
    };
    println!(
        "\n  {} acquires, {} admitted, {} rejected; {requests} requests, {} writes landed",
        sum[0], sum[1], sum[2], ledger.commits
    );
    println!("  {} windows in {} buckets", windows.len(), ledger.buckets.len());
    println!("  shards created: {}", counted(&ledger.created));
    println!("  counts doubled: {}", counted(&ledger.doubled));
    println!("  resets: {}", counted(&ledger.resets));
    println!(
        "  reset instants read by both sides: {} pairs, {} comparable, {} with a reset, {} differ",
        agreement.read,
        agreement.compared,
        agreement.with_reset,
        agreement.differences.len()
    );
    println!(
        "  spent of a pending shard beyond its new share (the exception of I1): {} tokens",
        tokens(ledger.excess)
    );
    for error in errors.iter().chain(&agreement.errors).take(20) {
        println!("  ✘ error: {error}");
    }
    for (message, times) in refused {
        println!("  ✘ refused by the table {times} times: {message}");
    }
    for difference in agreement.differences.iter().take(20) {
        println!("  ✘ reset instants differ: {difference}");
    }
    for violation in ledger.violations.iter().take(20) {
        println!("  ✘ {} by {}: {}", violation.invariant, violation.kind.name(), violation.how);
    }
    for violation in ledger.theirs.iter().take(20) {
        println!("  · {} broken among the others: {}", violation.invariant, violation.how);
    }
    println!(
        "\n  {} violations; {} more that the other implementations made by themselves",
        ledger.violations.len(),
        ledger.theirs.len()
    );
    ledger.violations.is_empty()
        && errors.is_empty()
        && agreement.errors.is_empty()
        && agreement.differences.is_empty()
        && refused.is_empty()
}

fn tokens(milli: i128) -> i128 {
    milli.div_euclid(1000)
}

fn seconds(ms: i128) -> f64 {
    f64::from(i32::try_from(ms).unwrap_or(i32::MAX)) / 1000.0
}
