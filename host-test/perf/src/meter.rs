//! A meter between a client and the table. It asks for the consumed capacity with every request, and adds up
//! what the table reports. It is the same for every implementation.

use std::{
    ops::{Add, Sub},
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::Context;
use axum::{
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, Response},
};
use onewindow_relay::{Upstream, operation};
use serde_json::{Value as Json, json};
use tokio::{net::TcpListener, task::JoinHandle};

/// Requests, and the units they consumed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Units {
    /// HTTP requests.
    pub(crate) requests: f64,
    /// Write request units, those of the indexes among them.
    pub(crate) written: f64,
    /// The write request units of the indexes, part of `written`.
    pub(crate) indexed: f64,
    /// Read request units.
    pub(crate) read: f64,
    /// Requests that a failed condition refused, and transactions that one cancelled.
    pub(crate) refused: f64,
}

impl Units {
    pub(crate) fn each(self, of: f64) -> Self {
        let Self { requests, written, indexed, read, refused } = self;
        Self {
            requests: requests / of,
            written: written / of,
            indexed: indexed / of,
            read: read / of,
            refused: refused / of,
        }
    }
}

impl Add for Units {
    type Output = Self;
    fn add(self, more: Self) -> Self {
        Self {
            requests: self.requests + more.requests,
            written: self.written + more.written,
            indexed: self.indexed + more.indexed,
            read: self.read + more.read,
            refused: self.refused + more.refused,
        }
    }
}

impl Sub for Units {
    type Output = Self;
    fn sub(self, less: Self) -> Self {
        Self {
            requests: self.requests - less.requests,
            written: self.written - less.written,
            indexed: self.indexed - less.indexed,
            read: self.read - less.read,
            refused: self.refused - less.refused,
        }
    }
}

/// A meter on a free port of 127.0.0.1, as long as this value lives.
#[derive(Debug)]
pub(crate) struct Meter {
    pub(crate) endpoint: String,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    table: Upstream,
    total: Mutex<Units>,
}

impl Meter {
    /// A meter in front of the table at this URL.
    pub(crate) async fn in_front_of(table: String) -> anyhow::Result<Self> {
        let table = Upstream::new(table).context("no HTTP client")?;
        let shared = Arc::new(Shared { table, total: Mutex::default() });
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let endpoint = format!("http://{}", listener.local_addr()?);
        let app = axum::Router::new().fallback(handle).with_state(Arc::clone(&shared));
        let server = tokio::spawn(async move {
            // It ends when it is aborted.
            let _ = axum::serve(listener, app).await;
        });
        Ok(Self { endpoint, shared, server })
    }

    /// The sum so far.
    pub(crate) fn total(&self) -> Units {
        *self.shared.total.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn handle(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response<Body> {
    let mut request: Json = serde_json::from_slice(&body).unwrap_or_default();
    let operation = operation(&headers);
    let body = if metered(operation, &mut request) { request.to_string().into() } else { body };
    let Ok(answer) = shared.table.forward(&headers, body).await else {
        return Response::builder().status(502).body(Body::empty()).unwrap_or_default();
    };
    let reply = serde_json::from_slice(answer.body()).unwrap_or_default();
    {
        let mut total = shared.total.lock().unwrap_or_else(PoisonError::into_inner);
        *total = *total + units(operation, &request, &reply);
    }
    answer.map(Body::from)
}

const SINGLE_WRITES: [&str; 3] = ["UpdateItem", "PutItem", "DeleteItem"];
const WRITES: [&str; 5] = ["UpdateItem", "PutItem", "DeleteItem", "TransactWriteItems", "BatchWriteItem"];
const READS: [&str; 5] = ["GetItem", "BatchGetItem", "TransactGetItems", "Query", "Scan"];

/// Asks for the consumed capacity, where there is any. A single write also asks for the item that fails its
/// condition: that costs nothing, and shows the item's size.
fn metered(operation: &str, request: &mut Json) -> bool {
    if !request.is_object() || !(WRITES.contains(&operation) || READS.contains(&operation)) {
        return false;
    }
    request["ReturnConsumedCapacity"] = json!("INDEXES");
    if SINGLE_WRITES.contains(&operation) && request.get("ConditionExpression").is_some() {
        request["ReturnValuesOnConditionCheckFailure"] = json!("ALL_OLD");
    }
    true
}

/// What one request consumed. A refused write is billed for the item as it is, which its error does not
/// report. The item is measured instead.
fn units(operation: &str, request: &Json, reply: &Json) -> Units {
    let mut units = Units { requests: 1.0, ..Units::default() };
    let error = reply["__type"].as_str().unwrap_or_default();
    if error.ends_with("ConditionalCheckFailedException") {
        units.refused = 1.0;
        units.written = write_units(&reply["Item"]);
        return units;
    }
    if error.ends_with("TransactionCanceledException") {
        let reasons = reply["CancellationReasons"].as_array().map_or(&[][..], Vec::as_slice);
        let writes = request["TransactItems"].as_array().map_or(0, Vec::len);
        let unit = |index: usize| reasons.get(index).map_or(1.0, |reason| write_units(&reason["Item"]));
        units.refused = 1.0;
        // Twice, as for one that lands: prepared, and cancelled.
        units.written = (0..writes).map(unit).sum::<f64>() * 2.0;
        return units;
    }
    let consumed = match &reply["ConsumedCapacity"] {
        Json::Array(tables) => tables.as_slice(),
        one => std::slice::from_ref(one),
    };
    for consumed in consumed {
        let all = consumed["CapacityUnits"].as_f64().unwrap_or(0.0);
        if READS.contains(&operation) {
            units.read += all;
        } else {
            units.written += all;
            let indexes = consumed["GlobalSecondaryIndexes"].as_object();
            let index = |index: &Json| index["CapacityUnits"].as_f64().unwrap_or(0.0);
            units.indexed += indexes.into_iter().flatten().map(|(_, units)| index(units)).sum::<f64>();
        }
    }
    units
}

/// The units of writing an item: one for each KiB or part of it.
fn write_units(item: &Json) -> f64 {
    let bytes: usize =
        item.as_object().into_iter().flatten().map(|(name, value)| name.len() + size(value)).sum();
    // No item is that large.
    bytes.div_ceil(1024).max(1) as f64
}

/// The documented size of a value, bytes.
fn size(value: &Json) -> usize {
    let Some((tag, value)) = value.as_object().and_then(|value| value.iter().next()) else { return 0 };
    match (tag.as_str(), value) {
        ("S", Json::String(text)) => text.len(),
        ("N", Json::String(digits)) => digits.trim_matches(['-', '0', '.']).len().div_ceil(2) + 1,
        ("M", Json::Object(members)) => {
            3 + members.iter().map(|(name, value)| 1 + name.len() + size(value)).sum::<usize>()
        }
        ("L", Json::Array(elements)) => 3 + elements.iter().map(|element| 1 + size(element)).sum::<usize>(),
        _ => 1,
    }
}
