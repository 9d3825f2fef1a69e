//! The limiter: an engine, a client and a clock, and the loop between them.
//!
//! Each acquire is a `tracing` span `onewindow.acquire` at the level debug, with the outcome, round trips,
//! requests, resends, the reset instant and the wait; no entity is named.

mod acquire;
mod answer;
mod cascade;
mod configuring;
mod drive;
mod follow_ups;
mod options;
mod preview;
mod settle;
mod telemetry;
#[cfg(test)]
mod tests;

pub use answer::{Answer, CascadeAnswer, Previewed, Settled};
pub use follow_ups::{AfterAnswer, FollowUp, FollowUpStats};
pub use options::{LimiterOptions, OnUnavailable};
pub use telemetry::{AnswerRecord, Recorder};

use std::{fmt, sync::Arc, time::Instant};

use follow_ups::FollowUps;
use onewindow::{Call, Outcome};

#[cfg(feature = "native")]
use crate::dynamo::Http;
use crate::{
    cache::{Chains, Configurations, Hints},
    dynamo::{Client, Transport},
    engine::Engine,
};

/// Enforces limits on a table. Cheap to clone; clones share everything.
///
/// Dropping one of its futures before it ends is like a crash of the host: nothing is admitted that was
/// not written, and what was written stays debited.
pub struct Limiter<#[cfg(feature = "native")] T = Http, #[cfg(not(feature = "native"))] T> {
    inner: Arc<Inner<T>>,
}

struct Inner<T> {
    engine: Engine,
    client: Client<T>,
    options: LimiterOptions,
    hints: Hints,
    chains: Chains,
    configurations: Configurations,
    follow_ups: FollowUps<T>,
}

#[cfg(feature = "native")]
impl Limiter<Http> {
    /// A limiter for an ordinary program. Nothing is sent.
    ///
    /// It must run inside a Tokio runtime, where it spawns the follow-ups.
    #[must_use]
    pub fn new(engine: impl Into<Engine>, client: Client, options: LimiterOptions) -> Self {
        let spawn = |follow_up: FollowUp<Http>| drop(tokio::spawn(follow_up.run()));
        Self::over(engine, client, options, AfterAnswer::spawn(spawn))
    }
}

impl<T: Transport> Limiter<T> {
    /// A limiter over any transport. Nothing is sent.
    #[must_use]
    pub fn over(
        engine: impl Into<Engine>,
        client: Client<T>,
        options: LimiterOptions,
        after: AfterAnswer<T>,
    ) -> Self {
        let follow_ups = FollowUps::new(after, options.follow_up_deadline);
        Self {
            inner: Arc::new(Inner {
                engine: engine.into(),
                client,
                hints: Hints::new(options.remembered_subjects),
                chains: Chains::default(),
                configurations: Configurations::default(),
                options,
                follow_ups,
            }),
        }
    }

    /// Sends the follow-ups that are kept, and waits until all follow-ups are done. Call it before the
    /// process ends; in an edge guest, after each answer.
    pub async fn flush(&self) {
        self.inner.follow_ups.flush(&self.inner.client).await;
    }

    /// The results of the follow-ups so far.
    #[must_use]
    pub fn follow_up_stats(&self) -> FollowUpStats {
        self.inner.follow_ups.stats()
    }

    /// Forgets every hint and all configuration, like a host that was restarted.
    pub fn forget(&self) {
        self.inner.hints.clear();
        self.inner.chains.clear();
        self.inner.configurations.clear();
    }

    /// The engine that decides.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.inner.engine
    }

    /// The table's client.
    #[must_use]
    pub fn client(&self) -> &Client<T> {
        &self.inner.client
    }

    /// Its options.
    #[must_use]
    pub fn options(&self) -> &LimiterOptions {
        &self.inner.options
    }

    /// The clock that windows are read against, epoch ms.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.inner.options.clock.now_ms()
    }

    /// The deadline of a request that begins now.
    fn deadline(&self) -> Instant {
        Instant::now() + self.inner.options.deadline
    }

    fn recorder(&self) -> Option<&Recorder> {
        self.inner.options.recorder.as_ref()
    }

    /// Begins or keeps the follow-ups of an answer. Returns the number of calls.
    fn begin(&self, calls: Vec<Call>) -> usize {
        self.inner.follow_ups.begin(&self.inner.client, calls)
    }

    fn lets_through(&self, outcome: &Outcome) -> bool {
        matches!(outcome, Outcome::Unavailable(_))
            && self.inner.options.on_unavailable == OnUnavailable::Allow
    }
}

impl<T> Clone for Limiter<T> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<T> fmt::Debug for Limiter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { engine, client, options, .. } = &*self.inner;
        f.debug_struct("Limiter")
            .field("engine", engine)
            .field("client", client)
            .field("options", options)
            .finish_non_exhaustive()
    }
}
