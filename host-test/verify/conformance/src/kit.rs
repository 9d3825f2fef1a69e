//! What the cases share: the servers of one runtime, the table behind them, and simple requests.

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use http::HeaderMap;
use onewindow::{Call, Reply, Resend};
use onewindow_host::{AcquireRequest, Amount, Client, Cost, Engine, Limit, Limiter, LimiterOptions, Subject};
use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::{
    proxy::Proxy,
    runtime::{NAMESPACE, Server},
};

pub(crate) const QUOTA_EXCEEDED: &str = "https://iana.org/assignments/http-problem-types#quota-exceeded";
pub(crate) const REDUCED_CAPACITY: &str =
    "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";
/// Every entity id of the suite begins with it. No log may contain it.
pub(crate) const SECRET: &str = "hush";
pub(crate) const TABLE: &str = "conformance";

/// The servers of one runtime.
#[derive(Debug)]
pub(crate) struct Servers {
    /// Directly on the table, with a long deadline.
    pub(crate) plain: Server,
    /// Through the proxy, with the same deadline.
    pub(crate) proxied: Server,
    /// Through the proxy, with the default deadline; rejects when the table does not answer.
    pub(crate) block: Server,
    /// As `block`, but allows when the table does not answer.
    pub(crate) allow: Server,
    /// As `allow`, on a table that does not exist.
    pub(crate) misplaced: Server,
}

/// What a case works with. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Fixture {
    pub(crate) servers: Arc<Servers>,
    pub(crate) proxy: Proxy,
    pub(crate) table: Client,
    pub(crate) http: reqwest::Client,
    /// An entity of the case's own.
    pub(crate) entity: String,
}

/// An HTTP answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

/// The `limits` of a request with one session quota.
pub(crate) fn session(capacity: u64, seconds: u64) -> Value {
    json!([{ "name": "session", "capacity": capacity, "reset_after_seconds": seconds }])
}

impl Fixture {
    /// The same, for another entity.
    pub(crate) fn other(&self, suffix: &str) -> Self {
        Self { entity: format!("{}-{suffix}", self.entity), ..self.clone() }
    }

    pub(crate) async fn send(&self, to: &Server, method: Method, path: &str, body: String) -> Answer {
        let request = self.http.request(method, format!("{}{path}", to.url)).body(body);
        Answer::of(request.send().await.expect("the server answers")).await
    }

    pub(crate) async fn post(&self, to: &Server, path: &str, body: &Value) -> Answer {
        self.send(to, Method::POST, path, body.to_string()).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(&self.servers.plain, Method::GET, path, String::new()).await
    }

    /// Acquires tokens of the limit `session` on the server `to`.
    pub(crate) async fn acquire_on(&self, to: &Server, tokens: u64, limits: &Value) -> Answer {
        self.post(to, "/acquire", &self.request(json!(tokens), limits)).await
    }

    pub(crate) async fn acquire(&self, tokens: u64, limits: &Value) -> Answer {
        self.acquire_on(&self.servers.plain, tokens, limits).await
    }

    pub(crate) fn request(&self, tokens: Value, limits: &Value) -> Value {
        json!({ "entity": self.entity, "resource": "gpt-4", "consume": { "session": tokens }, "limits": limits })
    }

    pub(crate) async fn preview(&self, limits: &Value) -> Answer {
        let ask = json!({ "entity": self.entity, "resource": "gpt-4", "limits": limits });
        self.post(&self.servers.plain, "/preview", &ask).await
    }

    /// Waits for a line of the server's log with all of these fields, `name=value`. In a line of JSON they are
    /// members.
    pub(crate) async fn wait_for_log(&self, server: &Server, fields: &[&str]) {
        let plain = |line: &str| line.replace("\":", "=").replace('"', "");
        for _ in 0..200 {
            let output = server.output();
            let has_all = |line: String| {
                fields.iter().all(|field| line.split([' ', ',', '{', '}']).any(|word| word == *field))
            };
            if output.lines().any(|line| has_all(plain(line))) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("no line has {fields:?}");
    }

    fn key(&self, shard: u32) -> Value {
        let pk = format!("{NAMESPACE}/BUCKET#{}#gpt-4#{shard}", self.entity);
        json!({ "PK": { "S": pk }, "SK": { "S": "#STATE" } })
    }

    /// A shard as it is stored.
    pub(crate) async fn item(&self, shard: u32) -> Option<Value> {
        let request = json!({ "TableName": TABLE, "Key": self.key(shard), "ConsistentRead": true });
        let mut reply = self.operate("GetItem", &request).await;
        reply.get_mut("Item").map(Value::take)
    }

    /// A stored number.
    pub(crate) async fn number(&self, shard: u32, attribute: &str) -> Option<i64> {
        self.item(shard).await?[attribute]["N"].as_str()?.parse().ok()
    }

    /// How many of so many shards have a window that starts at this instant.
    pub(crate) async fn starting_at(&self, shards: u32, start_ms: u64) -> usize {
        let mut count = 0;
        for shard in 0..shards {
            let start = self.number(shard, "b_session_ws").await.map(i64::unsigned_abs);
            count += usize::from(start == Some(start_ms));
        }
        count
    }

    /// Waits until all of them do.
    pub(crate) async fn all_start_at(&self, shards: u32, start_ms: u64) {
        for _ in 0..100 {
            if self.starting_at(shards, start_ms).await == shards as usize {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("not every shard has the window: {:?}", self.proxy.seen(&self.entity));
    }

    /// Sets attributes of a shard, as an operator would.
    pub(crate) async fn amend(&self, shard: u32, attributes: &[(&str, Value)]) {
        let (mut sets, mut names, mut values) = (Vec::new(), json!({}), json!({}));
        for (index, (name, value)) in attributes.iter().enumerate() {
            sets.push(format!("#a{index} = :v{index}"));
            names[format!("#a{index}")] = json!(name);
            values[format!(":v{index}")] = value.clone();
        }
        let request = json!({ "TableName": TABLE, "Key": self.key(shard),
            "UpdateExpression": format!("SET {}", sets.join(", ")),
            "ExpressionAttributeNames": names, "ExpressionAttributeValues": values });
        self.operate("UpdateItem", &request).await;
    }

    pub(crate) async fn delete(&self, shard: u32) {
        self.operate("DeleteItem", &json!({ "TableName": TABLE, "Key": self.key(shard) })).await;
    }

    async fn operate(&self, operation: &'static str, request: &Value) -> Value {
        let call = Call { operation, body: request.to_string(), resend: Resend::Idempotent };
        let deadline = Instant::now() + Duration::from_secs(20);
        let replies = self.table.perform(&[call], deadline, &mut Cost::default()).await;
        match &replies[..] {
            [Reply::Http { status: 200, body }] => serde_json::from_str(body).expect("JSON"),
            other => panic!("{operation}: {other:?}"),
        }
    }

    /// Spreads the entity over this many shards, each with an item. Another host creates them: a runtime
    /// without a memory would use the first shard as long as that admits.
    pub(crate) async fn spread(&self, count: u32, limits: &Value) {
        assert_eq!(self.acquire(1, limits).await.status, 200);
        self.amend(0, &[("shard_count", json!({ "N": count.to_string() }))]).await;
        let quota = &limits[0];
        let of = |member: &str| quota[member].as_u64().expect("a number");
        let request = AcquireRequest {
            subject: Subject::new(TABLE, NAMESPACE, &self.entity, "gpt-4"),
            consume: vec![Amount::new("session", 1)],
            limits: vec![Limit::session("session", of("capacity"), of("reset_after_seconds"))],
            ..AcquireRequest::default()
        };
        let other = Limiter::new(Engine::native(), self.table.clone(), LimiterOptions::default());
        for _ in 0..200 {
            let preview = self.preview(limits).await;
            let shards = preview.body["limits"][0]["shards"].as_array().expect("shards").clone();
            if shards.len() == count as usize && shards.iter().all(|shard| shard["state"] != "absent") {
                return;
            }
            let answer = other.acquire(request.clone()).await;
            assert!(answer.decision.outcome.is_admitted(), "{answer:?}");
        }
        panic!("not every shard was drawn in 200 requests");
    }
}

impl Answer {
    async fn of(response: Response) -> Self {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = response.text().await.expect("a body");
        Self { status, headers, body: serde_json::from_str(&body).unwrap_or(Value::String(body)) }
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("ASCII"))
    }

    /// A problem document of this status and type; its detail.
    #[track_caller]
    pub(crate) fn problem(&self, status: u16, kind: &str) -> &str {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.header("content-type"), "application/problem+json", "{self:?}");
        assert_eq!(self.body["type"], kind, "{self:?}");
        assert_eq!(self.body["status"], status, "{self:?}");
        assert!(self.body["title"].is_string(), "{self:?}");
        assert_eq!(self.header("retry-after").is_empty(), status != 429, "{self:?}");
        self.body["detail"].as_str().expect("a detail")
    }

    /// Asserts that the table admitted it.
    #[track_caller]
    pub(crate) fn admitted(self) -> Self {
        assert_eq!((self.status, &self.body["admitted"]), (200, &json!(true)), "{self:?}");
        self
    }

    /// The retry delay of a 429, ms; its header must agree.
    #[track_caller]
    pub(crate) fn rejected(&self) -> u64 {
        self.problem(429, QUOTA_EXCEEDED);
        let wait_ms = self.body["retry_after_ms"].as_u64().expect("a number");
        assert!(wait_ms >= 1, "{self:?}");
        assert_eq!(self.header("retry-after"), wait_ms.div_ceil(1000).to_string(), "{self:?}");
        wait_ms
    }

    /// What is left of the first limit, tokens.
    #[track_caller]
    pub(crate) fn available(&self) -> i64 {
        self.body["limits"][0]["available"].as_i64().unwrap_or_else(|| panic!("{self:?}"))
    }

    /// The reset that is reported for the first limit, epoch ms.
    pub(crate) fn resets_at_ms(&self) -> Option<u64> {
        self.body["limits"][0].get("resets_at_ms").and_then(Value::as_u64)
    }
}

/// Epoch milliseconds, by the clock that the servers share.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Waits until an instant of that clock.
pub(crate) async fn until(at_ms: u64) {
    while let Some(left @ 1..) = at_ms.checked_sub(now_ms()) {
        tokio::time::sleep(Duration::from_millis(left)).await;
    }
}
