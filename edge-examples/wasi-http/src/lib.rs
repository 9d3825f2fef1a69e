//! The HTTP surface as a component for any WASI HTTP host. The decisions are imported:
//! `onewindow:quota` is the core, composed in by `serve`.

mod core;

use std::{sync::LazyLock, time::Duration};

use http_body_util::BodyExt;
use onewindow::Reply;
use onewindow_host::{Received, Transport, dynamo::REPLY_LIMIT_BYTES, limiter::Recorder};
use onewindow_surface::{
    http::{self as surface, BODY_LIMIT_BYTES, Service},
    settings::{Settings, SettingsError},
};
use wstd::{
    future::FutureExt,
    http::{Body, Client, Error, Request, Response},
    task, time,
};

/// Lives as long as the instance: one request in most hosts, many in some.
static SERVICE: LazyLock<Result<Service<Wasi>, SettingsError>> = LazyLock::new(|| {
    // A line for each answer goes to the standard error.
    let recorder = Recorder::new(|answer| eprintln!("{answer}"));
    Settings::read(|name| std::env::var(name).ok())?.guest(core::Imported, Wasi, recorder)
});

#[wstd::http_server]
async fn main(request: Request<Body>) -> Result<Response<Body>, Error> {
    let service = match &*SERVICE {
        Ok(service) => service,
        Err(error) => return Ok(surface::misconfigured(error.to_string()).map(Body::from)),
    };
    let (parts, body) = request.into_parts();
    let body = read(body, BODY_LIMIT_BYTES).await;
    let response = service.answer(&parts.method, &parts.uri, body).await;
    // It runs once the answer is on its way; the instance lives until it is done.
    wstd::runtime::spawn(service.limiter.flush()).detach();
    Ok(response.map(Body::from))
}

/// A body, up to a chunk beyond the limit.
async fn read(body: Body, limit: usize) -> Result<Vec<u8>, String> {
    let mut body = body.into_boxed_body();
    let mut read = Vec::new();
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(|error| format!("{error:#}"))?.into_data() {
            read.extend_from_slice(&data);
        }
        if read.len() > limit {
            break;
        }
    }
    Ok(read)
}

/// `wasi:http` sends and `wasi:clocks` waits.
struct Wasi;

impl Transport for Wasi {
    async fn send(&self, request: Request<String>, timeout: Duration) -> Received {
        let sent = send(request).timeout(time::Duration::from(timeout)).await;
        let late = |_| Err(format!("no reply within {} ms", timeout.as_millis()));
        sent.unwrap_or_else(late).unwrap_or_else(Received::failed)
    }

    async fn pause(&self, wait: Duration) {
        task::sleep(wait.into()).await;
    }
}

async fn send(request: Request<String>) -> Result<Received, String> {
    let response = Client::new().send(request.map(Body::from)).await.map_err(|error| format!("{error:#}"))?;
    let (parts, body) = response.into_parts();
    let body = read(body, REPLY_LIMIT_BYTES).await?;
    let body = String::from_utf8_lossy(&body).into_owned();
    Ok(Received {
        reply: Reply::Http { status: parts.status.as_u16(), body },
        date: parts.headers.get("date").cloned(),
    })
}
