//! What a decision costs, without the network: the core linked natively beside the component in
//! wasmtime. Compare within one run; machines differ.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use onewindow::{AcquireRequest, Amount, Decision, Hint, Limit, Reply, Step, Subject};
use onewindow_host::Engine;
use serde_json::json;

const NOW_MS: u64 = 1_800_000_000_000;
const LENGTH_MS: u64 = 18_000_000;

fn subject() -> Subject {
    Subject::new("limits", "default", "user-1", "gpt-4")
}

fn request(shard_count: u32) -> AcquireRequest {
    AcquireRequest {
        subject: subject(),
        consume: vec![Amount::new("session", 1)],
        limits: vec![Limit::session("session", 3200, LENGTH_MS / 1000)],
        hint: Some(Hint { key: subject().hint_key(), shard_count, blocked: Vec::new() }),
        seed: 7,
        ..AcquireRequest::default()
    }
}

/// A shard in a window that began at `start_ms`.
fn item(shard_count: u32, tokens_milli: i64, start_ms: u64) -> serde_json::Value {
    let number = |number: i64| json!({ "N": number.to_string() });
    let start_ms = i64::try_from(start_ms).unwrap_or(0);
    let length_ms = i64::try_from(LENGTH_MS).unwrap_or(0);
    json!({
        "PK": { "S": subject().bucket_pk(0) }, "SK": { "S": "#STATE" },
        "entity_id": { "S": "user-1" }, "resource": { "S": "gpt-4" }, "cascade": { "BOOL": false },
        "GSI2PK": { "S": "default/RESOURCE#gpt-4" }, "GSI2SK": { "S": "BUCKET#user-1#0" },
        "GSI3PK": { "S": "default/ENTITY#user-1" }, "GSI3SK": { "S": "BUCKET#gpt-4#0" },
        "GSI4PK": { "S": "default" }, "GSI4SK": { "S": "BUCKET#user-1#gpt-4#0" },
        "rf": number(start_ms), "vu": number(start_ms + length_ms), "shard_count": number(shard_count.into()),
        "ttl": number(start_ms / 1000 + 7 * length_ms / 1000),
        "b_session_tk": number(tokens_milli), "b_session_cp": number(3_200_000), "b_session_ra": number(0),
        "b_session_rp": number(1000), "b_session_tc": number(1000), "b_session_rsa": number(length_ms / 1000),
        "b_session_ws": number(start_ms), "b_session_wa": number(start_ms),
        "b_session_gc": number(shard_count.into()),
        "b_wcu_tk": number(999_000), "b_wcu_cp": number(1_000_000), "b_wcu_ra": number(1_000_000),
        "b_wcu_rp": number(1000), "b_wcu_tc": number(1000),
    })
}

fn landed(item: &serde_json::Value) -> Reply {
    Reply::Http { status: 200, body: json!({ "Attributes": item }).to_string() }
}

fn refused(item: &serde_json::Value) -> Reply {
    let body = json!({
        "__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
        "message": "The conditional request failed", "Item": item,
    });
    Reply::Http { status: 400, body: body.to_string() }
}

/// A whole decision, from canned replies.
fn decide(engine: &Engine, request: &AcquireRequest, replies: &[Reply]) -> Decision {
    let mut machine = engine.acquire(request.clone());
    let mut step = machine.advance(NOW_MS, &[]);
    for reply in replies {
        step = machine.advance(NOW_MS, std::slice::from_ref(reply));
    }
    match step {
        Step::Done(decision) => decision,
        Step::Perform(calls) => panic!("it wants more: {calls:?}"),
    }
}

fn decisions(criterion: &mut Criterion) {
    let live = item(1, 3_199_000, NOW_MS - 1000);
    let empty = item(1, 0, NOW_MS - 1000);
    let over = |shard_count| item(shard_count, 0, NOW_MS - LENGTH_MS);
    let cases: [(&str, u32, Vec<Reply>); 4] = [
        ("steady state", 1, vec![landed(&live)]),
        ("rejection", 1, vec![refused(&empty)]),
        ("opener of 8 shards", 8, vec![refused(&over(8)), landed(&live)]),
        ("opener of 32 shards", 32, vec![refused(&over(32)), landed(&live)]),
    ];
    let engines = [Engine::native(), Engine::component().expect("the component runs here")];
    for (name, shard_count, replies) in &cases {
        let mut group = criterion.benchmark_group(*name);
        let request = request(*shard_count);
        for engine in &engines {
            group.bench_function(engine.name(), |bencher| {
                bencher.iter(|| black_box(decide(engine, black_box(&request), replies)));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, decisions);
criterion_main!(benches);
