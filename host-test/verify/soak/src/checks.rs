//! What is checked at the end of a soak, on the table and through a fresh host.

use std::time::{Duration, SystemTime};

use anyhow::Context;
use onewindow::{Call, Reply, Resend, Subject};
use onewindow_host::{AcquireRequest, Amount, Client, Clock, Cost, Engine, Limiter, LimiterOptions, Outcome};
use onewindow_model::{quota::LIMIT, store::json};
use serde_json::{Value as Json, json};
use tokio::time::sleep;

use crate::{
    history::History,
    load::{Load, TABLE},
    options::Options,
};

/// I9: when nothing goes wrong any more and every window is over, each entity that was hot at the end admits
/// a fresh host, on any shard, in three requests at most. Returns how many did.
pub(crate) async fn check_liveness(options: &Options, client: Client, history: &mut History) -> usize {
    let load = &options.load;
    let subjects = load.subjects(SystemTime::now());
    let skew = Duration::from_millis(options.skew_ms.unsigned_abs());
    sleep(Duration::from_secs(load.window_seconds) + skew).await;
    let options = LimiterOptions { clock: Clock::System, ..LimiterOptions::default() };
    let limiter = Limiter::new(Engine::native(), client, options);
    let mut admitting = 0;
    for subject in subjects {
        match acquire(&limiter, subject.clone(), load, history).await {
            Ok(()) => admitting += 1,
            Err(how) => history.violations.push(format!("I9: {}: {how}", subject.entity)),
        }
    }
    limiter.flush().await;
    admitting
}

async fn acquire(
    limiter: &Limiter,
    subject: Subject,
    load: &Load,
    history: &mut History,
) -> Result<(), String> {
    let request = AcquireRequest {
        subject,
        consume: vec![Amount::new(LIMIT, 1)],
        limits: vec![load.limit()],
        ..AcquireRequest::default()
    };
    let answer = limiter.acquire(request).await;
    match answer.decision.outcome {
        Outcome::Admitted(lease) if answer.cost.requests <= 3 => history.grant(&lease.encode()),
        Outcome::Admitted(_) => Err(format!("admitted after {} requests", answer.cost.requests)),
        other => Err(format!("{other:?}")),
    }
}

/// The table holds the items that its history made, one by one.
pub(crate) async fn check_items(direct: &Client, history: &mut History) -> anyhow::Result<()> {
    let mut seen = 0;
    let mut from = Json::Null;
    loop {
        let mut body = json!({ "TableName": TABLE, "ConsistentRead": true });
        if !from.is_null() {
            body["ExclusiveStartKey"] = from.take();
        }
        let call = Call { operation: "Scan", body: body.to_string(), resend: Resend::Idempotent };
        let deadline = std::time::Instant::now() + Duration::from_secs(60);
        let replies = direct.perform(&[call], deadline, &mut Cost::default()).await;
        let [Reply::Http { status: 200, body }] = &replies[..] else {
            anyhow::bail!("the table cannot be read: {replies:?}");
        };
        let page: Json = serde_json::from_str(body)?;
        for item in page["Items"].as_array().context("a page of items")? {
            let model = json::item(item).map_err(anyhow::Error::msg)?;
            let text = |name: &str| item[name]["S"].as_str().unwrap_or_default().to_owned();
            history.check_item(&(text("PK"), text("SK")), &model);
            seen += 1;
        }
        from = page["LastEvaluatedKey"].clone();
        if from.is_null() {
            break;
        }
    }
    if seen != history.items() {
        let created = history.items();
        history.violations.push(format!("the table holds {seen} items, its history created {created}"));
    }
    Ok(())
}
