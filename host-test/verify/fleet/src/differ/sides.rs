//! The two sides: our acquire, the peer's, and the items that both leave in the table.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use onewindow::{Acquire, AcquireRequest, Amount, Call, Hint, Limit, Outcome, Reply, Resend, Step, Subject};
use onewindow_host::{Client, Cost};
use serde_json::{Value, json};

use super::random::{Acquisition, Bucket, CAPACITY, LENGTH_MS, RATE_CAPACITY};
use crate::{history::Image, ledger::QUOTA, plan::RATE};

fn limits() -> Vec<Limit> {
    let whole = |number: i64| u64::try_from(number).unwrap_or(1);
    vec![
        Limit::session(QUOTA, whole(CAPACITY), whole(LENGTH_MS / 1000)),
        Limit::drip(RATE, whole(RATE_CAPACITY), whole(RATE_CAPACITY), 60),
    ]
}

/// The acquire as a line for the peer's process.
pub(super) fn for_peer(entity: &str, acquisition: &Acquisition) -> String {
    let consume: BTreeMap<_, _> = acquisition.consume.iter().copied().collect();
    json!({
        "entity": entity, "now_ms": acquisition.now_ms, "shard": acquisition.shard, "count": acquisition.count, "consume": consume,
        "capacity": CAPACITY, "window_seconds": LENGTH_MS / 1000, "rate_capacity": RATE_CAPACITY,
    })
    .to_string()
}

/// Our acquire, on the same shard, with its follow-ups.
pub(super) async fn acquire(
    client: &Client,
    subject: &Subject,
    acquisition: &Acquisition,
) -> anyhow::Result<Outcome> {
    let hint = Hint { key: subject.hint_key(), shard_count: acquisition.count, rejections: Vec::new() };
    let request = AcquireRequest {
        subject: subject.clone(),
        consume: acquisition.consume.iter().map(|(name, tokens)| Amount::new(name, *tokens)).collect(),
        limits: limits(),
        hint: Some(hint),
        ..AcquireRequest::default()
    };
    let now_ms = u64::try_from(acquisition.now_ms)?;
    let wanted = format!("{:?}", subject.bucket_pk(acquisition.shard));
    let drawn = (0..4096).find_map(|seed| {
        let mut machine = Acquire::new(AcquireRequest { seed, ..request.clone() });
        let step = machine.advance(now_ms, &[]);
        matches!(&step, Step::Perform(calls) if calls[0].body.contains(&wanted)).then_some((machine, step))
    });
    let (mut machine, mut step) = drawn.context("no seed draws the shard")?;
    loop {
        match step {
            Step::Perform(calls) => step = machine.advance(now_ms, &perform(client, &calls).await),
            Step::Done(decision) => {
                perform(client, &decision.follow_ups).await;
                return Ok(decision.outcome);
            }
        }
    }
}

async fn perform(client: &Client, calls: &[Call]) -> Vec<Reply> {
    let deadline = Instant::now() + Duration::from_secs(10);
    if calls.is_empty() { Vec::new() } else { client.perform(calls, deadline, &mut Cost::default()).await }
}

pub(super) async fn put(client: &Client, subject: &Subject, shard: u32, item: &Image) -> anyhow::Result<()> {
    let mut item = item.clone();
    let Subject { namespace, entity, resource, .. } = subject;
    for (name, value) in [
        ("PK", subject.bucket_pk(shard)),
        ("SK", "#STATE".into()),
        ("entity_id", entity.clone()),
        ("resource", resource.clone()),
        ("GSI2PK", format!("{namespace}/RESOURCE#{resource}")),
        ("GSI2SK", format!("BUCKET#{entity}#{shard}")),
        ("GSI3PK", format!("{namespace}/ENTITY#{entity}")),
        ("GSI3SK", format!("BUCKET#{resource}#{shard}")),
        ("GSI4PK", namespace.clone()),
        ("GSI4SK", format!("BUCKET#{entity}#{resource}#{shard}")),
    ] {
        item.insert(name.into(), json!({ "S": value }));
    }
    item.insert("cascade".into(), json!({ "BOOL": false }));
    let body = json!({ "TableName": subject.table, "Item": item }).to_string();
    let call = Call { operation: "PutItem", body, resend: Resend::Idempotent };
    let replies = perform(client, &[call]).await;
    ensure!(matches!(&replies[..], [Reply::Http { status: 200, .. }]), "{replies:?}");
    Ok(())
}

/// The bucket's balances, without keys, lifetimes and the write budget.
pub(super) async fn read(client: &Client, subject: &Subject) -> anyhow::Result<Bucket> {
    let key = |shard: u32| json!({ "PK": { "S": subject.bucket_pk(shard) }, "SK": { "S": "#STATE" } });
    let keys: Vec<Value> = (0..8).map(key).collect();
    let body = json!({ "RequestItems": { &subject.table: { "Keys": keys, "ConsistentRead": true } } });
    let call = Call { operation: "BatchGetItem", body: body.to_string(), resend: Resend::Idempotent };
    let replies = perform(client, &[call]).await;
    let [Reply::Http { status: 200, body }] = &replies[..] else { anyhow::bail!("{replies:?}") };
    let body: Value = serde_json::from_str(body)?;
    let mut bucket = Bucket::new();
    for item in body["Responses"][&subject.table].as_array().into_iter().flatten() {
        let pk = item["PK"]["S"].as_str().context("an item without a key")?;
        let id = pk.rsplit('#').next().context("a key without a shard")?.parse()?;
        let mut image = item.as_object().cloned().unwrap_or_default();
        let counts = |name: &String| {
            (name.starts_with("b_") && !name.starts_with("b_wcu") && !name.ends_with("sched"))
                || matches!(name.as_str(), "rf" | "vu" | "shard_count")
        };
        image.retain(|name, _| counts(name));
        bucket.insert(id, image);
    }
    Ok(bucket)
}
