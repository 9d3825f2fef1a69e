//! Section 6: what each operation costs. One test a row.

use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use onewindow::{Amount, Call, Outcome, Reply};
use onewindow_host::{
    Limiter,
    dynamo::{Before, Interpose},
};
use serde_json::{Value as Json, json};

use crate::{
    common::engines,
    kit::{HOUR_MS, World, cost, rejected_for},
};

const UPDATE: &str = "UpdateItem";
const READ: &str = "BatchGetItem";
const TRANSACTION: &str = "TransactWriteItems";

/// Keeps a copy of every call.
#[derive(Debug, Default)]
struct Tape(Mutex<Vec<(&'static str, Json)>>);

impl Interpose for Tape {
    fn before<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Before> {
        let body = serde_json::from_str(&call.body).expect("JSON");
        self.0.lock().unwrap().push((call.operation, body));
        Box::pin(async { Before::Send })
    }

    fn after<'a>(&'a self, _: &'a Call, reply: Reply) -> BoxFuture<'a, Reply> {
        Box::pin(async { reply })
    }
}

impl Tape {
    fn calls(&self) -> Vec<(&'static str, Json)> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

fn taped(world: &World) -> (Arc<Tape>, Limiter) {
    let tape = Arc::new(Tape::default());
    (tape.clone(), world.host_with(tape))
}

#[tokio::test]
async fn section_6_1_the_steady_state_is_one_update_and_no_read() {
    for engine in engines() {
        let world = World::new(engine, 100).await;
        world.put_live(1).await;
        assert_eq!(cost(&world.take_on(0, 1, 1).await), (1, vec![UPDATE], 0));
    }
}

#[tokio::test]
async fn section_6_2_an_unsharded_rejection_is_the_failed_update_alone() {
    for engine in engines() {
        let world = World::new(engine, 100).await;
        world.put(world.live(0, 1, 4)).await;
        let answer = world.take_on(0, 1, 5).await;
        assert_eq!(rejected_for(&answer), Some(HOUR_MS));
        assert_eq!(cost(&answer), (1, vec![UPDATE], 0));
    }
}

#[tokio::test]
async fn section_6_2a_a_sharded_rejection_looks_at_every_shard_once() {
    for engine in engines() {
        let world = World::new(engine, 100).await;
        for shard in 0..4 {
            world.put(world.live(shard, 4, 1)).await;
        }
        let (tape, limiter) = taped(&world);
        let answer = limiter.acquire(world.request_on(2, 4, 5)).await;
        assert_eq!(rejected_for(&answer), Some(HOUR_MS));
        assert_eq!(cost(&answer), (2, vec![UPDATE, READ], 0));
        let (_, read) = tape.calls().remove(1);
        assert_eq!(read["RequestItems"]["limits"]["Keys"].as_array().unwrap().len(), 4);
    }
}

#[tokio::test]
async fn section_6_2a_a_short_shard_is_served_by_another_with_one_update() {
    for engine in engines() {
        let world = World::new(engine, 100).await;
        world.put(world.live(0, 2, 1)).await;
        world.put(world.live(1, 2, 9)).await;
        let answer = world.take_on(0, 2, 5).await;
        assert!(answer.is_allowed(), "{answer:?}");
        assert_eq!(cost(&answer), (3, vec![UPDATE, READ, UPDATE], 0));
    }
}

#[tokio::test]
async fn section_6_2a_what_no_shard_holds_is_gathered_in_one_transaction() {
    for engine in engines() {
        let world = World::new(engine, 100).await;
        for shard in 0..4 {
            world.put(world.live(shard, 4, 4)).await;
        }
        let answer = world.take_on(0, 4, 10).await;
        assert!(answer.is_allowed(), "{answer:?}");
        assert_eq!(cost(&answer), (3, vec![UPDATE, READ, TRANSACTION], 0));
        assert_eq!(world.left().await, 6);
    }
}

#[tokio::test]
async fn section_6_2b_a_remembered_rejection_asks_nobody() {
    for engine in engines() {
        let world = World::new(engine.clone(), 100).await;
        world.put(world.live(0, 1, 4)).await;
        let options =
            onewindow_host::LimiterOptions { clock: world.clock.clone(), ..crate::common::options() };
        let limiter = crate::common::limiter(engine, &world.database, options);
        assert!(!limiter.acquire(world.request(5)).await.is_allowed());
        let again = limiter.acquire(world.request(5)).await;
        assert_eq!(rejected_for(&again), Some(HOUR_MS));
        assert_eq!(cost(&again), (0, vec![], 0));
        // It is about what is above what was left, and about nothing else.
        let less = limiter.acquire(world.request(4)).await;
        assert!(less.is_allowed());
    }
}

#[tokio::test]
async fn section_6_3_and_6_4_an_opener_reads_nothing_and_tells_the_others_after_its_answer() {
    for engine in engines() {
        for count in [1, 2, 8] {
            let world = World::new(engine.clone(), 800).await;
            world.put_live(count).await;
            world.clock.set_ms(world.now_ms() + HOUR_MS);
            let answer = world.take_on(0, count, 1).await;
            assert!(answer.is_allowed(), "{answer:?}");
            assert_eq!(cost(&answer), (2, vec![UPDATE, UPDATE], count as usize - 1));
        }
    }
}

#[tokio::test]
async fn section_6_4_two_windows_take_a_write_each_and_shard() {
    for engine in engines() {
        let mut world = World::new(engine, 800).await;
        world.limits.push(onewindow::Limit::session("day", 800, 86_400));
        let both = |world: &World, shard, tokens| {
            let mut request = world.request_on(shard, 4, tokens);
            request.consume.push(Amount::new("day", tokens));
            request
        };
        world.put_live(4).await;
        for shard in 0..4 {
            let now_ms = world.now_ms();
            let number = |number: u64| json!({ "N": number.to_string() });
            world
                .amend(
                    shard,
                    json!({
                        "b_day_tk": number(200_000), "b_day_cp": number(800_000), "b_day_ra": number(0),
                        "b_day_rp": number(1000), "b_day_tc": number(0), "b_day_rsa": number(86_400),
                        "b_day_ws": number(now_ms), "b_day_wa": number(now_ms), "b_day_gc": number(4),
                    }),
                )
                .await;
        }
        world.clock.set_ms(world.now_ms() + 86_400_000);
        let answer = world.limiter.acquire(both(&world, 1, 1)).await;
        assert!(answer.is_allowed(), "{answer:?}");
        assert_eq!(cost(&answer), (2, vec![UPDATE, UPDATE], 6));
    }
}

#[tokio::test]
async fn section_6_3_a_pending_reset_is_planned_from_the_failed_image() {
    for engine in engines() {
        let world = World::new(engine, 800).await;
        world.put_live(2).await;
        world.clock.set_ms(world.now_ms() + HOUR_MS);
        assert!(world.take_on(0, 2, 1).await.is_allowed());
        let answer = world.take_on(1, 2, 1).await;
        assert!(answer.is_allowed(), "{answer:?}");
        // It rolls and opens nothing, so nothing is propagated.
        assert_eq!(cost(&answer), (2, vec![UPDATE, UPDATE], 0));
    }
}

#[tokio::test]
async fn section_6_3_a_refill_is_planned_from_the_failed_image() {
    for engine in engines() {
        let mut world = World::new(engine, 100).await;
        world.limits = vec![onewindow::Limit::drip("session", 100, 100, 60)];
        assert!(world.take_on(0, 1, 100).await.is_allowed());
        world.clock.set_ms(world.now_ms() + 30_000);
        let answer = world.take_on(0, 1, 50).await;
        assert!(answer.is_allowed(), "{answer:?}");
        assert_eq!(cost(&answer), (2, vec![UPDATE, UPDATE], 0));
    }
}

#[tokio::test]
async fn section_6_5_the_first_use_is_an_update_and_a_transaction() {
    for engine in engines() {
        let world = World::new(engine, 100).await;
        let (tape, limiter) = taped(&world);
        let answer = limiter.acquire(world.request(1)).await;
        assert!(answer.is_allowed(), "{answer:?}");
        assert_eq!(cost(&answer), (2, vec![UPDATE, TRANSACTION], 0));
        let calls = tape.calls();
        let items = calls[1].1["TransactItems"].as_array().unwrap();
        // The create; shard 1 is absent; the entity has no record of its own.
        assert_eq!(items.len(), 3, "{items:?}");
        assert!(items[0].get("Put").is_some());
    }
}

#[tokio::test]
async fn section_6_5_where_shard_1_is_there_after_all_the_siblings_are_read() {
    for engine in engines() {
        let world = World::new(engine, 100).await;
        world.put(world.live(1, 2, 7)).await;
        let answer = world.take_on(0, 1, 1).await;
        assert!(answer.is_allowed(), "{answer:?}");
        assert_eq!(cost(&answer), (4, vec![UPDATE, TRANSACTION, READ, TRANSACTION], 0));
        let item = world.item(0).await.unwrap();
        assert_eq!(crate::kit::number(&item, "shard_count"), Some(2));
    }
}

#[tokio::test]
async fn section_6_6_a_missing_shard_is_one_consistent_read_and_one_small_transaction() {
    for engine in engines() {
        let world = World::new(engine, 3200).await;
        for shard in 0..31 {
            world.put(world.live(shard, 32, 100)).await;
        }
        let (tape, limiter) = taped(&world);
        let answer = limiter.acquire(world.request_on(31, 32, 1)).await;
        assert!(answer.is_allowed(), "{answer:?}");
        assert_eq!(cost(&answer), (3, vec![UPDATE, READ, TRANSACTION], 0));
        let calls = tape.calls();
        assert_eq!(calls[1].1["RequestItems"]["limits"]["ConsistentRead"], true);
        let items = calls[2].1["TransactItems"].as_array().unwrap();
        assert!(items.len() <= 7, "{} items", items.len());
    }
}

#[tokio::test]
async fn section_6_7_a_preview_is_one_read_or_two_where_the_count_is_not_known() {
    for engine in engines() {
        let world = World::new(engine, 800).await;
        world.put_live(8).await;
        let unknown = world.limiter.preview(world.subject.clone(), world.limits.clone()).await;
        assert_eq!((unknown.cost.round_trips, unknown.cost.operations.clone()), (2, vec![READ, READ]));
        // It is remembered.
        let known = world.limiter.preview(world.subject.clone(), world.limits.clone()).await;
        assert_eq!((known.cost.round_trips, known.cost.operations.clone()), (1, vec![READ]));
        assert_eq!(unknown.outcome, known.outcome);
    }
}

#[tokio::test]
async fn section_6_8_settling_is_one_update() {
    for engine in engines() {
        let world = World::new(engine, 100).await;
        world.put_live(1).await;
        for actual in [0, 3, 8] {
            let answer = world.take_on(0, 1, 5).await;
            let lease = answer.lease().unwrap().encode();
            let settled = world
                .limiter
                .settle(&world.subject.table, &lease, vec![Amount::new("session", actual)])
                .await;
            assert_eq!((settled.cost.round_trips, settled.cost.operations), (1, vec![UPDATE]), "to {actual}");
        }
    }
}

#[tokio::test]
async fn section_6_9_a_doubling_is_one_update_more_and_raises_the_others_after_the_answer() {
    for engine in engines() {
        let world = World::new(engine, 800).await;
        world.put_live(4).await;
        world.amend(2, json!({ "b_wcu_tk": { "N": "0" } })).await;
        let answer = world.take_on(2, 4, 1).await;
        assert!(answer.is_allowed(), "{answer:?}");
        let expected = vec![UPDATE, UPDATE, UPDATE, READ, TRANSACTION];
        assert_eq!(cost(&answer), (5, expected, 3));
        for shard in 0..4 {
            let item = world.item(shard).await.unwrap();
            assert_eq!(crate::kit::number(&item, "shard_count"), Some(8), "shard {shard}");
            assert_eq!(crate::kit::number(&item, "b_session_gc"), Some(4), "its grant keeps its size");
        }
    }
}

#[tokio::test]
async fn a_question_of_nothing_is_one_read() {
    for engine in engines() {
        let world = World::new(engine, 800).await;
        world.put_live(2).await;
        let answer = world.take_on(0, 2, 0).await;
        assert!(matches!(answer.decision.outcome, Outcome::Admitted(_)));
        assert_eq!(cost(&answer), (1, vec![READ], 0));
    }
}
