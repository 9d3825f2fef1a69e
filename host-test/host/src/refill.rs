//! The table's change stream, consumed: what dripped back and the resets that are pending are
//! written before the next request needs them (section 6.10), so that a busy shard stays on the fast
//! write.
//!
//! The deciding is [`onewindow::refill`]'s, on one record's images. Each write is conditioned on the
//! item still being what the record shows, so that records which come twice, late or in another
//! order change nothing that is not so any more. Nothing depends on the consumer: without it every
//! request does the same for itself.

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

/// How long one call may take, resends and all.
const PATIENCE: Duration = Duration::from_secs(10);

/// What became of the records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refilled {
    /// Records of bucket items.
    pub records: u64,
    /// Refills that landed.
    pub landed: u64,
    /// Refills that the item had moved past: as it should be.
    pub overtaken: u64,
    /// Items that are left to the next request: a calendar, a corrupt attribute.
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
        /// What was asked.
        operation: &'static str,
        /// What came back.
        reason: String,
    },
}

/// A consumer of one table's stream. One is enough; several do no harm.
#[derive(Debug)]
pub struct Refiller {
    table: Client,
    /// AWS serves streams at an endpoint of their own.
    streams: Client,
    clock: Clock,
    table_name: String,
    stream: String,
    /// Where each of the stream's shards was read up to; none: to its end.
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

    /// Consumes what is there now.
    ///
    /// # Errors
    /// Where the stream can no longer be read. What was consumed stays so.
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
                        // It may have expired: the shard is read from its start again, which repeats records.
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

    /// Consumes one record, as the stream or a queue behind it delivers it. Any number of times.
    ///
    /// # Errors
    /// Where the table does not take the write for a reason that is not about its condition.
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
        // What the stream has trimmed is over.
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

/// A read of the table's or the stream's.
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
