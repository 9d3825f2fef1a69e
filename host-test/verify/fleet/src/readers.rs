//! Both sides read the same buckets at the same time. They must report the same reset instant.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use onewindow::{PreviewOutcome, Subject};
use onewindow_host::{Clock, Credentials};
use serde_json::Value;

use crate::{
    ledger::{Ledger, QUOTA},
    plan::{Plan, RESOURCE},
    process::Peer,
    worker,
};

/// How far both sides agree.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agreement {
    /// Pairs of reads.
    pub(crate) read: u64,
    /// Pairs during which no shard's window changed and all shards had one start.
    pub(crate) compared: u64,
    /// Of these, pairs that reported a reset.
    pub(crate) with_reset: u64,
    pub(crate) differences: Vec<String>,
    pub(crate) errors: Vec<String>,
}

/// Reads until it is aborted.
pub(crate) async fn compare(
    plan: Plan,
    mut peer: Peer,
    ledger: Arc<Mutex<Ledger>>,
    agreement: Arc<Mutex<Agreement>>,
) -> anyhow::Result<()> {
    let limiter = worker::limiter(&plan, Credentials::fixed("operator-reader", "fleet", None))?;
    loop {
        for entity in plan.entities_at(Clock::System.now_ms()) {
            let subject = Subject::new(&plan.table, &plan.namespace, &entity, RESOURCE);
            let bucket = subject.bucket_pk(0).trim_end_matches("#0").to_owned();
            let before = windows(&ledger, &bucket);
            let began_ms = Clock::System.now_ms();
            let ours = limiter.preview(subject, worker::limits(&plan)).await.outcome;
            let theirs = peer.ask(&entity)?;
            let after = windows(&ledger, &bucket);
            let mut agreement = agreement.lock().unwrap_or_else(PoisonError::into_inner);
            agreement.read += 1;
            let undisturbed = before == after && after.is_some_and(|(_, agree)| agree);
            agreement.add(&entity, &ours, &theirs, began_ms, undisturbed);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The version of a bucket's windows, and whether all of its shards have one start.
fn windows(ledger: &Mutex<Ledger>, bucket: &str) -> Option<(u64, bool)> {
    let ledger = ledger.lock().unwrap_or_else(PoisonError::into_inner);
    let bucket = ledger.buckets.get(bucket)?;
    let mut starts = bucket.shards.values().map(|shard| shard.start);
    let first = starts.next()?;
    Some((bucket.version, starts.all(|start| start == first)))
}

impl Agreement {
    fn add(&mut self, entity: &str, ours: &PreviewOutcome, theirs: &Value, began_ms: u64, undisturbed: bool) {
        let report = match ours {
            PreviewOutcome::Report(report) => report,
            other => return self.errors.push(format!("our preview of {entity}: {other:?}")),
        };
        if theirs.get("error").is_some() {
            return self.errors.push(format!("the peer's read of {entity}: {theirs}"));
        }
        if !undisturbed {
            return;
        }
        let status = report.limits.iter().find(|limit| limit.status.name == QUOTA).map(|limit| &limit.status);
        let ours = status.and_then(|status| status.resets_at_ms);
        let peer = theirs["resets_at_ms"].as_u64();
        // A window may end between the two reads. What we report is at most one length ahead, even where a
        // clock that ran ahead put the start into the future.
        let peer_now_ms = theirs["now_ms"].as_u64().unwrap_or(began_ms);
        let ended_between = ours.or(peer).is_some_and(|end| (began_ms..=peer_now_ms).contains(&end));
        let capped = peer.is_some_and(|end| end > began_ms + report_length_ms(report));
        if ended_between || capped {
            return;
        }
        self.compared += 1;
        self.with_reset += u64::from(ours.is_some());
        if ours != peer {
            self.differences.push(format!("{entity}: we report {ours:?}, the peer {peer:?}, at {began_ms}"));
        }
    }
}

/// The window's length, from the stored start and end of any shard.
fn report_length_ms(report: &onewindow::PreviewReport) -> u64 {
    let shards =
        report.limits.iter().filter(|limit| limit.status.name == QUOTA).flat_map(|limit| &limit.shards);
    shards.filter_map(|shard| Some(shard.ends_at_ms? - shard.starts_at_ms?)).max().unwrap_or(u64::MAX >> 1)
}
