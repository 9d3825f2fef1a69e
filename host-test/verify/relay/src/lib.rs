//! What the proxies of the tests share. They stand between a host and the table, and forward requests.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Response, header};

/// Headers of one connection, which are not part of the message (RFC 9110, 7.6.1), and the length, which
/// the HTTP client sets by itself.
const OF_THE_CONNECTION: [HeaderName; 3] =
    [header::CONNECTION, header::TRANSFER_ENCODING, header::CONTENT_LENGTH];
/// Headers that the HTTP client sets by itself.
const OF_THE_CLIENT: [HeaderName; 2] = [header::HOST, header::ACCEPT_ENCODING];

/// The operation that a request names, such as `UpdateItem`; empty where it names none.
#[must_use]
pub fn operation(headers: &HeaderMap) -> &str {
    let target = headers.get("x-amz-target").and_then(|target| target.to_str().ok()).unwrap_or_default();
    target.rsplit('.').next().unwrap_or_default()
}

/// The table behind a proxy.
#[derive(Clone, Debug)]
pub struct Upstream {
    url: String,
    http: reqwest::Client,
}

impl Upstream {
    /// The table at this URL.
    ///
    /// # Errors
    /// No HTTP client can be made.
    pub fn new(url: impl Into<String>) -> Result<Self, reqwest::Error> {
        let http = reqwest::Client::builder().no_proxy().tcp_nodelay(true).build()?;
        Ok(Self { url: url.into(), http })
    }

    /// Forwards a request, and returns the whole answer.
    ///
    /// # Errors
    /// The table does not answer, or not to the end.
    pub async fn forward(&self, headers: &HeaderMap, body: Bytes) -> Result<Response<Bytes>, reqwest::Error> {
        let mut headers = headers.clone();
        for name in OF_THE_CONNECTION.iter().chain(&OF_THE_CLIENT) {
            headers.remove(name);
        }
        let reply = self.http.post(&self.url).headers(headers).body(body).send().await?;
        let (status, mut headers) = (reply.status(), reply.headers().clone());
        for name in &OF_THE_CONNECTION {
            headers.remove(name);
        }
        let mut answer = Response::new(reply.bytes().await?);
        *answer.status_mut() = status;
        *answer.headers_mut() = headers;
        Ok(answer)
    }
}
