//! What is done after the answer: nobody waits for it, and the end of the process does.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use onewindow::{
    Call, Reply,
    wire::{Classification, classify},
};
use tokio::{sync::watch, time::Instant};

use crate::dynamo::{Client, Cost};

/// What became of the follow-ups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FollowUpStats {
    /// Calls made.
    pub calls: u64,
    /// Calls that never came to an answer of the table's. A condition that failed is an answer.
    pub failed: u64,
}

#[derive(Debug)]
pub(super) struct FollowUps {
    /// Tasks under way.
    running: watch::Sender<usize>,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    calls: AtomicU64,
    failed: AtomicU64,
}

impl Default for FollowUps {
    fn default() -> Self {
        Self { running: watch::Sender::new(0), counts: Arc::default() }
    }
}

impl FollowUps {
    /// Makes the calls at the same time, in a task of their own.
    pub(super) fn begin(&self, client: &Client, calls: Vec<Call>, deadline: Duration) {
        if calls.is_empty() {
            return;
        }
        let running = Running::new(&self.running);
        let (client, counts) = (client.clone(), Arc::clone(&self.counts));
        tokio::spawn(async move {
            let replies = client.perform(&calls, Instant::now() + deadline, &mut Cost::default()).await;
            calls.iter().zip(&replies).for_each(|(call, reply)| counts.add(call, reply));
            drop(running);
        });
    }

    pub(super) async fn flush(&self) {
        // Fails only without a sender, and `self` is one.
        let _ = self.running.subscribe().wait_for(|running| *running == 0).await;
    }

    pub(super) fn stats(&self) -> FollowUpStats {
        FollowUpStats {
            calls: self.counts.calls.load(Ordering::Relaxed),
            failed: self.counts.failed.load(Ordering::Relaxed),
        }
    }
}

impl Counts {
    fn add(&self, call: &Call, reply: &Reply) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let reason = match classify(reply) {
            Classification::Data => return,
            Classification::Retry(reason)
            | Classification::Lost(reason)
            | Classification::Unavailable(reason)
            | Classification::Misconfigured(reason) => reason,
            Classification::ClockSkew => "the table refuses the time of the signature".into(),
        };
        self.failed.fetch_add(1, Ordering::Relaxed);
        // Safe: the next use of the shard finds out by itself, and the caller was answered.
        tracing::warn!(operation = call.operation, %reason, "a follow-up failed");
    }
}

/// Counts a task as long as it lives, whatever ends it.
struct Running(watch::Sender<usize>);

impl Running {
    fn new(running: &watch::Sender<usize>) -> Self {
        running.send_modify(|running| *running += 1);
        Self(running.clone())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.send_modify(|running| *running -= 1);
    }
}
