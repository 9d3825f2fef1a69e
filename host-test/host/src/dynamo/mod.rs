//! The table's client: signs each [`Call`], POSTs it, and sends again what may be sent again.
//!
//! It knows nothing of limits. Whether a reply is worth another try is decided by
//! [`onewindow::wire::classify`] alone; no error body is read here.

mod config;
mod cost;
mod exchange;
mod interpose;
mod stats;

pub use crate::{Credentials, CredentialsError};
pub use config::{ClientConfig, ConfigError};
pub use cost::Cost;
pub use interpose::{Before, Interpose};
pub use stats::{OperationStats, Stats};

use std::sync::Arc;

use crate::resend::{Attempts, Verdict};
use futures::future::join_all;
use onewindow::{Call, Reply, wire::classify};
use tokio::time::{Instant, sleep};

use exchange::{Exchange, Received};
use stats::Counters;

/// A client of one endpoint. Cheap to clone; clones share connections and counters.
#[derive(Clone, Debug)]
pub struct Client {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    exchange: Exchange,
    config: ClientConfig,
    counters: Counters,
}

impl Client {
    /// A client for an endpoint. Nothing is sent.
    ///
    /// # Errors
    /// Where the endpoint is no URL, or the TLS backend cannot be set up.
    pub fn new(config: ClientConfig) -> Result<Self, ConfigError> {
        let exchange = Exchange::new(&config)?;
        Ok(Self { inner: Arc::new(Inner { exchange, config, counters: Counters::default() }) })
    }

    /// How it was set up.
    #[must_use]
    pub fn config(&self) -> &ClientConfig {
        &self.inner.config
    }

    /// What was sent so far, by this client and its clones.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.inner.counters.read()
    }

    /// Makes calls at the same time, each until it has a reply that is worth reading or the
    /// deadline comes, and gives the replies in the order of the calls.
    ///
    /// What it took is added to `cost`.
    pub async fn perform(&self, calls: &[Call], deadline: Instant, cost: &mut Cost) -> Vec<Reply> {
        let answered = match calls {
            [call] => vec![self.call(call, deadline).await],
            calls => join_all(calls.iter().map(|call| self.call(call, deadline))).await,
        };
        cost.add_round_trip(calls.iter().zip(&answered).map(|(call, (_, sent))| (call.operation, *sent)));
        self.inner.counters.add_round_trip();
        answered.into_iter().map(|(reply, _)| reply).collect()
    }

    /// One call, with as many resends as it may have; and how often it was sent.
    async fn call(&self, call: &Call, deadline: Instant) -> (Reply, u32) {
        let mut attempts = Attempts::new(self.inner.config.waits);
        let mut sent = 0;
        loop {
            let Received { reply, offset_ms } = self.send(call, deadline, &mut sent).await;
            let classified = classify(&reply);
            let left = deadline.saturating_duration_since(Instant::now());
            match attempts.judge(&classified, call.resend, offset_ms, left) {
                Verdict::Keep => return (reply, sent),
                Verdict::ByTheTablesClock(offset_ms) => {
                    tracing::warn!(
                        offset_ms,
                        "the table's clock is not ours; signing by its own from now on"
                    );
                    self.inner.exchange.adopt_offset(offset_ms);
                }
                Verdict::After(wait) => {
                    tracing::debug!(operation = call.operation, reply = ?classified, ?wait, "sending again");
                    sleep(wait).await;
                    if Instant::now() >= deadline {
                        // Overslept: what was answered says more than that the time ran out.
                        return (reply, sent);
                    }
                }
            }
        }
    }

    /// One attempt.
    async fn send(&self, call: &Call, deadline: Instant, sent: &mut u32) -> Received {
        let interpose = self.inner.config.interpose.as_deref();
        let before = match interpose {
            Some(interpose) => interpose.before(call).await,
            None => Before::Send,
        };
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Received { reply: Reply::Failed("the time ran out".into()), offset_ms: None };
        }
        *sent += 1;
        self.inner.counters.add_request(call.operation);
        if let Before::Answer(reply) = before {
            return Received { reply, offset_ms: None };
        }
        let mut received = self.inner.exchange.send(call, left.min(self.inner.config.attempt_timeout)).await;
        if let Some(interpose) = interpose {
            received.reply = interpose.after(call, received.reply).await;
        }
        received
    }
}
