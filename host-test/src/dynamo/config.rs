//! How a client is set up.

use std::{fmt, sync::Arc, time::Duration};

use super::{Credentials, Interpose};

/// How a [`Client`](super::Client) is set up. [`ClientConfig::new`] holds sensible times for a
/// table in the same region.
#[derive(Clone)]
pub struct ClientConfig {
    /// Where the table is, an `http` or `https` URL without a path.
    pub endpoint: String,
    /// The region to sign for.
    pub region: String,
    /// The credentials to sign with.
    pub credentials: Credentials,
    /// How long a connection may take to be made.
    pub connect_timeout: Duration,
    /// How long one attempt may take, whatever is left of the caller's deadline.
    pub attempt_timeout: Duration,
    /// The first wait before a resend is drawn from zero to this; the next from zero to twice
    /// of it, and so on.
    pub first_backoff: Duration,
    /// No wait before a resend is longer.
    pub longest_backoff: Duration,
    /// The longest reply that is read, bytes; what is beyond is cut off, and what is cut off does
    /// not count as an answer of the table.
    pub reply_limit_bytes: usize,
    /// A hook between the client and the wire, for tests and tools.
    pub interpose: Option<Arc<dyn Interpose>>,
}

impl ClientConfig {
    /// A configuration with the defaults.
    #[must_use]
    pub fn new(endpoint: impl Into<String>, region: impl Into<String>, credentials: Credentials) -> Self {
        Self {
            endpoint: endpoint.into(),
            region: region.into(),
            credentials,
            connect_timeout: Duration::from_millis(500),
            attempt_timeout: Duration::from_millis(500),
            first_backoff: Duration::from_millis(25),
            longest_backoff: Duration::from_millis(400),
            // What a batch read of the table's may be at most.
            reply_limit_bytes: 16 << 20,
            interpose: None,
        }
    }

    /// AWS's own endpoint of a region.
    #[must_use]
    pub fn aws(region: &str, credentials: Credentials) -> Self {
        Self::new(format!("https://dynamodb.{region}.amazonaws.com"), region, credentials)
    }
}

impl fmt::Debug for ClientConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientConfig")
            .field("endpoint", &self.endpoint)
            .field("region", &self.region)
            .field("connect_timeout", &self.connect_timeout)
            .field("attempt_timeout", &self.attempt_timeout)
            .field("first_backoff", &self.first_backoff)
            .field("longest_backoff", &self.longest_backoff)
            .field("reply_limit_bytes", &self.reply_limit_bytes)
            .field("interpose", &self.interpose.is_some())
            .finish_non_exhaustive()
    }
}

/// Why a client cannot be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The endpoint is not a URL that requests can be sent to.
    #[error("endpoint {read:?}: {reason}; expected http://HOST:PORT or https://HOST")]
    Endpoint {
        /// What was read.
        read: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Something that goes into a header may not.
    #[error("the {what} is empty or holds spaces, control or non-ASCII characters")]
    Text {
        /// What it is.
        what: &'static str,
    },
    /// The TLS or HTTP backend could not be set up.
    #[error("the HTTP client cannot be set up: {0}")]
    Http(#[from] reqwest::Error),
}
