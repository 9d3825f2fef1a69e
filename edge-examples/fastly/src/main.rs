//! The HTTP surface on Fastly Compute: the core is linked in as a library.

mod executor;

use std::{
    io::{Read, Write},
    time::{Duration, Instant},
};

use executor::{block_on, tick};
use fastly::{
    Body, ConfigStore, Response, SecretStore,
    http::{request::PollResult, serve::Serve},
    log::Endpoint,
};
use onewindow::Reply;
use onewindow_host::{
    Engine, Received, Transport,
    dynamo::REPLY_LIMIT_BYTES,
    limiter::{AnswerRecord, Recorder},
};
use onewindow_surface::{
    http::{self as surface, BODY_LIMIT_BYTES, Service},
    settings::{Settings, SettingsError},
};

/// The backend, the config store, the secret store and the log, as `fastly.toml` names them.
const BACKEND: &str = "dynamodb";
const CONFIG_STORE: &str = "onewindow";
const SECRET_STORE: &str = "onewindow";
const LOG: &str = "onewindow";

fn main() {
    let service = service();
    // One sandbox serves many requests, one after another: what is remembered of subjects lives as
    // long as it does.
    let _ = Serve::new().with_max_lifetime(Duration::from_secs(60)).run(|request| match &service {
        Ok(service) => answer(service, request),
        Err(error) => send(surface::misconfigured(error.to_string())),
    });
}

fn service() -> Result<Service<Backend>, SettingsError> {
    let (config, secrets) = (ConfigStore::try_open(CONFIG_STORE), SecretStore::open(SECRET_STORE));
    let lookup = |name| {
        let secret = secrets.as_ref().ok()?.try_get(name).ok()?;
        let secret = secret.and_then(|secret| String::from_utf8(secret.try_plaintext().ok()?.to_vec()).ok());
        secret.or_else(|| config.as_ref().ok()?.try_get(name).ok()?)
    };
    Settings::read(lookup)?.guest(Engine::native(), Backend, Recorder::new(record))
}

fn answer(service: &Service<Backend>, request: fastly::Request) {
    let (parts, body) = http::Request::<Body>::from(request).into_parts();
    let body = read(body, BODY_LIMIT_BYTES);
    send(block_on(service.answer(&parts.method, &parts.uri, body)));
    // The answer is on its way.
    block_on(service.limiter.flush());
}

fn send(response: http::Response<String>) {
    Response::from(response.map(Body::from)).send_to_client();
}

/// A body, up to a byte beyond the limit.
fn read(body: Body, limit: usize) -> Result<Vec<u8>, String> {
    let mut read = Vec::new();
    let limit = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    body.take(limit).read_to_end(&mut read).map_err(|error| error.to_string())?;
    Ok(read)
}

/// Sends to the backend.
struct Backend;

impl Transport for Backend {
    async fn send(&self, request: http::Request<String>, timeout: Duration) -> Received {
        exchange(request, timeout).await.unwrap_or_else(Received::failed)
    }

    async fn pause(&self, wait: Duration) {
        executor::pause(wait).await;
    }
}

/// The first poll begins the request, later polls ask whether it is done.
async fn exchange(request: http::Request<String>, timeout: Duration) -> Result<Received, String> {
    let end = Instant::now() + timeout;
    let request = fastly::Request::from(request.map(Body::from)).with_pass(true);
    let mut pending = request.send_async(BACKEND).map_err(|error| error.root_cause().to_string())?;
    let response = loop {
        match pending.poll() {
            PollResult::Done(done) => break done.map_err(|error| error.root_cause().to_string())?,
            PollResult::Pending(_) if Instant::now() >= end => return Err("no reply in time".into()),
            PollResult::Pending(still) => pending = still,
        }
        tick().await;
    };
    let (parts, body) = http::Response::<Body>::from(response).into_parts();
    let body = read(body, REPLY_LIMIT_BYTES)?;
    let body = String::from_utf8_lossy(&body).into_owned();
    Ok(Received {
        reply: Reply::Http { status: parts.status.as_u16(), body },
        date: parts.headers.get("date").cloned(),
    })
}

/// Writes a line for each answer. Where the service has no such log, it is dropped.
fn record(answer: &AnswerRecord) {
    if let Ok(mut log) = Endpoint::try_from_name(LOG) {
        let _ = writeln!(log, "{answer}");
    }
}
