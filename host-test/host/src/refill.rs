//! The consumer of the table's change stream. It writes drips and pending resets before the next request
//! needs them (section 6.10), so that a busy shard stays on the fast write.
//!
//! [`onewindow::refill`] decides, on one record's images. Each write requires that the item is still as
//! the record shows it. So records that arrive twice, late or in another order do no harm. Nothing depends
//! on the consumer: without it, each request does the same itself.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use onewindow::{Call, Reply, Resend, refill};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    clock::Clock,
    dynamo::{Client, Cost, failure},
};

/// How long one call may take, resends included.
const PATIENCE: Duration = Duration::from_secs(10);

/// The results of the consumed records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refilled {
    /// Records of bucket items.
    pub records: u64,
    /// Refills that landed.
    pub landed: u64,
    /// Refills whose condition failed because the item had changed. This is normal.
    pub overtaken: u64,
    /// Items that are left to the next request, because of a calendar or a corrupt attribute.
    pub skipped: u64,
}

/// Why the stream cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RefillError {
    /// The table has no stream, or none with both images.
    #[error("the table {table:?} has no stream of new and old images")]
    NoStream {
        /// The table.
        table: String,
    },
    /// The table or its stream did not answer in a usable way.
    #[error("{operation}: {reason}")]
    Refused {
        /// The operation that was called.
        operation: &'static str,
        /// What came back.
        reason: String,
    },
}

/// A consumer of one table's stream. One is enough; several do no harm to each other.
#[derive(Debug)]
pub struct Refiller {
    table: Client,
    /// The client of the stream's endpoint: AWS serves streams at an endpoint of their own.
    streams: Client,
    clock: Clock,
    table_name: String,
    stream: String,
    /// The position up to which each of the stream's shards was read; none: to its end.
    iterators: HashMap<String, Option<String>>,
}

impl Refiller {
    /// Finds the table's stream. It is read from the oldest record that the stream still has.
    ///
    /// # Errors
    /// Where there is none, or the table does not say.
    pub async fn open(table: Client, streams: Client, name: &str, clock: Clock) -> Result<Self, RefillError> {
        let described = ask(&table, "DescribeTable", json!({ "TableName": name })).await?;
        let description = &described["Table"];
        let both = description["StreamSpecification"]["StreamViewType"] == "NEW_AND_OLD_IMAGES";
        let stream = description["LatestStreamArn"].as_str().filter(|_| both);
        let stream = stream.ok_or_else(|| RefillError::NoStream { table: name.into() })?.to_owned();
        Ok(Self { table, streams, clock, table_name: name.into(), stream, iterators: HashMap::new() })
    }

    /// Consumes until it fails, resting `pause` where there was nothing new.
    ///
    /// # Errors
    /// Where the stream can no longer be read.
    pub async fn run(&mut self, pause: Duration) -> Result<std::convert::Infallible, RefillError> {
        loop {
            if self.poll().await?.records == 0 {
                sleep(pause).await;
            }
        }
    }

    /// Consumes the records that are there now.
    ///
    /// # Errors
    /// Where the stream can no longer be read. Records that were consumed stay consumed.
    pub async fn poll(&mut self) -> Result<Refilled, RefillError> {
        self.find_shards().await?;
        let mut done = Refilled::default();
        let shards: Vec<String> = self.iterators.keys().cloned().collect();
        for shard in shards {
            while let Some(Some(iterator)) = self.iterators.get(&shard).cloned() {
                let body = json!({ "ShardIterator": iterator, "Limit": 1000 });
                let page = match ask(&self.streams, "GetRecords", body).await {
                    Ok(page) => page,
                    Err(error) => {
                        // The iterator may have expired: the shard is read from its start again, and records repeat.
                        self.iterators.remove(&shard);
                        return Err(error);
                    }
                };
                let records = page["Records"].as_array().cloned().unwrap_or_default();
                for record in &records {
                    self.consume(record, &mut done).await?;
                }
                let next = page["NextShardIterator"].as_str().map(Into::into);
                self.iterators.insert(shard.clone(), next);
                if records.is_empty() {
                    break;
                }
            }
        }
        Ok(done)
    }

    /// Consumes one record, as the stream or a queue behind it delivers it. The same record may be passed
    /// any number of times.
    ///
    /// # Errors
    /// Where the table refuses the write for another reason than its condition.
    pub async fn consume(&self, record: &Value, done: &mut Refilled) -> Result<(), RefillError> {
        let images = &record["dynamodb"];
        let is_bucket = images["Keys"]["SK"]["S"] == "#STATE";
        let Some(new) = images.get("NewImage").filter(|_| is_bucket) else { return Ok(()) };
        done.records += 1;
        let old = images.get("OldImage").map(Value::to_string);
        let planned = refill::call(&self.table_name, old.as_deref(), &new.to_string(), self.clock.now_ms());
        let call = match planned {
            Ok(Some(call)) => call,
            Ok(None) => return Ok(()),
            Err(error) => {
                done.skipped += 1;
                tracing::warn!(%error, "an item is left to its next request");
                return Ok(());
            }
        };
        match perform(&self.table, call.clone()).await {
            Reply::Http { status: 200, .. } => done.landed += 1,
            Reply::Http { status: 400, body } if body.contains("ConditionalCheckFailedException") => {
                done.overtaken += 1;
            }
            reply => return Err(refused(call.operation, &reply)),
        }
        Ok(())
    }

    async fn find_shards(&mut self) -> Result<(), RefillError> {
        let described = ask(&self.streams, "DescribeStream", json!({ "StreamArn": self.stream })).await?;
        let shards = described["StreamDescription"]["Shards"].as_array().cloned().unwrap_or_default();
        let names: Vec<String> =
            shards.iter().filter_map(|shard| Some(shard["ShardId"].as_str()?.to_owned())).collect();
        // Shards that the stream has trimmed are forgotten.
        self.iterators.retain(|shard, _| names.contains(shard));
        for shard in names {
            if self.iterators.contains_key(&shard) {
                continue;
            }
            let body = json!({
                "StreamArn": self.stream, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"
            });
            let iterator = ask(&self.streams, "GetShardIterator", body).await?;
            self.iterators.insert(shard, iterator["ShardIterator"].as_str().map(Into::into));
        }
        Ok(())
    }
}

async fn perform(client: &Client, call: Call) -> Reply {
    client.ask(call, Instant::now() + PATIENCE, &mut Cost::default()).await
}

/// A read request to the table or the stream.
async fn ask(client: &Client, operation: &'static str, body: Value) -> Result<Value, RefillError> {
    let call = Call { operation, body: body.to_string(), resend: Resend::Idempotent };
    match perform(client, call).await {
        Reply::Http { status: 200, body } => serde_json::from_str(&body)
            .map_err(|error| RefillError::Refused { operation, reason: error.to_string() }),
        reply => Err(refused(operation, &reply)),
    }
}

fn refused(operation: &'static str, reply: &Reply) -> RefillError {
    let reason =
        failure(reply).unwrap_or_else(|| "the table answered something other than what was asked".into());
    RefillError::Refused { operation, reason }
}
