//! How requests reach the table: the part that each runtime provides.

use std::time::Duration;

use http::{HeaderValue, Request};
use onewindow::Reply;

/// The longest reply that is read, bytes: the largest batch read.
pub const REPLY_LIMIT_BYTES: usize = 16 << 20;

/// Sends requests and waits. Several futures of one transport run side by side, in one task.
///
/// Neither the transport nor its futures need to be `Send`. Where they are, so are the futures of
/// the [`Client`](super::Client) and of the limiter.
pub trait Transport {
    /// Sends one signed request, and resolves to its reply within `timeout`. A failure is a
    /// [`Reply::Failed`].
    fn send(&self, request: Request<String>, timeout: Duration) -> impl Future<Output = Received>;

    /// Resolves after this time.
    fn pause(&self, wait: Duration) -> impl Future<Output = ()>;
}

/// A reply, with the header that the signature's clock is corrected by.
#[derive(Clone, Debug)]
pub struct Received {
    /// The reply.
    pub reply: Reply,
    /// Its header `Date`: the table's time.
    pub date: Option<HeaderValue>,
}

impl Received {
    /// No response.
    #[must_use]
    pub fn failed(reason: impl Into<String>) -> Self {
        Self { reply: Reply::Failed(reason.into()), date: None }
    }
}
