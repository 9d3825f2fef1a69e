//! The HTTP surface on Fastly Compute: the core is linked in as a library.

use std::{
    io::{Read, Write},
    thread::sleep,
    time::{Duration, Instant},
};

use fastly::{
    Body, ConfigStore, Response, SecretStore,
    http::{
        request::{PendingRequest, PollResult},
        serve::Serve,
    },
    log::Endpoint,
};
use futures_util::FutureExt;
use onewindow::Reply;
use onewindow_surface::{
    guest::{Host, Limiter, Native, Received},
    http::{self as surface, BODY_LIMIT_BYTES, Service},
    settings::{Settings, SettingsError},
    told::Told,
};

/// The backend, the config store, the secret store and the log, as `fastly.toml` names them.
const BACKEND: &str = "dynamodb";
const CONFIG_STORE: &str = "onewindow";
const SECRET_STORE: &str = "onewindow";
const LOG: &str = "onewindow";

/// The longest reply of the table's that is read, bytes: what a batch read may be at most.
const REPLY_LIMIT_BYTES: usize = 16 << 20;
/// How often requests under way are looked after.
const TICK: Duration = Duration::from_millis(1);

fn main() {
    let service = service();
    // One sandbox serves many requests, one after another: what is remembered of subjects lives as
    // long as it does.
    let _ = Serve::new().with_max_lifetime(Duration::from_secs(60)).run(|request| match &service {
        Ok(service) => answer(service, request),
        Err(error) => send(surface::misconfigured(error.to_string())),
    });
}

fn service() -> Result<Service<Limiter<Native, Backend>>, SettingsError> {
    let (config, secrets) = (ConfigStore::try_open(CONFIG_STORE), SecretStore::open(SECRET_STORE));
    let lookup = |name| {
        let secret = secrets.as_ref().ok()?.try_get(name).ok()?;
        let secret = secret.and_then(|secret| String::from_utf8(secret.try_plaintext().ok()?.to_vec()).ok());
        secret.or_else(|| config.as_ref().ok()?.try_get(name).ok()?)
    };
    Settings::read(lookup)?.guest(Native, Backend)
}

fn answer(service: &Service<Limiter<Native, Backend>>, request: fastly::Request) {
    let (parts, body) = http::Request::<Body>::from(request).into_parts();
    let body = read(body, BODY_LIMIT_BYTES);
    send(now(service.answer(&parts.method, &parts.uri, body)));
    // The answer is on its way.
    now(service.limiter.follow_up());
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

/// The end of a future that never waits: this host does its waiting in between.
fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("the host's futures are ready at once")
}

struct Backend;

impl Host for Backend {
    async fn exchange(&self, requests: Vec<http::Request<String>>, timeout: Duration) -> Vec<Received> {
        let end = Instant::now() + timeout;
        let begun: Vec<_> = requests.into_iter().map(begin).collect();
        begun
            .into_iter()
            .map(|pending| pending.and_then(|pending| finish(pending, end)))
            .map(|received| received.unwrap_or_else(Received::failed))
            .collect()
    }

    async fn pause(&self, wait: Duration) {
        sleep(wait);
    }

    fn told(&self, told: &Told) {
        // A line for each answer. Where the service has no such log, nobody hears it.
        if let Ok(mut log) = Endpoint::try_from_name(LOG) {
            let _ = writeln!(log, "{told}");
        }
    }
}

fn begin(request: http::Request<String>) -> Result<PendingRequest, String> {
    let request = fastly::Request::from(request.map(Body::from)).with_pass(true);
    request.send_async(BACKEND).map_err(|error| error.root_cause().to_string())
}

/// Waits until the end at most; the others are under way meanwhile.
fn finish(mut pending: PendingRequest, end: Instant) -> Result<Received, String> {
    let response = loop {
        match pending.poll() {
            PollResult::Done(done) => break done.map_err(|error| error.root_cause().to_string())?,
            PollResult::Pending(_) if Instant::now() >= end => return Err("no reply in time".into()),
            PollResult::Pending(still) => pending = still,
        }
        sleep(TICK);
    };
    let (parts, body) = http::Response::<Body>::from(response).into_parts();
    let body = read(body, REPLY_LIMIT_BYTES)?;
    let body = String::from_utf8_lossy(&body).into_owned();
    Ok(Received {
        reply: Reply::Http { status: parts.status.as_u16(), body },
        date: parts.headers.get("date").cloned(),
    })
}
