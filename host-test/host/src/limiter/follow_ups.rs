//! The calls after the answer. Only [`Limiter::flush`](super::Limiter::flush) waits for them.

use std::{
    fmt,
    future::poll_fn,
    mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
    task::Poll,
    time::{Duration, Instant},
};

use futures_util::task::AtomicWaker;
use onewindow::Call;

use crate::dynamo::{Client, Cost, Transport, failure};

/// When follow-ups are sent.
pub enum AfterAnswer<T> {
    /// At the next [`Limiter::flush`](super::Limiter::flush), for edge guests: only the guest knows when
    /// its answer was sent.
    Keep,
    /// At once, in a task that this function spawns for them. It may capture a runtime's handle or an
    /// event's `waitUntil`.
    Spawn(Arc<dyn Fn(FollowUp<T>) + Send + Sync>),
}

impl<T> AfterAnswer<T> {
    /// At once, in a task that `spawn` spawns for them.
    pub fn spawn(spawn: impl Fn(FollowUp<T>) + Send + Sync + 'static) -> Self {
        Self::Spawn(Arc::new(spawn))
    }
}

impl<T> fmt::Debug for AfterAnswer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Keep => "Keep",
            Self::Spawn(_) => "Spawn(..)",
        })
    }
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
            match &self.after {
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
        let task = self.counts.wait();
        poll_fn(|context| {
            task.register(context.waker());
            if lock(&self.counts.open).follow_ups == 0 { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// The flushes that wait, or did until lately.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        lock(&self.counts.open).waiting.len()
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

impl Counts {
    /// A place for the task of one flush, to be woken when all follow-ups are done.
    fn wait(&self) -> Arc<AtomicWaker> {
        let task = Arc::default();
        let mut open = lock(&self.open);
        // A flush that ended or was dropped waits no more.
        open.waiting.retain(|task| task.strong_count() > 0);
        open.waiting.push(Arc::downgrade(&task));
        task
    }
}

/// The number of follow-ups that are not done, and the flushes that wait for their end.
#[derive(Debug, Default)]
struct OpenCount {
    follow_ups: usize,
    waiting: Vec<Weak<AtomicWaker>>,
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
        drop(open); // a woken task may lock it at once
        done.iter().filter_map(Weak::upgrade).for_each(|task| task.wake());
    }
}

fn lock<V>(mutex: &Mutex<V>) -> MutexGuard<'_, V> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
