//! The client of one endpoint.

use std::{
    fmt,
    sync::Arc,
    time::{Instant, SystemTime},
};

use futures_util::future::join_all;
use onewindow::{Call, Reply, wire::classify};

#[cfg(feature = "native")]
use super::http::{ConfigError, Http};
use super::{
    config::ClientConfig,
    cost::Cost,
    date::offset_ms,
    interpose::Before,
    resend::{Attempts, Verdict},
    sign::{Signer, SignerError},
    stats::{Counters, Stats},
    transport::{Received, Transport},
};

/// A client of one endpoint, over a transport. Cheap to clone; clones share the transport and the
/// counters.
pub struct Client<#[cfg(feature = "native")] T = Http, #[cfg(not(feature = "native"))] T> {
    inner: Arc<Inner<T>>,
}

struct Inner<T> {
    transport: T,
    signer: Signer,
    config: ClientConfig,
    counters: Counters,
}

#[cfg(feature = "native")]
impl Client<Http> {
    /// A client over this crate's own HTTP transport. Nothing is sent yet.
    ///
    /// # Errors
    /// Where the endpoint is no URL, or the TLS backend cannot be set up.
    pub fn new(config: ClientConfig) -> Result<Self, ConfigError> {
        Ok(Self::over(Http::new(&config)?, config)?)
    }
}

impl<T: Transport> Client<T> {
    /// A client over `transport`. Nothing is sent yet.
    ///
    /// # Errors
    /// Where nothing can be signed for the endpoint, the region or the keys.
    pub fn over(transport: T, config: ClientConfig) -> Result<Self, SignerError> {
        let signer = Signer::new(&config.endpoint, &config.region, config.credentials.clone())?;
        Ok(Self { inner: Arc::new(Inner { transport, signer, config, counters: Counters::default() }) })
    }

    /// Its configuration.
    #[must_use]
    pub fn config(&self) -> &ClientConfig {
        &self.inner.config
    }

    /// Its transport.
    #[must_use]
    pub fn transport(&self) -> &T {
        &self.inner.transport
    }

    /// The counters of this client and its clones so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.inner.counters.read()
    }

    /// Sends calls at the same time, and sends each again until its reply needs no resend or the deadline
    /// is reached. Returns the replies in the order of the calls.
    ///
    /// Their cost is added to `cost`.
    pub async fn perform(&self, calls: &[Call], deadline: Instant, cost: &mut Cost) -> Vec<Reply> {
        let answered = match calls {
            [call] => vec![self.call(call, deadline).await],
            calls => join_all(calls.iter().map(|call| self.call(call, deadline))).await,
        };
        cost.add_round_trip(calls.iter().zip(&answered).map(|(call, (_, sent))| (call.operation, *sent)));
        self.inner.counters.add_round_trip();
        answered.into_iter().map(|(reply, _)| reply).collect()
    }

    /// Sends one call, and returns its reply.
    pub async fn ask(&self, call: Call, deadline: Instant, cost: &mut Cost) -> Reply {
        let mut replies = self.perform(&[call], deadline, cost).await;
        replies.pop().unwrap_or_else(|| Reply::Failed("nothing was sent".into()))
    }

    /// Sends one call with its resends. Returns the last reply, and how many times the call was sent.
    async fn call(&self, call: &Call, deadline: Instant) -> (Reply, u32) {
        let Inner { transport, signer, config, .. } = &*self.inner;
        let mut attempts = Attempts::new(config.waits);
        let mut sent = 0;
        loop {
            let Received { reply, date } = self.attempt(call, deadline, &mut sent).await;
            let offset_ms = date.and_then(|date| offset_ms(&date, SystemTime::now()));
            let classified = classify(&reply);
            let left = deadline.saturating_duration_since(Instant::now());
            match attempts.decide(&classified, call.resend, offset_ms, left) {
                Verdict::Keep => return (reply, sent),
                Verdict::WithTableTime(offset_ms) => {
                    tracing::warn!(
                        target: "onewindow_host::dynamo",
                        offset_ms,
                        "the table's clock is not ours; signing by its own from now on"
                    );
                    signer.adopt_offset(offset_ms);
                }
                Verdict::After(wait) => {
                    tracing::debug!(
                        target: "onewindow_host::dynamo",
                        operation = call.operation,
                        reply = ?classified,
                        ?wait,
                        "sending again"
                    );
                    transport.pause(wait).await;
                    if Instant::now() >= deadline {
                        // No time is left after the pause. The last reply says more than a time-out.
                        return (reply, sent);
                    }
                }
            }
        }
    }

    /// One attempt.
    async fn attempt(&self, call: &Call, deadline: Instant, sent: &mut u32) -> Received {
        let Inner { transport, signer, config, counters } = &*self.inner;
        let interpose = config.interpose.as_deref();
        let before = match interpose {
            Some(interpose) => interpose.before(call).await,
            None => Before::Send,
        };
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Received::failed("the time ran out");
        }
        *sent += 1;
        counters.add_request(call.operation);
        if let Before::Answer(reply) = before {
            return Received { reply, date: None };
        }
        let mut received = match signer.request(call, SystemTime::now()) {
            Ok(request) => transport.send(request, left.min(config.attempt_timeout)).await,
            Err(reason) => Received::failed(reason),
        };
        if let Some(interpose) = interpose {
            received.reply = interpose.after(call, received.reply).await;
        }
        received
    }
}

impl<T> Clone for Client<T> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<T> fmt::Debug for Client<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("config", &self.inner.config).finish_non_exhaustive()
    }
}
