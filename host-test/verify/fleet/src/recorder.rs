//! A DynamoDB that records every write that lands, in order, with the item before and after. It is the embedded
//! engine behind a proxy that forwards one write at a time.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use anyhow::Context;
use axum::{
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, Response, StatusCode},
};
use dynoxide::{Database, actions::get_item::GetItemRequest, server};
use onewindow_host::Clock;
use onewindow_relay::{Upstream, operation};
use serde_json::Value;
use tokio::net::TcpListener;

use crate::history::{Commit, Image, Write};

/// It is called with every commit.
pub(crate) type Listener = Box<dyn Fn(Commit) + Send + Sync>;

/// The proxy. It ends with the process.
pub(crate) struct Recorder {
    pub(crate) endpoint: String,
    inner: Arc<Inner>,
}

struct Inner {
    database: Database,
    /// The engine's own server.
    engine: Upstream,
    /// The items as they are. The lock is held during a write.
    items: tokio::sync::Mutex<HashMap<(String, String), Image>>,
    sequence: AtomicU64,
    requests: AtomicU64,
    listener: Listener,
    /// Requests answered with an error of the engine's that is not about a condition, by message.
    refused: Mutex<HashMap<String, u64>>,
}

impl Recorder {
    pub(crate) async fn start(listener: Listener) -> anyhow::Result<Self> {
        let database = Database::memory().map_err(|error| anyhow::anyhow!("{error}"))?;
        let engine = TcpListener::bind(("127.0.0.1", 0)).await?;
        let inner = Arc::new(Inner {
            engine: Upstream::new(format!("http://{}", engine.local_addr()?)).context("no HTTP client")?,
            database: database.clone(),
            items: tokio::sync::Mutex::default(),
            sequence: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            listener,
            refused: Mutex::default(),
        });
        tokio::spawn(server::serve_on(engine, database));
        let front = TcpListener::bind(("127.0.0.1", 0)).await?;
        let endpoint = format!("http://{}", front.local_addr()?);
        let app = axum::Router::new().fallback(handle).with_state(Arc::clone(&inner));
        tokio::spawn(async move { axum::serve(front, app).await });
        Ok(Self { endpoint, inner })
    }

    pub(crate) fn requests(&self) -> u64 {
        self.inner.requests.load(Ordering::Relaxed)
    }

    /// Requests that the engine refused and no implementation should send, with their number.
    pub(crate) fn refused(&self) -> Vec<(String, u64)> {
        let refused = self.inner.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.iter().map(|(message, times)| (message.clone(), *times)).collect()
    }
}

/// Runs to its end even if the client process is killed meanwhile: a write that landed is recorded.
async fn handle(State(inner): State<Arc<Inner>>, headers: HeaderMap, body: Bytes) -> Response<Body> {
    tokio::spawn(answer(inner, headers, body)).await.unwrap_or_default()
}

async fn answer(inner: Arc<Inner>, headers: HeaderMap, body: Bytes) -> Response<Body> {
    inner.requests.fetch_add(1, Ordering::Relaxed);
    let operation = operation(&headers).to_owned();
    let touched = touched(&operation, &body);
    let answered = if touched.is_empty() {
        inner.engine.forward(&headers, body).await
    } else {
        let mut items = inner.items.lock().await;
        let answered = inner.engine.forward(&headers, body).await;
        if answered.as_ref().is_ok_and(|answer| answer.status() == StatusCode::OK) {
            let writes = inner.landed(&mut items, touched);
            (inner.listener)(Commit {
                sequence: inner.sequence.fetch_add(1, Ordering::Relaxed),
                at_ms: i64::try_from(Clock::System.now_ms()).unwrap_or(i64::MAX),
                client: client(&headers),
                operation,
                writes,
            });
        }
        answered
    };
    let answer = match answered {
        Ok(answer) => answer,
        // The client process gets a 502, and the report shows it.
        Err(error) => {
            inner.note(format!("the engine did not answer: {error}"));
            return Response::builder().status(502).body(Body::empty()).unwrap_or_default();
        }
    };
    if answer.status() == StatusCode::BAD_REQUEST {
        inner.note_refusal(answer.body());
    }
    answer.map(Body::from)
}

impl Inner {
    /// Reads each written item, while no other write is forwarded.
    fn landed(
        &self,
        items: &mut HashMap<(String, String), Image>,
        touched: Vec<(String, Value)>,
    ) -> Vec<Write> {
        let read = |(table, key): (String, Value)| {
            let text = |name: &str| key[name]["S"].as_str().unwrap_or_default().to_owned();
            let place = (text("PK"), text("SK"));
            let key = serde_json::from_value(key).unwrap_or_default();
            let request = GetItemRequest {
                table_name: table,
                key,
                consistent_read: Some(true),
                ..GetItemRequest::default()
            };
            let found = self.database.get_item(request).ok().and_then(|answer| answer.item);
            let after = found.and_then(|item| match serde_json::to_value(item) {
                Ok(Value::Object(image)) => Some(image),
                _ => None,
            });
            let before = match &after {
                Some(image) => items.insert(place.clone(), image.clone()),
                None => items.remove(&place),
            };
            Write { pk: place.0, before, after }
        };
        touched.into_iter().map(read).collect()
    }

    fn note_refusal(&self, answer: &[u8]) {
        let Ok(error) = serde_json::from_slice::<Value>(answer) else { return };
        let kind = error["__type"].as_str().unwrap_or_default();
        let expected = [
            "ConditionalCheckFailedException",
            "TransactionCanceledException",
            "ResourceInUseException",
            "ResourceNotFoundException",
        ];
        if !expected.iter().any(|name| kind.ends_with(name)) {
            self.note(format!("{kind}: {}", error["message"].as_str().unwrap_or_default()));
        }
    }

    fn note(&self, message: String) {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner).entry(message).or_default() += 1;
    }
}

/// The access key that signed the request.
fn client(headers: &HeaderMap) -> String {
    headers
        .get("authorization")
        .and_then(|value| value.to_str().ok()?.split_once("Credential="))
        .and_then(|(_, rest)| rest.split('/').next())
        .unwrap_or("unsigned")
        .to_owned()
}

/// The tables and keys that a request may write.
fn touched(operation: &str, body: &[u8]) -> Vec<(String, Value)> {
    let parse = || serde_json::from_slice::<Value>(body).unwrap_or_default();
    let key = |write: &Value| {
        let source = if write["Key"].is_object() { &write["Key"] } else { &write["Item"] };
        let key = serde_json::json!({ "PK": source["PK"], "SK": source["SK"] });
        Some((write["TableName"].as_str()?.to_owned(), key))
    };
    match operation {
        "UpdateItem" | "PutItem" | "DeleteItem" => key(&parse()).into_iter().collect(),
        "TransactWriteItems" => {
            let body = parse();
            let items = body["TransactItems"].as_array().cloned().unwrap_or_default();
            let writes = items.iter().filter_map(Value::as_object).flat_map(serde_json::Map::iter);
            writes.filter(|(kind, _)| *kind != "ConditionCheck").filter_map(|(_, write)| key(write)).collect()
        }
        "BatchWriteItem" => {
            let body = parse();
            let mut found = Vec::new();
            for (table, requests) in body["RequestItems"].as_object().into_iter().flatten() {
                for request in requests.as_array().into_iter().flatten() {
                    let item = &request["PutRequest"]["Item"];
                    let source = if item.is_object() { item } else { &request["DeleteRequest"]["Key"] };
                    found
                        .push((table.clone(), serde_json::json!({ "PK": source["PK"], "SK": source["SK"] })));
                }
            }
            found
        }
        _ => Vec::new(),
    }
}
