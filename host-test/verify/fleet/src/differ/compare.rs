//! The comparison: a difference has a rule that explains it, or it fails.

#![expect(clippy::print_stdout, reason = "the table of differences is the point")]

use std::collections::BTreeMap;

use onewindow::Outcome;
use serde_json::Value;

use super::random::{Acquisition, Bucket, LENGTH_MS};
use crate::{
    history::{Image, number},
    ledger::QUOTA,
};

/// The acquires that were compared, and their differences.
#[derive(Default)]
pub(super) struct Differences {
    pub(super) acquires: u64,
    agreed: u64,
    explained: BTreeMap<&'static str, u64>,
    unexplained: Vec<String>,
}

const NEVER: &str = "R9: an amount above what the capacity can hold is refused as never fitting";
const GATHERED: &str = "R9: admitted after a survey of all shards where the drawn one is short";
const FORWARD: &str = "R6: rf strictly forward, and never behind a window it carries";
const FAST: &str = "R11: the fast write checks the window itself; the peer checks vu alone";
const JOINED: &str = "R7, R8: a shard created beside others, in one transaction";
const UNMARKED: &str = "R5: every materialisation stamps wa and gc, on items older than the markers too";
const ELSEWHERE: &str =
    "section 6: ours materialises the drawn shard and admits; the peer may try another first";
const REFUSED_MOVE: &str = "R1, R8: what a refused materialisation may write";

impl Differences {
    /// Compares the answers and the items of both sides; true: they are equal, and the sides may go on.
    pub(super) fn compare(
        &mut self,
        case: u64,
        round: u32,
        acquisition: &Acquisition,
        before: &Bucket,
        (ours, theirs): (&Outcome, &Value),
        (ours_after, theirs_after): (Bucket, Bucket),
    ) -> bool {
        let peers_answer = theirs["outcome"].as_str().unwrap_or("error");
        let our_answer = match ours {
            Outcome::Admitted(_) => "admitted",
            Outcome::Rejected { .. } => "rejected",
            Outcome::NeverFits { .. } => "never fits",
            _ => "error",
        };
        let reason = if our_answer != peers_answer {
            outcome_reason(acquisition, before, our_answer, peers_answer)
        } else if ours_after == theirs_after {
            self.agreed += 1;
            return true;
        } else {
            items_reason(acquisition, before, our_answer, &ours_after, &theirs_after)
        };
        match reason {
            Some(reason) => *self.explained.entry(reason).or_default() += 1,
            None => self.unexplained.push(format!(
                "case {case}, round {round}: at {} {:?} of shard {} of {}: we {ours:?}, they {theirs}\n    before {}\n    ours   {}\n    theirs {}",
                acquisition.now_ms, acquisition.consume, acquisition.shard, acquisition.count,
                shown(before), shown(&ours_after), shown(&theirs_after),
            )),
        }
        // In the next round the same difference would be counted again.
        false
    }

    pub(super) fn print(&self, cases: u64) -> bool {
        println!("\n  {} acquires on {cases} random buckets, by both sides", self.acquires);
        println!("  {:>6}  equal: the answer, and the items after it", self.agreed);
        for (reason, times) in &self.explained {
            println!("  {times:>6}  {reason}");
        }
        for unexplained in self.unexplained.iter().take(8) {
            println!("  ✘ {unexplained}");
        }
        println!("\n  {} unexplained", self.unexplained.len());
        self.unexplained.is_empty()
    }
}

fn outcome_reason(
    acquisition: &Acquisition,
    before: &Bucket,
    our_answer: &str,
    peers_answer: &str,
) -> Option<&'static str> {
    let sharded = acquisition.count > 1;
    match (our_answer, peers_answer) {
        ("never fits", "rejected") => Some(NEVER),
        ("admitted", "rejected") if sharded => Some(GATHERED),
        _ if before.get(&acquisition.shard).is_some_and(|item| is_ungated(item, acquisition.now_ms)) => {
            Some(FAST)
        }
        _ => None,
    }
}

/// Without `vu` the peer spends a balance whose reset is due; ours resets it first.
fn is_ungated(item: &Image, now_ms: i64) -> bool {
    let of = |field: &str| number(item, &format!("b_{QUOTA}_{field}"));
    let is_live = of("ws").is_some_and(|start| start + i128::from(LENGTH_MS) > i128::from(now_ms));
    let applied = of("wa").or(number(item, "rf"));
    number(item, "vu").is_none() && !(is_live && of("ws") <= applied)
}

fn items_reason(
    acquisition: &Acquisition,
    before: &Bucket,
    our_answer: &str,
    ours: &Bucket,
    theirs: &Bucket,
) -> Option<&'static str> {
    let drawn = before.get(&acquisition.shard);
    let without = |bucket: &Bucket, names: &[&str]| -> Bucket {
        let mut bucket = bucket.clone();
        bucket.values_mut().for_each(|item| item.retain(|name, _| !names.contains(&name.as_str())));
        bucket
    };
    let equal_without = |names: &[&str]| without(ours, names) == without(theirs, names);
    let (wa, gc) = (format!("b_{QUOTA}_wa"), format!("b_{QUOTA}_gc"));
    let sharded = acquisition.count > 1;
    match () {
        () if equal_without(&["rf"]) => Some(FORWARD),
        () if drawn.is_some_and(|item| number(item, &wa).is_none()) && equal_without(&["rf", &wa, &gc]) => {
            Some(UNMARKED)
        }
        () if drawn.is_none() && sharded => Some(JOINED),
        () if our_answer == "rejected" => Some(REFUSED_MOVE),
        () if drawn.is_some_and(|item| is_ungated(item, acquisition.now_ms)) => Some(FAST),
        () if sharded && our_answer == "admitted" && theirs.get(&acquisition.shard) == drawn => {
            Some(ELSEWHERE)
        }
        () if sharded
            && ours.iter().any(|(id, item)| *id != acquisition.shard && before.get(id) != Some(item)) =>
        {
            Some(GATHERED)
        }
        () => None,
    }
}

fn shown(bucket: &Bucket) -> String {
    let text = |item: &Image| {
        let pairs =
            item.iter().filter(|(name, _)| !matches!(name.as_str(), "b_rpm_cp" | "b_rpm_ra" | "b_rpm_rp"));
        let pairs: Vec<String> = pairs
            .map(|(name, value)| {
                format!("{}={}", name.trim_start_matches("b_"), value["N"].as_str().unwrap_or("?"))
            })
            .collect();
        pairs.join(" ")
    };
    bucket.iter().map(|(id, item)| format!("[{id}: {}]", text(item))).collect::<Vec<_>>().join(" ")
}
