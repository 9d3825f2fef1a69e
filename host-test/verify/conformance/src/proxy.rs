//! A proxy between the servers and the table. Faults are planned for each entity.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use axum::{Router, body::Body, extract::State, response::Response};
use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{HeaderMap, StatusCode, header};
use onewindow_relay::{Upstream, operation};
use tokio::{net::TcpListener, sync::watch};

/// What happens to a request.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// The proxy replies this; the request does not reach the table.
    Reply(u16, String),
    /// As `Reply`, with these header fields.
    ReplyWith(u16, String, Vec<(&'static str, String)>),
    /// The request reaches the table, and the reply is cut half-way.
    CutReply,
    /// The request does not reach the table, and the connection is cut.
    CutRequest,
    /// There is never a reply.
    Hang,
    /// The request is forwarded when the gate opens.
    Hold(watch::Receiver<bool>),
    /// No fault: it is forwarded.
    None,
}

/// An error as DynamoDB words it.
pub(crate) fn refusal(name: &str, message: &str) -> Fault {
    let kind = format!("com.amazonaws.dynamodb.v20120810#{name}");
    Fault::Reply(400, serde_json::json!({ "__type": kind, "message": message }).to_string())
}

/// The faults planned for an entity's requests.
#[derive(Debug, Default)]
struct Plan {
    /// One for each request; then `always` for all others.
    next: Vec<Fault>,
    always: Option<Fault>,
    seen: Vec<Seen>,
}

/// A request that the proxy received.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// `UpdateItem` and so on.
    pub(crate) operation: String,
    /// The time it was signed for: `20261201T080000Z`.
    pub(crate) signed_for: String,
}

/// The proxy. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Proxy {
    pub(crate) url: String,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    table: Upstream,
    plans: Mutex<HashMap<String, Plan>>,
}

impl Proxy {
    /// A proxy of `endpoint`, as long as the process lives.
    pub(crate) async fn start(endpoint: String) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let shared = Arc::new(Shared { table: Upstream::new(endpoint)?, plans: Mutex::default() });
        let router = Router::new().fallback(forward).with_state(Arc::clone(&shared));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(Self { url, shared })
    }

    /// The entity's next requests have these faults, one each.
    pub(crate) fn next(&self, entity: &str, faults: impl IntoIterator<Item = Fault>) {
        self.shared.of(entity, |plan| plan.next.extend(faults));
    }

    /// Every request of the entity has this fault, after those planned for the next ones.
    pub(crate) fn always(&self, entity: &str, fault: Fault) {
        self.shared.of(entity, |plan| plan.always = Some(fault));
    }

    /// The entity has no faults from now on.
    pub(crate) fn mend(&self, entity: &str) {
        self.shared.of(entity, |plan| (plan.next.clear(), plan.always.take()));
    }

    /// The requests of an entity that has a plan.
    pub(crate) fn seen(&self, entity: &str) -> Vec<Seen> {
        self.shared.of(entity, |plan| plan.seen.clone())
    }
}

impl Shared {
    fn of<T>(&self, entity: &str, act: impl FnOnce(&mut Plan) -> T) -> T {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        act(plans.entry(entity.to_owned()).or_default())
    }

    fn fault(&self, body: &str, seen: Seen) -> Fault {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        // A shard's key has the entity between two `#`, a record's key at its end.
        let plan = plans.iter_mut().find(|(entity, _)| {
            body.contains(&format!("#{entity}#")) || body.contains(&format!("#{entity}\""))
        });
        let Some((_, plan)) = plan else { return Fault::None };
        plan.seen.push(seen);
        if plan.next.is_empty() { plan.always.clone().unwrap_or(Fault::None) } else { plan.next.remove(0) }
    }
}

async fn forward(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    let signed_for = headers.get("x-amz-date").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let seen = Seen { operation: operation(&headers).to_owned(), signed_for: signed_for.to_owned() };
    match shared.fault(&String::from_utf8_lossy(&body), seen) {
        Fault::Reply(status, body) => answer(status, Body::from(body), &[]),
        Fault::ReplyWith(status, body, fields) => answer(status, Body::from(body), &fields),
        Fault::CutRequest => answer(200, broken(Bytes::new()), &[]),
        Fault::Hang => std::future::pending().await,
        Fault::Hold(mut gate) => {
            // A gate that was dropped is open.
            let _ = gate.wait_for(|open| *open).await;
            forwarded(shared.table.forward(&headers, body).await, false)
        }
        Fault::CutReply => forwarded(shared.table.forward(&headers, body).await, true),
        Fault::None => forwarded(shared.table.forward(&headers, body).await, false),
    }
}

fn forwarded(reply: Result<http::Response<Bytes>, reqwest::Error>, cut: bool) -> Response {
    let reply = match reply {
        Ok(reply) => reply,
        Err(error) => {
            let error = anyhow::Error::new(error).context("the table does not answer");
            return answer(502, Body::from(format!("{error:#}")), &[]);
        }
    };
    let (status, body) = (reply.status().as_u16(), reply.into_body());
    let body = if cut { broken(body.slice(..body.len() / 2)) } else { Body::from(body) };
    answer(status, body, &[])
}

/// A body that begins with this, before the connection is cut.
fn broken(begin: Bytes) -> Body {
    let broken = stream::once(async {
        // The beginning is sent first.
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        Err(std::io::Error::other("broken off"))
    });
    Body::from_stream(stream::once(async { Ok(begin) }).chain(broken))
}

fn answer(status: u16, body: Body, fields: &[(&'static str, String)]) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/x-amz-json-1.0"));
    let now = httpdate::fmt_http_date(SystemTime::now());
    for (name, value) in fields.iter().cloned().chain([("date", now)]) {
        if let (false, Ok(value)) = (headers.contains_key(name), value.parse()) {
            headers.insert(name, value);
        }
    }
    response
}
