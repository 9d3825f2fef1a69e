//! The configuration of a client.

use std::{fmt, sync::Arc, time::Duration};

use super::{credentials::Credentials, interpose::Interpose, resend::Waits, transport::REPLY_LIMIT_BYTES};

/// The configuration of a client. [`ClientConfig::new`] sets times for a table in the same region.
/// `connect_timeout` and `reply_limit_bytes` are used by this crate's own HTTP transport only; other
/// transports have limits of their own.
#[derive(Clone)]
pub struct ClientConfig {
    /// The table's endpoint: an `http` or `https` URL without a path.
    pub endpoint: String,
    /// The region to sign for.
    pub region: String,
    /// The credentials to sign with.
    pub credentials: Credentials,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// How long one attempt may take, whatever is left of the caller's deadline.
    pub attempt_timeout: Duration,
    /// The waits before a resend.
    pub waits: Waits,
    /// The longest reply that is read, bytes. A longer one is cut off, and does not count as an answer of
    /// the table.
    pub reply_limit_bytes: usize,
    /// A hook between the client and its transport, for tests and tools.
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
            waits: Waits::default(),
            reply_limit_bytes: REPLY_LIMIT_BYTES,
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
