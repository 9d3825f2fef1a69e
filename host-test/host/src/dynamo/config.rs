//! How a client is set up.

use std::{fmt, sync::Arc, time::Duration};

use crate::{Credentials, SignerError, Waits, resend::ATTEMPT_TIMEOUT};

use super::Interpose;

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
    /// The waits before a resend.
    pub waits: Waits,
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
            attempt_timeout: ATTEMPT_TIMEOUT,
            waits: Waits::default(),
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
            .field("waits", &self.waits)
            .field("reply_limit_bytes", &self.reply_limit_bytes)
            .field("interpose", &self.interpose.is_some())
            .finish_non_exhaustive()
    }
}

/// Why a client cannot be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Nothing can be signed for this endpoint, region or key.
    #[error(transparent)]
    Signer(#[from] SignerError),
    /// The TLS or HTTP backend could not be set up.
    #[error("the HTTP client cannot be set up: {0}")]
    Http(#[from] reqwest::Error),
}
