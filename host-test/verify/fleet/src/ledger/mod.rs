//! The ledgers of the fleet, from the table's history alone: what was debited in which window, by whom, and
//! which invariants were broken.

mod booking;
mod bucket;
mod kind;
mod quota;

use std::collections::{BTreeMap, HashMap};

use booking::Booking;
pub(crate) use bucket::{Bucket, Debited};
pub(crate) use kind::Kind;
pub(crate) use quota::QUOTA;

use crate::history::{Commit, place};

/// A broken invariant.
#[derive(Clone, Debug)]
pub(crate) struct Violation {
    pub(crate) invariant: &'static str,
    /// Whose write showed it. The trace shows who caused it.
    pub(crate) kind: Kind,
    pub(crate) how: String,
    /// The bucket's history up to this write.
    pub(crate) trace: Vec<String>,
}

/// The ledgers of all buckets.
#[derive(Default)]
pub(crate) struct Ledger {
    pub(crate) buckets: HashMap<String, Bucket>,
    pub(crate) violations: Vec<Violation>,
    /// Violations that the other implementations made by themselves, each with its cause.
    pub(crate) theirs: Vec<Violation>,
    /// Shards created, counts doubled and windows reset, by writer.
    pub(crate) created: BTreeMap<Kind, u64>,
    pub(crate) doubled: BTreeMap<Kind, u64>,
    pub(crate) resets: BTreeMap<Kind, u64>,
    /// Spent beyond a pending shard's new share: I1's one exception, millitokens.
    pub(crate) excess: i128,
    pub(crate) commits: u64,
    /// Millitokens that a correction adds; no acquire debits as much at once.
    pub(crate) correction: i128,
}

impl Ledger {
    /// Records one commit.
    pub(crate) fn observe(&mut self, commit: &Commit) {
        self.commits += 1;
        let kind = Kind::of(&commit.client);
        let lines = commit.lines();
        for (write, line) in commit.writes.iter().zip(lines) {
            let Some((name, shard)) = place(&write.pk) else { continue };
            let bucket = self.buckets.entry(name.to_owned()).or_default();
            bucket.trace.push(line);
            let found = Booking {
                kind,
                shard,
                sequence: commit.sequence,
                correction: self.correction,
                excess: &mut self.excess,
                created: &mut self.created,
                doubled: &mut self.doubled,
                resets: &mut self.resets,
            }
            .book(bucket, write);
            for (invariant, start, how) in found {
                // One window is one violation, however often it is debited.
                if !bucket.reported.insert((invariant, start)) {
                    continue;
                }
                let trace = bucket.trace.clone();
                let window = start - bucket.length_ms + 1..start + bucket.length_ms;
                let cause = bucket.regranted.range(window).next().filter(|_| invariant == "I1");
                let because = cause.map_or(String::new(), |(_, cause)| format!(": {cause}"));
                let how = format!("{how} ({name}, shard {shard}){because}");
                let own = cause.is_some() || (invariant == "R5" && kind.is_peer());
                let list = if own { &mut self.theirs } else { &mut self.violations };
                list.push(Violation { invariant, kind, how, trace });
            }
        }
    }
}
