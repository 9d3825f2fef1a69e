//! A table in this process, a clock that stands still, and buckets that are written as they are needed.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use onewindow::{Acquire, AcquireRequest, Amount, Call, Hint, Limit, Reply, Resend, Step, Subject};
use onewindow_host::{
    Answer, Client, ClientConfig, Clock, Cost, Embedded, Engine, Limiter, LimiterOptions, table,
};
use serde_json::{Value as Json, json};

use crate::meter::{Meter, Units};

/// 2027-01-15T08:00:00Z.
pub(crate) const NOW_MS: u64 = 1_800_000_000_000;
/// Five hours.
pub(crate) const LENGTH_MS: u64 = 18_000_000;
/// Tokens of each quota.
pub(crate) const CAPACITY: u64 = 3200;
pub(crate) const TABLE: &str = "limits";
pub(crate) const RESOURCE: &str = "gpt-4";
/// The first quota of an item; others are numbered.
pub(crate) const QUOTA: &str = "session";

/// Items that one batch may write.
const BATCH: usize = 25;
/// The deadline of every call.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Fixture {
    pub(crate) meter: Meter,
    pub(crate) clock: Clock,
    pub(crate) namespace: String,
    engine: Engine,
    database: Embedded,
    /// Writes items, without the meter.
    raw: Client,
}

/// What one operation used.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    /// Requests and units, before the answer and after it.
    pub(crate) units: Units,
    /// How long the answer took.
    pub(crate) answered: Duration,
}

/// The state of a shard, the same for each of its quotas.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShardState {
    /// Tokens of each quota, over all shards.
    pub(crate) capacity: u64,
    pub(crate) shard_count: u32,
    /// The shard count that the grant was sized for.
    pub(crate) grant_count: u32,
    pub(crate) tokens: u64,
    pub(crate) starts_at_ms: u64,
    /// The window that the balance reflects.
    pub(crate) applied_ms: u64,
    /// Quotas on the item.
    pub(crate) quotas: usize,
}

impl ShardState {
    /// A shard with its share, in a window that began a second ago.
    pub(crate) fn live(shard_count: u32) -> Self {
        let began_ms = NOW_MS - 1000;
        Self {
            capacity: CAPACITY,
            shard_count,
            grant_count: shard_count,
            tokens: CAPACITY / u64::from(shard_count),
            starts_at_ms: began_ms,
            applied_ms: began_ms,
            quotas: 1,
        }
    }

    /// A shard with nothing left, in a window that ends now.
    pub(crate) fn over(shard_count: u32) -> Self {
        let began_ms = NOW_MS - LENGTH_MS;
        Self { tokens: 0, starts_at_ms: began_ms, applied_ms: began_ms, ..Self::live(shard_count) }
    }
}

impl Fixture {
    pub(crate) async fn new(engine: Engine) -> anyhow::Result<Self> {
        let database = Embedded::in_memory().await?;
        let raw = Client::new(database.client_config())?;
        table::create(&raw, TABLE, false, PATIENCE).await?;
        let meter = Meter::in_front_of(database.endpoint()).await?;
        Ok(Self { meter, clock: Clock::at(NOW_MS), namespace: "default".into(), engine, database, raw })
    }

    /// A host whose requests are metered, or go directly to the table.
    pub(crate) fn host(&self, metered: bool) -> anyhow::Result<Limiter> {
        let mut config: ClientConfig = self.database.client_config();
        if metered {
            config.endpoint.clone_from(&self.meter.endpoint);
        }
        let options = LimiterOptions {
            clock: self.clock.clone(),
            deadline: PATIENCE,
            follow_up_deadline: PATIENCE,
            keep_configuration_for: Some(Duration::from_secs(3600)),
            ..LimiterOptions::default()
        };
        Ok(Limiter::new(self.engine.clone(), Client::new(config)?, options))
    }

    pub(crate) fn subject(&self, entity: &str) -> Subject {
        Subject::new(TABLE, &self.namespace, entity, RESOURCE)
    }

    /// A request for tokens of the first quota that draws this shard.
    pub(crate) fn request(&self, entity: &str, shard: u32, shard_count: u32, tokens: u64) -> AcquireRequest {
        let subject = self.subject(entity);
        let wanted = format!("{}\"", subject.bucket_pk(shard));
        let hint = Some(Hint { key: subject.hint_key(), shard_count, rejections: Vec::new() });
        let consume = vec![Amount::new(QUOTA, tokens)];
        let mut request =
            AcquireRequest { subject, consume, limits: limits(1), hint, ..AcquireRequest::default() };
        // The first call shows which shard is drawn.
        let draws = |request: &AcquireRequest| match Acquire::new(request.clone()).advance(NOW_MS, &[]) {
            Step::Perform(calls) => calls.iter().any(|call| call.body.contains(&wanted)),
            Step::Done(_) => true,
        };
        request.seed = 1;
        while !draws(&request) {
            request.seed += 1;
        }
        request
    }

    /// A shard's item.
    pub(crate) fn item(&self, entity: &str, shard: u32, state: ShardState) -> Json {
        let number = |number: u64| json!({ "N": number.to_string() });
        let namespace = &self.namespace;
        let mut item = json!({
            "PK": { "S": self.subject(entity).bucket_pk(shard) }, "SK": { "S": "#STATE" },
            "entity_id": { "S": entity }, "resource": { "S": RESOURCE }, "cascade": { "BOOL": false },
            "GSI2PK": { "S": format!("{namespace}/RESOURCE#{RESOURCE}") },
            "GSI2SK": { "S": format!("BUCKET#{entity}#{shard}") },
            "GSI3PK": { "S": format!("{namespace}/ENTITY#{entity}") },
            "GSI3SK": { "S": format!("BUCKET#{RESOURCE}#{shard}") },
            "GSI4PK": { "S": namespace }, "GSI4SK": { "S": format!("BUCKET#{entity}#{RESOURCE}#{shard}") },
            "rf": number(state.applied_ms), "vu": number(state.starts_at_ms + LENGTH_MS),
            "shard_count": number(state.shard_count.into()),
            "ttl": number((state.starts_at_ms + 7 * LENGTH_MS) / 1000),
            "b_wcu_tk": number(1_000_000), "b_wcu_cp": number(1_000_000), "b_wcu_ra": number(1_000_000),
            "b_wcu_rp": number(1000), "b_wcu_tc": number(1000),
        });
        if state.starts_at_ms > state.applied_ms {
            item["vu"] = number(0);
        }
        for limit in limits(state.quotas) {
            for (field, value) in [
                ("tk", state.tokens * 1000),
                ("cp", state.capacity * 1000),
                ("ra", 0),
                ("rp", 1000),
                ("tc", 1000),
                ("rsa", LENGTH_MS / 1000),
                ("ws", state.starts_at_ms),
                ("wa", state.applied_ms),
                ("gc", state.grant_count.into()),
            ] {
                item[format!("b_{}_{field}", limit.name)] = number(value);
            }
        }
        item
    }

    pub(crate) async fn put(&self, items: Vec<Json>) -> anyhow::Result<()> {
        for items in items.chunks(BATCH) {
            let puts: Vec<_> = items.iter().map(|item| json!({ "PutRequest": { "Item": item } })).collect();
            self.call("BatchWriteItem", &json!({ "RequestItems": { TABLE: puts } })).await?;
        }
        Ok(())
    }

    /// Every shard of a bucket in the same state.
    pub(crate) async fn put_all(&self, entity: &str, state: ShardState) -> anyhow::Result<()> {
        self.put((0..state.shard_count).map(|shard| self.item(entity, shard, state)).collect()).await
    }

    /// One operation on the table, without the meter.
    pub(crate) async fn call(&self, operation: &'static str, body: &Json) -> anyhow::Result<Json> {
        let call = Call { operation, body: body.to_string(), resend: Resend::Idempotent };
        let deadline = std::time::Instant::now() + PATIENCE;
        match &self.raw.perform(&[call], deadline, &mut Cost::default()).await[..] {
            [Reply::Http { status: 200, body }] => {
                serde_json::from_str(body).context("the table answered something else than JSON")
            }
            other => anyhow::bail!("{operation}: {other:?}"),
        }
    }

    /// One acquire of a host, with its follow-ups.
    pub(crate) async fn acquire(
        &self,
        host: &Limiter,
        request: AcquireRequest,
        admitted: bool,
    ) -> anyhow::Result<(Answer, Usage)> {
        let before = self.meter.total();
        let began = Instant::now();
        let answer = host.acquire(request).await;
        let answered = began.elapsed();
        host.flush().await;
        ensure!(answer.is_allowed() == admitted, "expected an admission to be {admitted}: {answer:?}");
        let units = self.meter.total() - before;
        Ok((answer, Usage { units, answered }))
    }
}

/// The limits of this many quotas.
pub(crate) fn limits(quotas: usize) -> Vec<Limit> {
    let name = |number: usize| if number == 0 { QUOTA.to_owned() } else { format!("quota-{number}") };
    (0..quotas).map(|number| Limit::session(&name(number), CAPACITY, LENGTH_MS / 1000)).collect()
}
