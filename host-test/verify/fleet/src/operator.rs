//! Changes to the table by others: foreign attributes appear, and write budgets are spent, so that shard counts
//! double.

use std::time::{Duration, Instant};

use onewindow::{Call, Resend, Subject};
use onewindow_host::{Client, ClientConfig, Clock, Cost, Credentials};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::plan::{Plan, RESOURCE};

/// How long a spent write budget stays spent, ms. It is long enough that a process finds it, and short enough
/// that not every process doubles.
const SPENT_MS: i64 = 120;

/// Changes the table until it is aborted.
pub(crate) async fn disturb(plan: Plan) -> anyhow::Result<()> {
    let credentials = Credentials::fixed("operator-disturb", "fleet", None);
    let client = Client::new(ClientConfig {
        attempt_timeout: Duration::from_secs(10),
        ..ClientConfig::new(&plan.endpoint, "us-east-1", credentials)
    })?;
    loop {
        let entities = plan.entities_at(Clock::System.now_ms());
        if let Some(entity) = fastrand::choice(&entities) {
            let subject = Subject::new(&plan.table, &plan.namespace, entity, RESOURCE);
            for shard in 0..8 {
                mark(&client, &subject, shard).await;
            }
            spend_budget(&client, &subject).await;
        }
        sleep(Duration::from_millis(fastrand::u64(300..900))).await;
    }
}

/// Adds foreign attributes, of every type a table can hold.
async fn mark(client: &Client, subject: &Subject, shard: u32) {
    let body = json!({
        "TableName": subject.table,
        "Key": key(subject, shard),
        "UpdateExpression": "SET fleet_note = :s, fleet_map = :m, fleet_number = :n, fleet_bytes = :b",
        "ConditionExpression": "attribute_exists(PK) AND attribute_not_exists(fleet_note)",
        "ExpressionAttributeValues": {
            ":s": { "S": "ours? \"no\" ✓" },
            ":m": { "M": { "list": { "L": [{ "BOOL": true }, { "NULL": true }] } } },
            ":n": { "N": "0.125" },
            ":b": { "B": "AAEC/w==" },
        },
    });
    post(client, "UpdateItem", &body).await;
}

/// Spends the write budget of shard 0 for a moment, as a busy partition would.
async fn spend_budget(client: &Client, subject: &Subject) {
    let read = json!({ "TableName": subject.table, "Key": key(subject, 0), "ConsistentRead": true });
    let found = post(client, "GetItem", &read).await;
    let Some(refill_ms) = found["Item"]["rf"]["N"].as_str().and_then(|text| text.parse::<i64>().ok()) else {
        return;
    };
    let now_ms = i64::try_from(Clock::System.now_ms()).unwrap_or(i64::MAX);
    // The budget is refilled by 1000 millitokens each ms from the last materialisation on.
    let tokens = -((now_ms - refill_ms).max(0) + SPENT_MS) * 1000;
    let body = json!({
        "TableName": subject.table,
        "Key": key(subject, 0),
        "UpdateExpression": "SET b_wcu_tk = :t",
        "ConditionExpression": "rf = :r",
        "ExpressionAttributeValues": {
            ":t": { "N": tokens.to_string() },
            ":r": { "N": refill_ms.to_string() },
        },
    });
    post(client, "UpdateItem", &body).await;
}

fn key(subject: &Subject, shard: u32) -> Value {
    json!({ "PK": { "S": subject.bucket_pk(shard) }, "SK": { "S": "#STATE" } })
}

/// The reply's body; null where there is none.
async fn post(client: &Client, operation: &'static str, body: &Value) -> Value {
    let call = Call { operation, body: body.to_string(), resend: Resend::Idempotent };
    let deadline = Instant::now() + Duration::from_secs(10);
    match client.perform(&[call], deadline, &mut Cost::default()).await.first() {
        Some(onewindow::Reply::Http { body, .. }) => serde_json::from_str(body).unwrap_or_default(),
        _ => Value::Null,
    }
}
