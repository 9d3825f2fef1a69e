//! One signed request, one reply.

use std::{
    error::Error,
    time::{Duration, SystemTime},
};

use http::header::DATE;
use onewindow::{Call, Reply};
use reqwest::{Client, Method, Request, Response, Url, redirect, retry};

use super::{ClientConfig, ConfigError};
use crate::sign::{self, Signer, SignerError};

#[derive(Debug)]
pub(super) struct Exchange {
    http: Client,
    url: Url,
    signer: Signer,
    reply_limit_bytes: usize,
}

/// What came back.
pub(super) struct Received {
    pub(super) reply: Reply,
    /// How far the table's clock is ahead of ours, as its reply says, ms.
    pub(super) offset_ms: Option<i64>,
}

impl Exchange {
    pub(super) fn new(config: &ClientConfig) -> Result<Self, ConfigError> {
        let url = endpoint(&config.endpoint)?;
        let signer = Signer::new(url.as_str(), &config.region, config.credentials.clone())?;
        let mut builder = Client::builder()
            .connect_timeout(config.connect_timeout)
            .http1_only()
            .tcp_nodelay(true)
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .user_agent(concat!("onewindow/", env!("CARGO_PKG_VERSION")));
        if is_loopback(&url) {
            builder = builder.no_proxy();
        }
        Ok(Self { http: builder.build()?, signer, url, reply_limit_bytes: config.reply_limit_bytes })
    }

    /// Whatever happens is a reply.
    pub(super) async fn send(&self, call: &Call, timeout: Duration) -> Received {
        let failed = |reason| Received { reply: Reply::Failed(reason), offset_ms: None };
        match tokio::time::timeout(timeout, self.exchange(call)).await {
            Ok(Ok(received)) => received,
            Ok(Err(reason)) => failed(reason),
            Err(_) => failed(format!("no reply within {} ms", timeout.as_millis())),
        }
    }

    /// Signs from now on for a table whose clock is this far ahead of ours.
    pub(super) fn adopt_offset(&self, offset_ms: i64) {
        self.signer.adopt_offset(offset_ms);
    }

    async fn exchange(&self, call: &Call) -> Result<Received, String> {
        let response = self.http.execute(self.request(call)?).await.map_err(|error| reason(&error))?;
        let offset_ms =
            response.headers().get(DATE).and_then(|date| sign::offset_ms(date, SystemTime::now()));
        let status = response.status().as_u16();
        let body = self.body(response).await?;
        Ok(Received { reply: Reply::Http { status, body }, offset_ms })
    }

    fn request(&self, call: &Call) -> Result<Request, String> {
        let (parts, body) = self.signer.request(call, SystemTime::now())?.into_parts();
        let mut request = Request::new(Method::POST, self.url.clone());
        *request.headers_mut() = parts.headers;
        *request.body_mut() = Some(body.into());
        Ok(request)
    }

    /// The body, up to the limit.
    async fn body(&self, mut response: Response) -> Result<String, String> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| reason(&error))? {
            let room = self.reply_limit_bytes - body.len();
            body.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if chunk.len() > room {
                break;
            }
        }
        Ok(match String::from_utf8(body) {
            Ok(body) => body,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        })
    }
}

/// The endpoint in its normal form.
fn endpoint(read: &str) -> Result<Url, ConfigError> {
    let bad = |reason: String| SignerError::Endpoint { read: read.to_owned(), reason };
    Ok(Url::parse(read).map_err(|error| bad(error.to_string()))?)
}

fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(|host| {
        host == "localhost"
            || host
                .trim_matches(['[', ']'])
                .parse::<std::net::IpAddr>()
                .is_ok_and(|address| address.is_loopback())
    })
}

/// What happened, in a few words: reqwest's own sentence hides it behind the URL.
fn reason(error: &reqwest::Error) -> String {
    let did = if error.is_connect() {
        "cannot connect"
    } else if error.is_timeout() {
        "too slow"
    } else {
        "the connection broke"
    };
    let mut root: &dyn Error = error;
    while let Some(cause) = root.source() {
        root = cause;
    }
    format!("{did}: {root}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_are_for_the_world_outside() {
        for (url, loopback) in [
            ("http://127.0.0.1:1", true),
            ("http://[::1]:1", true),
            ("http://localhost", true),
            ("http://10.0.0.1", false),
            ("https://dynamodb.eu-west-1.amazonaws.com", false),
        ] {
            assert_eq!(is_loopback(&Url::parse(url).unwrap()), loopback, "{url}");
        }
    }
}
