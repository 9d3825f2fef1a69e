//! The table: keys, indexes, and waiting until it can be used.

use std::time::{Duration, Instant};

use onewindow::{Call, Reply, Resend};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::dynamo::{Client, Cost, failure};

/// The numbers of the global secondary indexes, `GSI1` to `GSI4`. From `KEYS_ONLY_FROM` on they hold keys
/// only.
const INDEXES: std::ops::RangeInclusive<u8> = 1..=4;
const KEYS_ONLY_FROM: u8 = 3;
const POLL: Duration = Duration::from_secs(1);

/// The result of a request to create the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Creation {
    /// It was created.
    Created,
    /// It existed, with the keys that are needed.
    Existed,
}

/// Why there is no table to use.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The table does not exist and could not be created.
    #[error("the table {table:?} cannot be created: {reason}")]
    Refused {
        /// The table.
        table: String,
        /// What was answered.
        reason: String,
    },
    /// Another table has the name.
    #[error("the table {table:?} exists with the keys {read}, expected hash key PK and range key SK")]
    Different {
        /// The table.
        table: String,
        /// Its keys.
        read: String,
    },
    /// It exists and did not become active in time.
    #[error("the table {table:?} is still {status} after {waited_seconds} s, expected ACTIVE")]
    Inactive {
        /// The table.
        table: String,
        /// Its status.
        status: String,
        /// How long was waited, seconds.
        waited_seconds: u64,
    },
}

/// Creates the table unless it exists, and waits until it can be used.
///
/// `stream` turns its change stream on (new and old images), which the aggregator's refill reads;
/// it is not turned on where the table exists.
///
/// # Errors
/// Where it can neither be created nor found, has other keys, or is not active within `patience`.
pub async fn create(
    client: &Client,
    table: &str,
    stream: bool,
    patience: Duration,
) -> Result<Creation, TableError> {
    let began = Instant::now();
    let deadline = began + patience;
    let reply = perform(client, "CreateTable", definition(table, stream), deadline).await;
    let refused = failure(&reply);
    loop {
        match describe(client, table, deadline).await {
            Some(described) => {
                described.check_keys(table)?;
                if described.table_status == "ACTIVE" {
                    return Ok(if refused.is_none() { Creation::Created } else { Creation::Existed });
                }
                if Instant::now() + POLL >= deadline {
                    let (table, status) = (table.to_owned(), described.table_status);
                    let waited_seconds = began.elapsed().as_secs();
                    return Err(TableError::Inactive { table, status, waited_seconds });
                }
            }
            // A new table may not be found everywhere yet.
            None if refused.is_none() && Instant::now() + POLL < deadline => {}
            None => {
                let reason = refused.unwrap_or_else(|| "it cannot be found after it was made".into());
                return Err(TableError::Refused { table: table.to_owned(), reason });
            }
        }
        sleep(POLL).await;
    }
}

async fn perform(client: &Client, operation: &'static str, body: Value, deadline: Instant) -> Reply {
    let call = Call { operation, body: body.to_string(), resend: Resend::Idempotent };
    client.ask(call, deadline, &mut Cost::default()).await
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    table: Description,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Description {
    table_status: String,
    key_schema: Vec<Key>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Key {
    attribute_name: String,
    key_type: String,
}

impl Description {
    fn check_keys(&self, table: &str) -> Result<(), TableError> {
        let keys: Vec<_> =
            self.key_schema.iter().map(|key| (key.attribute_name.as_str(), key.key_type.as_str())).collect();
        if keys == [("PK", "HASH"), ("SK", "RANGE")] {
            return Ok(());
        }
        let keys: Vec<_> = keys.iter().map(|(name, kind)| format!("{name} {kind}")).collect();
        Err(TableError::Different { table: table.to_owned(), read: keys.join(", ") })
    }
}

/// None where there is no such table, or no answer.
async fn describe(client: &Client, table: &str, deadline: Instant) -> Option<Description> {
    match perform(client, "DescribeTable", json!({ "TableName": table }), deadline).await {
        Reply::Http { status: 200, body } => serde_json::from_str(&body).ok().map(|Answer { table }| table),
        _ => None,
    }
}

fn definition(table: &str, stream: bool) -> Value {
    let keys = |hash: &str, range: &str| {
        json!([
            { "AttributeName": hash, "KeyType": "HASH" },
            { "AttributeName": range, "KeyType": "RANGE" },
        ])
    };
    let text = |name: &str| json!({ "AttributeName": name, "AttributeType": "S" });
    let mut attributes = vec![text("PK"), text("SK")];
    let mut indexes = Vec::new();
    for number in INDEXES {
        let (hash, range) = (format!("GSI{number}PK"), format!("GSI{number}SK"));
        attributes.extend([text(&hash), text(&range)]);
        indexes.push(json!({
            "IndexName": format!("GSI{number}"),
            "KeySchema": keys(&hash, &range),
            "Projection": { "ProjectionType": if number < KEYS_ONLY_FROM { "ALL" } else { "KEYS_ONLY" } },
        }));
    }
    let mut definition = json!({
        "TableName": table,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": attributes,
        "KeySchema": keys("PK", "SK"),
        "GlobalSecondaryIndexes": indexes,
    });
    if stream {
        definition["StreamSpecification"] =
            json!({ "StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES" });
    }
    definition
}
