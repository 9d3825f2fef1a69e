//! A world of one table, one clock, one engine, and items put in place as raw JSON.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use onewindow::{
    Acquire, AcquireRequest, Amount, Call, Hint, Limit, Outcome, PreviewOutcome, PreviewReport, Reply,
    Resend, Step, Subject,
};
use onewindow_host::{
    Answer, Client, Clock, Cost, Embedded, Engine, Limiter, LimiterOptions, dynamo::Interpose,
};
use serde_json::{Map, Value as Json, json};

use crate::common::{self, START_MS, TABLE};

/// The quota's length.
pub(crate) const HOUR_MS: u64 = 3_600_000;
pub(crate) const QUOTA: &str = "session";

pub(crate) struct World {
    pub(crate) database: Embedded,
    pub(crate) engine: Engine,
    pub(crate) clock: Clock,
    /// Asks the table past every limiter.
    pub(crate) raw: Client,
    pub(crate) limiter: Limiter,
    pub(crate) capacity: u64,
    /// Every limit of the bucket; the quota first.
    pub(crate) limits: Vec<Limit>,
    pub(crate) subject: Subject,
}

impl World {
    pub(crate) async fn new(engine: Engine, capacity: u64) -> Self {
        let database = common::database().await;
        let clock = Clock::at(START_MS);
        let options = options(&clock);
        let limiter = common::limiter(engine.clone(), &database, options);
        let raw = Client::new(database.client_config()).expect("a client");
        Self {
            database,
            engine,
            clock,
            raw,
            limiter,
            capacity,
            limits: vec![Limit::session(QUOTA, capacity, HOUR_MS / 1000)],
            subject: Subject::new(TABLE, "ns", "user-1", "gpt-4"),
        }
    }

    /// Another host, with a memory of its own, on the same clock.
    pub(crate) fn host(&self) -> Limiter {
        common::limiter(self.engine.clone(), &self.database, options(&self.clock))
    }

    /// Another host whose requests something happens to.
    pub(crate) fn host_with(&self, interpose: Arc<dyn Interpose>) -> Limiter {
        let mut config = self.database.client_config();
        config.interpose = Some(interpose);
        config.waits.first = Duration::from_millis(1);
        Limiter::new(self.engine.clone(), Client::new(config).expect("a client"), options(&self.clock))
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    pub(crate) fn request(&self, tokens: u64) -> AcquireRequest {
        AcquireRequest {
            subject: self.subject.clone(),
            consume: vec![Amount::new(QUOTA, tokens)],
            limits: self.limits.clone(),
            ..AcquireRequest::default()
        }
    }

    /// A request that draws this shard of `count`.
    pub(crate) fn request_on(&self, shard: u32, count: u32, tokens: u64) -> AcquireRequest {
        self.drawing(self.request(tokens), shard, count)
    }

    /// The request, made to draw this shard of `count`; the core is asked what it would turn to.
    pub(crate) fn drawing(&self, request: AcquireRequest, shard: u32, count: u32) -> AcquireRequest {
        let hint = Hint { key: request.subject.hint_key(), shard_count: count, rejections: Vec::new() };
        let wanted = format!("{}\"", request.subject.bucket_pk(shard));
        let drawing = |seed| {
            let request = AcquireRequest { seed, hint: Some(hint.clone()), ..request.clone() };
            match Acquire::new(request.clone()).advance(self.now_ms(), &[]) {
                Step::Perform(calls) if calls[0].body.contains(&wanted) => Some(request),
                _ => None,
            }
        };
        (1..4096).find_map(drawing).expect("a seed that draws the shard")
    }

    /// Takes tokens, drawing this shard, and waits for what follows the answer.
    pub(crate) async fn take_on(&self, shard: u32, count: u32, tokens: u64) -> Answer {
        let answer = self.limiter.acquire(self.request_on(shard, count, tokens)).await;
        self.limiter.flush().await;
        answer
    }

    pub(crate) async fn report(&self) -> PreviewReport {
        match self.host().preview(self.subject.clone(), self.limits.clone()).await.outcome {
            PreviewOutcome::Report(report) => report,
            other => panic!("{other:?}"),
        }
    }

    /// What is left of the quota over all shards.
    pub(crate) async fn left(&self) -> i64 {
        self.report().await.limits[0].status.available
    }

    // ---- items, past the limiter ----

    pub(crate) async fn call(&self, operation: &'static str, body: Json) -> Json {
        let call = Call { operation, body: body.to_string(), resend: Resend::Idempotent };
        let deadline = std::time::Instant::now() + Duration::from_secs(30);
        let replies = self.raw.perform(&[call], deadline, &mut Cost::default()).await;
        match &replies[0] {
            Reply::Http { status: 200, body } => serde_json::from_str(body).expect("JSON"),
            other => panic!("{operation}: {other:?}"),
        }
    }

    fn key(&self, shard: u32) -> Json {
        json!({ "PK": { "S": self.subject.bucket_pk(shard) }, "SK": { "S": "#STATE" } })
    }

    pub(crate) async fn put(&self, item: Json) {
        self.call("PutItem", json!({ "TableName": TABLE, "Item": item })).await;
    }

    pub(crate) async fn delete(&self, shard: u32) {
        self.call("DeleteItem", json!({ "TableName": TABLE, "Key": self.key(shard) })).await;
    }

    /// The item, if there is one.
    pub(crate) async fn item(&self, shard: u32) -> Option<Map<String, Json>> {
        let body = json!({ "TableName": TABLE, "Key": self.key(shard), "ConsistentRead": true });
        self.call("GetItem", body).await["Item"].as_object().cloned()
    }

    /// The bucket item at a partition key, of any entity.
    pub(crate) async fn at(&self, pk: &str) -> Option<Map<String, Json>> {
        let key = json!({ "PK": { "S": pk }, "SK": { "S": "#STATE" } });
        let body = json!({ "TableName": TABLE, "Key": key, "ConsistentRead": true });
        self.call("GetItem", body).await["Item"].as_object().cloned()
    }

    /// Every item of the bucket that exists, by shard.
    pub(crate) async fn items(&self) -> BTreeMap<u32, Map<String, Json>> {
        let mut items = BTreeMap::new();
        for shard in 0..32 {
            if let Some(item) = self.item(shard).await {
                items.insert(shard, item);
            }
        }
        items
    }

    /// Changes an item, and leaves the rest of it.
    pub(crate) async fn amend(&self, shard: u32, attributes: Json) {
        let mut item = self.item(shard).await.expect("an item to amend");
        for (name, value) in attributes.as_object().expect("attributes") {
            if value.is_null() {
                item.remove(name);
            } else {
                item.insert(name.clone(), value.clone());
            }
        }
        self.put(Json::Object(item)).await;
    }

    /// A shard in a live window that began now, with this many whole tokens.
    pub(crate) fn live(&self, shard: u32, count: u32, tokens: u64) -> Json {
        let number = |number: u64| json!({ "N": number.to_string() });
        let mut item = self.key(shard);
        let now_ms = self.now_ms();
        let more = json!({
            "entity_id": { "S": self.subject.entity }, "resource": { "S": self.subject.resource },
            "foreign": { "M": { "kept": { "L": [{ "N": "1.50" }, { "NULL": true }] } } },
            "rf": number(now_ms), "vu": number(now_ms + HOUR_MS), "shard_count": number(count.into()),
            "cascade": { "BOOL": false },
            "b_session_tk": number(tokens * 1000), "b_session_cp": number(self.capacity * 1000),
            "b_session_ra": number(0), "b_session_rp": number(1000), "b_session_tc": number(0),
            "b_session_rsa": number(HOUR_MS / 1000), "b_session_ws": number(now_ms),
            "b_session_wa": number(now_ms), "b_session_gc": number(count.into()),
            "b_wcu_tk": number(1_000_000), "b_wcu_cp": number(1_000_000), "b_wcu_ra": number(1_000_000),
            "b_wcu_rp": number(1000), "b_wcu_tc": number(0),
        });
        let attributes = more.as_object().expect("an object").clone();
        item.as_object_mut().expect("a key").extend(attributes);
        item
    }

    /// `count` shards in a live window that began now, each with its share.
    pub(crate) async fn put_live(&self, count: u32) {
        for shard in 0..count {
            let share = self.capacity / u64::from(count);
            self.put(self.live(shard, count, share)).await;
        }
    }
}

fn options(clock: &Clock) -> LimiterOptions {
    // No test is about how busy the machine is; a rejection is asked for each time, but where it is
    // the rejection's memory that is tested.
    LimiterOptions { clock: clock.clone(), repeat_rejections_for: Duration::ZERO, ..common::options() }
}

/// An attribute's whole number.
pub(crate) fn number(item: &Map<String, Json>, name: &str) -> Option<i128> {
    item.get(name)?["N"].as_str()?.parse().ok()
}

/// Millitokens of the quota on every shard together.
pub(crate) fn total_milli(items: &BTreeMap<u32, Map<String, Json>>) -> i128 {
    items.values().filter_map(|item| number(item, "b_session_tk")).sum()
}

/// What an answer cost: round trips, the operations in their order, and the calls after it.
pub(crate) fn cost(answer: &Answer) -> (u32, Vec<&'static str>, usize) {
    assert_eq!(answer.cost.requests as usize, answer.cost.operations.len());
    (answer.cost.round_trips, answer.cost.operations.clone(), answer.follow_ups)
}

pub(crate) fn rejected_for(answer: &Answer) -> Option<u64> {
    match answer.decision.outcome {
        Outcome::Rejected { retry_after_ms } => Some(retry_after_ms),
        _ => None,
    }
}

/// The reported reset instant.
pub(crate) fn reported_reset_ms(answer: &Answer) -> Option<u64> {
    answer.decision.limits.first()?.resets_at_ms
}
