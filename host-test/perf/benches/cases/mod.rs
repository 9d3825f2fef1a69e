//! Decisions with all that goes into them: a request, and the replies that a table would send.

use onewindow::{AcquireRequest, Amount, Hint, Limit, Reply, Step, Subject};
use onewindow_host::{Engine, engine::Machine};
use serde_json::{Value as Json, json};

/// The time of every case, ms since the epoch.
pub(crate) const NOW_MS: u64 = 1_800_000_000_000;
const LENGTH_MS: u64 = 18_000_000;
const CAPACITY: i64 = 3200;

/// A sequence to a decision.
pub(crate) struct Case {
    /// What happens, in a few words.
    pub(crate) name: &'static str,
    asks: Asks,
    shard_count: u32,
    /// What the table says, reply by reply.
    pub(crate) replies: Vec<Reply>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Asks {
    Acquire,
    Preview,
}

/// What a host asks of a machine.
pub(crate) enum Asked {
    /// Tokens.
    Acquire(AcquireRequest),
    /// What is left.
    Preview(Subject, Vec<Limit>, Hint),
}

/// Every case. The steady state comes first.
pub(crate) fn all() -> Vec<Case> {
    let acquire = |name, shard_count, replies| Case { name, asks: Asks::Acquire, shard_count, replies };
    let live =
        |shard, count| item(shard, count, count, CAPACITY * 1000 / i64::from(count) - 1000, NOW_MS - 1000);
    let over = |shard, count| refused(Some(&item(shard, count, count, 0, NOW_MS - LENGTH_MS)));
    let shards: Vec<_> = (0..32).map(|shard| live(shard, 32)).collect();
    // The shards are those that the seed draws.
    vec![
        acquire("steady state", 1, vec![landed(&live(0, 1))]),
        acquire("rejection", 1, vec![refused(Some(&item(0, 1, 1, 0, NOW_MS - 1000)))]),
        acquire("opener of 8 shards", 8, vec![over(1, 8), landed(&live(1, 8))]),
        acquire("opener of 32 shards", 32, vec![over(25, 32), landed(&live(25, 32))]),
        // Shard 0 still holds the grant of the whole, and pays for shard 1.
        acquire(
            "create with move",
            2,
            vec![refused(None), read(&[item(0, 2, 1, 3_199_000, NOW_MS - 1000)]), http(200, &json!({}))],
        ),
        Case {
            name: "preview of 32 shards",
            asks: Asks::Preview,
            shard_count: 32,
            replies: vec![read(&shards)],
        },
    ]
}

impl Case {
    /// What is asked.
    pub(crate) fn asked(&self) -> Asked {
        let hint = Hint { key: subject().hint_key(), shard_count: self.shard_count, rejections: Vec::new() };
        match self.asks {
            Asks::Acquire => Asked::Acquire(AcquireRequest {
                subject: subject(),
                consume: vec![Amount::new("session", 1)],
                limits: limits(),
                hint: Some(hint),
                seed: 1,
                ..AcquireRequest::default()
            }),
            Asks::Preview => Asked::Preview(subject(), limits(), hint),
        }
    }

    /// The whole sequence, through an engine as the host runs it.
    pub(crate) fn decide(&self, asked: Asked, engine: &Engine) {
        match asked {
            Asked::Acquire(request) => drop(self.drive(engine.acquire(request))),
            Asked::Preview(subject, limits, hint) => {
                drop(self.drive(engine.preview(subject, limits, Some(&hint))));
            }
        }
    }

    fn drive<D>(&self, mut machine: Box<dyn Machine<D>>) -> D {
        let mut step = machine.advance(NOW_MS, &[]);
        for reply in &self.replies {
            step = machine.advance(NOW_MS, std::slice::from_ref(reply));
        }
        match step {
            Step::Done(decision) => decision,
            Step::Perform(calls) => panic!("{} wants more: {calls:?}", self.name),
        }
    }
}

// ---- what the table says ----

fn subject() -> Subject {
    Subject::new("limits", "default", "user-1", "gpt-4")
}

fn limits() -> Vec<Limit> {
    vec![Limit::session("session", CAPACITY.unsigned_abs(), LENGTH_MS / 1000)]
}

/// A shard in a window that began at `start_ms`, its grant sized at `grant_count`.
fn item(shard: u32, shard_count: u32, grant_count: u32, tokens_milli: i64, start_ms: u64) -> Json {
    let number = |number: i64| json!({ "N": number.to_string() });
    let start_ms = i64::try_from(start_ms).unwrap_or(0);
    let length_ms = i64::try_from(LENGTH_MS).unwrap_or(0);
    json!({
        "PK": { "S": subject().bucket_pk(shard) }, "SK": { "S": "#STATE" },
        "entity_id": { "S": "user-1" }, "resource": { "S": "gpt-4" }, "cascade": { "BOOL": false },
        "GSI2PK": { "S": "default/RESOURCE#gpt-4" }, "GSI2SK": { "S": format!("BUCKET#user-1#{shard}") },
        "GSI3PK": { "S": "default/ENTITY#user-1" }, "GSI3SK": { "S": format!("BUCKET#gpt-4#{shard}") },
        "GSI4PK": { "S": "default" }, "GSI4SK": { "S": format!("BUCKET#user-1#gpt-4#{shard}") },
        "rf": number(start_ms), "vu": number(start_ms + length_ms), "shard_count": number(shard_count.into()),
        "ttl": number(start_ms / 1000 + 7 * length_ms / 1000),
        "b_session_tk": number(tokens_milli), "b_session_cp": number(CAPACITY * 1000),
        "b_session_ra": number(0), "b_session_rp": number(1000), "b_session_tc": number(1000),
        "b_session_rsa": number(length_ms / 1000), "b_session_ws": number(start_ms),
        "b_session_wa": number(start_ms), "b_session_gc": number(grant_count.into()),
        "b_wcu_tk": number(999_000), "b_wcu_cp": number(1_000_000), "b_wcu_ra": number(1_000_000),
        "b_wcu_rp": number(1000), "b_wcu_tc": number(1000),
    })
}

fn http(status: u16, body: &Json) -> Reply {
    Reply::Http { status, body: body.to_string() }
}

fn landed(item: &Json) -> Reply {
    http(200, &json!({ "Attributes": item }))
}

fn read(items: &[Json]) -> Reply {
    http(200, &json!({ "Responses": { "limits": items }, "UnprocessedKeys": {} }))
}

/// A condition failed; the item as it is, if there is one.
fn refused(item: Option<&Json>) -> Reply {
    let mut body = json!({
        "__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
        "message": "The conditional request failed",
    });
    if let Some(item) = item {
        body["Item"] = item.clone();
    }
    http(400, &body)
}
