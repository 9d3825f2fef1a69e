//! The transport of ordinary programs: HTTP/1.1 with reqwest, on Tokio.

use std::{error::Error, time::Duration};

use http::{Request, header::DATE};
use onewindow::Reply;
use reqwest::{Response, Url, redirect, retry};

use super::{
    config::ClientConfig,
    sign::SignerError,
    transport::{Received, Transport},
};

/// HTTP/1.1 over TCP or TLS, with kept connections. It runs inside a Tokio runtime.
#[derive(Clone, Debug)]
pub struct Http {
    http: reqwest::Client,
    reply_limit_bytes: usize,
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

impl Http {
    /// A transport to the configuration's endpoint. Nothing is sent.
    ///
    /// # Errors
    /// Where the endpoint is no URL, or the TLS backend cannot be set up.
    pub fn new(config: &ClientConfig) -> Result<Self, ConfigError> {
        let url = endpoint(&config.endpoint)?;
        let mut builder = reqwest::Client::builder()
            .connect_timeout(config.connect_timeout)
            .http1_only()
            .tcp_nodelay(true)
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .user_agent(concat!("onewindow/", env!("CARGO_PKG_VERSION")));
        if is_loopback(&url) {
            builder = builder.no_proxy();
        }
        Ok(Self { http: builder.build()?, reply_limit_bytes: config.reply_limit_bytes })
    }
}

impl Transport for Http {
    async fn send(&self, request: Request<String>, timeout: Duration) -> Received {
        match tokio::time::timeout(timeout, self.exchange(request)).await {
            Ok(received) => received.unwrap_or_else(Received::failed),
            Err(_) => Received::failed(format!("no reply within {} ms", timeout.as_millis())),
        }
    }

    async fn pause(&self, wait: Duration) {
        tokio::time::sleep(wait).await;
    }
}

impl Http {
    async fn exchange(&self, request: Request<String>) -> Result<Received, String> {
        let request = request.try_into().map_err(|error| reason(&error))?;
        let response = self.http.execute(request).await.map_err(|error| reason(&error))?;
        let date = response.headers().get(DATE).cloned();
        let status = response.status().as_u16();
        let body = self.body(response).await?;
        Ok(Received { reply: Reply::Http { status, body }, date })
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

/// The endpoint as a URL. Without a path, as a signer's check demands.
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

/// The cause in a few words. reqwest's own message begins with the URL and hides it.
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
