//! The calls after the answer. Only [`Limiter::flush`](super::Limiter::flush) waits for them.

use std::{
    fmt,
    future::poll_fn,
    mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::{Poll, Waker},
    time::{Duration, Instant},
};

use onewindow::Call;

use crate::dynamo::{Client, Cost, Transport, failure};

/// When follow-ups are sent.
#[derive(Debug)]
pub enum AfterAnswer<T> {
    /// At the next [`Limiter::flush`](super::Limiter::flush), for edge guests: only the guest knows when
    /// its answer was sent.
    Keep,
    /// At once, in a task that this function spawns for them.
    Spawn(fn(FollowUp<T>)),
}

/// The follow-ups of one answer.
#[derive(Debug)]
#[must_use = "they are not made before it is run"]
pub struct FollowUp<T> {
    client: Client<T>,
    calls: Vec<Call>,
    within: Duration,
    open: Open,
}

/// The results of the follow-ups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FollowUpStats {
    /// Calls made.
    pub calls: u64,
    /// Calls that the table never answered. A failed condition is an answer.
    pub failed: u64,
}

impl<T: Transport> FollowUp<T> {
    /// Makes the calls at the same time.
    pub async fn run(self) {
        let Self { client, calls, within, open } = self;
        let replies = client.perform(&calls, Instant::now() + within, &mut Cost::default()).await;
        for (call, reply) in calls.iter().zip(&replies) {
            open.0.calls.fetch_add(1, Ordering::Relaxed);
            if let Some(reason) = failure(reply) {
                open.0.failed.fetch_add(1, Ordering::Relaxed);
                // This is safe: the next request on the shard makes up for it, and the caller was answered.
                tracing::warn!(operation = call.operation, %reason, "a follow-up failed");
            }
        }
    }
}

/// The follow-ups of one limiter.
#[derive(Debug)]
pub(super) struct FollowUps<T> {
    after: AfterAnswer<T>,
    within: Duration,
    kept: Mutex<Vec<Call>>,
    counts: Arc<Counts>,
}

impl<T: Transport> FollowUps<T> {
    /// Each may take `within`, resends included.
    pub(super) fn new(after: AfterAnswer<T>, within: Duration) -> Self {
        Self { after, within, kept: Mutex::default(), counts: Arc::default() }
    }

    /// Begins or keeps the calls. Returns their number.
    pub(super) fn begin(&self, client: &Client<T>, calls: Vec<Call>) -> usize {
        let begun = calls.len();
        if begun > 0 {
            match self.after {
                AfterAnswer::Keep => lock(&self.kept).extend(calls),
                AfterAnswer::Spawn(spawn) => spawn(self.follow_up(client, calls)),
            }
        }
        begun
    }

    fn follow_up(&self, client: &Client<T>, calls: Vec<Call>) -> FollowUp<T> {
        FollowUp { client: client.clone(), calls, within: self.within, open: Open::new(&self.counts) }
    }

    /// Sends the kept calls, and waits for all that are in progress.
    pub(super) async fn flush(&self, client: &Client<T>) {
        let kept = mem::take(&mut *lock(&self.kept));
        if !kept.is_empty() {
            self.follow_up(client, kept).run().await;
        }
        poll_fn(|context| {
            let mut open = lock(&self.counts.open);
            if open.follow_ups == 0 {
                return Poll::Ready(());
            }
            open.waiting.push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    pub(super) fn stats(&self) -> FollowUpStats {
        FollowUpStats {
            calls: self.counts.calls.load(Ordering::Relaxed),
            failed: self.counts.failed.load(Ordering::Relaxed),
        }
    }
}

#[derive(Debug, Default)]
struct Counts {
    calls: AtomicU64,
    failed: AtomicU64,
    open: Mutex<OpenCount>,
}

/// The number of follow-ups that are not done, and the tasks that wait for their end.
#[derive(Default)]
struct OpenCount {
    follow_ups: usize,
    waiting: Vec<Waker>,
}

impl fmt::Debug for OpenCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenCount").field("follow_ups", &self.follow_ups).finish_non_exhaustive()
    }
}

/// Counts as one follow-up that is not done, until it is dropped for whatever reason.
#[derive(Debug)]
struct Open(Arc<Counts>);

impl Open {
    fn new(counts: &Arc<Counts>) -> Self {
        lock(&counts.open).follow_ups += 1;
        Self(Arc::clone(counts))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut open = lock(&self.0.open);
        open.follow_ups -= 1;
        let done = if open.follow_ups == 0 { mem::take(&mut open.waiting) } else { Vec::new() };
        drop(open); // whoever is woken may ask at once
        done.into_iter().for_each(Waker::wake);
    }
}

fn lock<V>(mutex: &Mutex<V>) -> MutexGuard<'_, V> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
