//! What the proxies of the tests share: they stand between a host and the table, and pass requests on.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Response, header};

/// What is of one connection, and not of the message (RFC 9110, 7.6.1), and the length, which whoever
/// sends the body on says anew.
const OF_THE_CONNECTION: [HeaderName; 3] =
    [header::CONNECTION, header::TRANSFER_ENCODING, header::CONTENT_LENGTH];
/// What the client of the upstream says for itself.
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
    /// Where no HTTP client can be made.
    pub fn new(url: impl Into<String>) -> Result<Self, reqwest::Error> {
        let http = reqwest::Client::builder().no_proxy().tcp_nodelay(true).build()?;
        Ok(Self { url: url.into(), http })
    }

    /// Passes a request on, and the whole answer back.
    ///
    /// # Errors
    /// Where the table does not answer, or not to the end.
    pub async fn pass_on(&self, headers: &HeaderMap, body: Bytes) -> Result<Response<Bytes>, reqwest::Error> {
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
