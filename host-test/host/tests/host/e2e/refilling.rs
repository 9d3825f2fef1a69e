//! Section 6.10 over the table's own stream: idempotent under replay and in any order.

use std::{collections::BTreeMap, time::Duration};

use onewindow::{AcquireRequest, Amount, Limit};
use onewindow_host::{
    Client, Clock, Embedded, Engine, Limiter, LimiterOptions,
    refill::{RefillError, Refilled, Refiller},
    table,
};
use serde_json::{Map, Value as Json, json};

use crate::{
    common::{self, START_MS, TABLE},
    kit::{World, number},
};

const WINDOW_MS: u64 = 3_600_000;

/// A world whose table has a stream.
async fn streaming(engine: Engine) -> World {
    let database = Embedded::in_memory().await.expect("a port is free");
    let raw = Client::new(database.client_config()).expect("a client");
    table::create(&raw, TABLE, true, Duration::from_secs(10)).await.expect("a table");
    let clock = Clock::at(START_MS);
    let options = LimiterOptions { clock: clock.clone(), ..common::options() };
    let limiter = Limiter::new(engine.clone(), raw.clone(), options);
    let subject = onewindow::Subject::new(TABLE, "ns", "user-1", "gpt-4");
    let limits = vec![Limit::session("session", 100, WINDOW_MS / 1000), Limit::drip("rpm", 60, 60, 60)];
    World { database, engine, clock, raw, limiter, capacity: 100, limits, subject }
}

impl World {
    async fn refiller(&self) -> Refiller {
        let opened = Refiller::open(self.raw.clone(), self.raw.clone(), TABLE, self.clock.clone());
        opened.await.expect("a stream")
    }

    /// One record of a change that consumed.
    fn record(&self, old: &Map<String, Json>, new: &Map<String, Json>) -> Json {
        json!({ "dynamodb": {
            "Keys": { "PK": new["PK"], "SK": new["SK"] }, "OldImage": old, "NewImage": new,
        } })
    }
}

async fn consumed(refiller: &Refiller, records: &[Json]) -> Refilled {
    let mut done = Refilled::default();
    for record in records {
        refiller.consume(record, &mut done).await.expect("a write");
    }
    done
}

#[tokio::test]
async fn section_6_10_a_stream_brings_back_what_dripped() {
    let world = streaming(Engine::native()).await;
    let mut refiller = world.refiller().await;
    let debit = || AcquireRequest {
        consume: vec![Amount::new("rpm", 40), Amount::new("session", 1)],
        ..world.request(1)
    };
    assert!(world.limiter.acquire(debit()).await.is_allowed());
    world.clock.advance(Duration::from_secs(30));
    assert!(world.limiter.acquire(debit()).await.is_allowed());
    let before = world.item(0).await.expect("an item");
    world.clock.advance(Duration::from_secs(10));
    let done = refiller.poll().await.expect("a stream");
    let after = world.item(0).await.expect("an item");
    assert!(done.records > 0 && done.landed == 1, "{done:?}");
    assert!(number(&after, "b_rpm_tk") > number(&before, "b_rpm_tk"));
    // Its own write is a record, too, whichever poll it comes with, and calls for none.
    let again = refiller.poll().await.expect("a stream");
    assert_eq!((done.records + again.records, again.landed), (3, 0), "{done:?} {again:?}");
    assert_eq!(world.item(0).await, Some(after));
}

#[tokio::test]
async fn section_6_10_records_come_twice_and_in_any_order() {
    let world = streaming(Engine::native()).await;
    let refiller = world.refiller().await;
    // Two shards: one waits for its reset, one is short of what dripped since.
    let mut states: Vec<Vec<Map<String, Json>>> = Vec::new();
    for shard in 0..2 {
        let mut item = world.live(shard, 2, 10);
        let more = json!({
            "b_rpm_tk": { "N": "1000" }, "b_rpm_cp": { "N": "60000" }, "b_rpm_ra": { "N": "60000" },
            "b_rpm_rp": { "N": "60000" }, "b_rpm_tc": { "N": "0" },
        });
        item.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        if shard == 1 {
            item["b_session_ws"] = json!({ "N": (START_MS + 1).to_string() });
            item["b_session_wtc"] = json!({ "N": "0" });
            item["vu"] = json!({ "N": "0" });
        }
        world.put(item.clone()).await;
        let mut history = vec![item.as_object().unwrap().clone()];
        for spent in 1..4 {
            let spent = json!({ "N": (spent * 1000).to_string() });
            world.amend(shard, json!({ "b_rpm_tc": spent })).await;
            history.push(world.item(shard).await.unwrap());
        }
        states.push(history);
    }
    world.clock.advance(Duration::from_secs(20));
    let records: Vec<Json> = states
        .iter()
        .flat_map(|history| history.windows(2).map(|pair| world.record(&pair[0], &pair[1])))
        .collect();
    let first = consumed(&refiller, &records).await;
    assert_eq!((first.records, first.landed), (6, 2), "{first:?}");
    let after: BTreeMap<_, _> = world.items().await;
    assert_eq!(number(&after[&0], "b_rpm_tk"), Some(1_000 + 20 * 500));
    assert_eq!(number(&after[&1], "b_session_tk"), Some(50_000), "rolled to its share");
    assert_eq!(number(&after[&1], "b_session_wa"), number(&after[&1], "b_session_ws"));
    // Once more, backwards, and once more, later.
    let mut reversed = records.clone();
    reversed.reverse();
    assert_eq!(consumed(&refiller, &reversed).await.landed, 0);
    world.clock.advance(Duration::from_secs(5));
    assert_eq!(consumed(&refiller, &records).await.landed, 0);
    assert_eq!(world.items().await, after);
}

#[tokio::test]
async fn section_6_10_what_cannot_be_read_is_left_to_the_next_request() {
    let world = streaming(Engine::native()).await;
    let refiller = world.refiller().await;
    let old = world.live(0, 1, 10).as_object().unwrap().clone();
    let mut new = old.clone();
    new.insert("b_session_tc".into(), json!({ "N": "1.5" }));
    let done = consumed(&refiller, &[world.record(&old, &new), json!({ "dynamodb": { "Keys": {} } })]).await;
    assert_eq!(done, Refilled { records: 1, skipped: 1, ..Refilled::default() });
    assert!(world.items().await.is_empty());
}

#[tokio::test]
async fn section_6_10_a_table_without_a_stream_is_told() {
    let database = common::database().await;
    let client = Client::new(database.client_config()).expect("a client");
    let opened = Refiller::open(client.clone(), client, TABLE, Clock::System).await;
    assert!(matches!(opened, Err(RefillError::NoStream { .. })));
}
