//! Windows over 1, 2, 8 and 32 shards: used up, reset, opened by many at once, lost and found.

use std::sync::Arc;

use futures::future::join_all;
use onewindow::{Amount, Limit};
use onewindow_host::Engine;
use serde_json::json;

use crate::{
    common::{Fate, Fates, START_MS, engines},
    kit::{HOUR_MS, World, cost, number, rejected_for, reported_reset_ms},
};

/// Shard counts, and a quota that they divide only sometimes.
const COUNTS: [u32; 4] = [1, 2, 8, 32];

async fn sharded(engine: &Engine, count: u32, capacity: u64) -> World {
    let world = World::new(engine.clone(), capacity).await;
    for shard in 0..count {
        let mut item = world.live(shard, count, 0);
        // The share in millitokens: it need not be whole.
        item["b_session_tk"] = json!({ "N": (capacity * 1000 / u64::from(count)).to_string() });
        world.put(item).await;
    }
    world
}

/// Takes one token after the other until there is a no; how many there were, and the no.
async fn exhaust(world: &World, count: u32) -> (u64, onewindow_host::Answer) {
    let mut taken = 0;
    loop {
        let shard = u32::try_from(taken).unwrap() % count;
        let answer = world.take_on(shard, count, 1).await;
        if !answer.is_allowed() {
            return (taken, answer);
        }
        taken += 1;
        assert!(taken <= world.capacity, "more than the capacity was admitted");
    }
}

#[tokio::test]
async fn a_quota_is_used_to_its_last_whole_token_and_no_further() {
    for engine in engines() {
        for count in COUNTS {
            let world = sharded(&engine, count, 100).await;
            let (taken, no) = exhaust(&world, count).await;
            // Shares are rounded down: what that loses over all shards is less than a token.
            let whole = u64::from(count) * (100_000 / u64::from(count)) / 1000;
            assert_eq!(taken, whole, "{count} shards");
            assert_eq!(rejected_for(&no), Some(HOUR_MS), "{count} shards");
            assert_eq!(no.decision.limits[0].available, 0);
        }
    }
}

#[tokio::test]
async fn the_instant_is_one_and_honest_through_the_window() {
    for engine in engines() {
        for count in COUNTS {
            let world = sharded(&engine, count, 64).await;
            let end_ms = START_MS + HOUR_MS;
            for minute in [0, 7, 59] {
                world.clock.set_ms(START_MS + minute * 60_000);
                let answer = world.take_on(minute as u32 % count, count, 1).await;
                assert_eq!(reported_reset_ms(&answer), Some(end_ms), "{count} shards, minute {minute}");
            }
            let (_, no) = exhaust(&world, count).await;
            assert_eq!(reported_reset_ms(&no), Some(end_ms));
            world.clock.set_ms(end_ms - 1);
            assert_eq!(rejected_for(&world.take_on(0, count, 1).await), Some(1), "{count} shards");
            world.clock.set_ms(end_ms);
            let yes = world.take_on(count - 1, count, 1).await;
            assert!(yes.is_allowed(), "{count} shards: {yes:?}");
            assert_eq!(reported_reset_ms(&yes), Some(end_ms + HOUR_MS));
        }
    }
}

#[tokio::test]
async fn every_shard_in_turn_opens_a_window_and_the_others_follow() {
    for engine in engines() {
        let count = 8;
        let world = sharded(&engine, count, 80).await;
        for opener in 0..count {
            world.clock.set_ms(world.now_ms() + HOUR_MS);
            let start_ms = i128::from(world.now_ms());
            let answer = world.take_on(opener, count, 1).await;
            assert!(answer.is_allowed(), "{answer:?}");
            for (shard, item) in world.items().await {
                assert_eq!(number(&item, "b_session_ws"), Some(start_ms), "shard {shard}");
                let applied = number(&item, "b_session_wa") == Some(start_ms);
                assert_eq!(applied, shard == opener, "shard {shard} after {opener} opened");
            }
            assert_eq!(world.left().await, 79);
        }
    }
}

#[tokio::test]
async fn openers_at_the_same_moment_share_one_quota() {
    for engine in engines() {
        for count in [2, 8] {
            let world = sharded(&engine, count, 80).await;
            world.clock.set_ms(world.now_ms() + HOUR_MS);
            let hosts: Vec<_> = (0..count).map(|_| world.host()).collect();
            let asked = hosts
                .iter()
                .zip(0..count)
                .map(|(host, shard)| host.acquire(world.request_on(shard, count, 1)));
            for answer in join_all(asked).await {
                assert!(answer.is_allowed(), "{answer:?}");
                assert_eq!(reported_reset_ms(&answer), Some(world.now_ms() + HOUR_MS));
            }
            for host in &hosts {
                host.flush().await;
            }
            let (taken, _) = exhaust(&world, count).await;
            assert_eq!(taken + u64::from(count), 80, "{count} openers");
        }
    }
}

#[tokio::test]
async fn a_lost_propagation_staggers_the_shards_until_the_next_window_and_over_admits_nothing() {
    for engine in engines() {
        let world = sharded(&engine, 2, 80).await;
        world.clock.set_ms(world.now_ms() + HOUR_MS);
        // The opener's answer is returned, and the propagation to shard 1 never arrives.
        let fates = Fates::of(
            "UpdateItem",
            [
                Fate::Materialisation,
                Fate::Materialisation,
                Fate::LoseRequest,
                Fate::LoseRequest,
                Fate::LoseRequest,
                Fate::LoseRequest,
                Fate::LoseRequest,
                Fate::LoseRequest,
                Fate::LoseRequest,
                Fate::LoseRequest,
            ],
        );
        let dying = world.host_with(fates);
        assert!(dying.acquire(world.request_on(0, 2, 1)).await.is_allowed());
        drop(dying);
        // Half an hour later shard 1 opens by itself: another start, less than a length away.
        world.clock.set_ms(world.now_ms() + HOUR_MS / 2);
        let late = world.take_on(1, 2, 1).await;
        assert!(late.is_allowed(), "{late:?}");
        let (taken, no) = exhaust(&world, 2).await;
        assert_eq!(taken + 2, 80, "one quota for both starts");
        // The latest end is reported, and at it everything is restored, on one start.
        let end_ms = reported_reset_ms(&no).unwrap();
        assert_eq!(end_ms, world.now_ms() + HOUR_MS);
        world.clock.set_ms(end_ms);
        assert!(world.take_on(0, 2, 1).await.is_allowed());
        assert!(world.take_on(1, 2, 1).await.is_allowed());
        for (shard, item) in world.items().await {
            assert_eq!(number(&item, "b_session_ws"), Some(end_ms.into()), "shard {shard}");
        }
    }
}

#[tokio::test]
async fn an_old_writers_spending_on_a_pending_shard_is_charged_when_it_rolls() {
    for engine in engines() {
        let world = sharded(&engine, 2, 80).await;
        world.clock.set_ms(world.now_ms() + HOUR_MS);
        assert!(world.take_on(0, 2, 1).await.is_allowed());
        // It knows neither `vu` nor the window: it takes 5 of the old balance.
        let pending = world.item(1).await.unwrap();
        let tokens = number(&pending, "b_session_tk").unwrap() - 5000;
        let number_json = |number: i128| json!({ "N": number.to_string() });
        world
            .amend(
                1,
                json!({ "b_session_tk": number_json(tokens), "b_session_tc": number_json(5000), "vu": null }),
            )
            .await;
        let answer = world.take_on(1, 2, 1).await;
        assert!(answer.is_allowed(), "{answer:?}");
        assert_eq!(answer.decision.limits[0].available, 40 - 5 - 1);
    }
}

#[tokio::test]
async fn a_window_after_a_pause_begins_at_its_first_use() {
    for engine in engines() {
        let world = sharded(&engine, 2, 80).await;
        world.clock.set_ms(START_MS + 3 * HOUR_MS + 1234);
        let answer = world.take_on(1, 2, 1).await;
        assert_eq!(reported_reset_ms(&answer), Some(START_MS + 4 * HOUR_MS + 1234));
    }
}

#[tokio::test]
async fn a_full_quota_has_no_instant() {
    for engine in engines() {
        let world = sharded(&engine, 2, 80).await;
        world.clock.set_ms(START_MS + 2 * HOUR_MS);
        let report = world.report().await;
        assert_eq!(report.limits[0].status.resets_at_ms, None);
        assert_eq!(report.limits[0].status.available, 80);
    }
}

#[tokio::test]
async fn two_windows_and_a_drip_on_one_item_each_have_their_own_time() {
    for engine in engines() {
        let mut world = World::new(engine.clone(), 10).await;
        world.limits.push(Limit::session("day", 12, 86_400));
        world.limits.push(Limit::drip("rpm", 100, 100, 60));
        let asks = |world: &World, tokens: u64| {
            let mut request = world.request(tokens);
            request.consume.push(Amount::new("day", tokens));
            request.consume.push(Amount::new("rpm", tokens));
            request
        };
        let first = world.limiter.acquire(asks(&world, 10)).await;
        let instants: Vec<_> = first.decision.limits.iter().map(|limit| limit.resets_at_ms).collect();
        assert_eq!(instants, [Some(START_MS + HOUR_MS), Some(START_MS + 86_400_000), None]);
        // The hour says no.
        let no = world.limiter.acquire(asks(&world, 1)).await;
        assert_eq!(rejected_for(&no), Some(HOUR_MS));
        // An hour later only the day still counts.
        world.clock.set_ms(START_MS + HOUR_MS);
        assert!(world.limiter.acquire(asks(&world, 2)).await.is_allowed());
        let no = world.limiter.acquire(asks(&world, 1)).await;
        assert_eq!(rejected_for(&no), Some(86_400_000 - HOUR_MS));
        // Who does not name the day is not held by it.
        let unnamed = world.limiter.acquire(world.request(1)).await;
        assert!(unnamed.is_allowed(), "{unnamed:?}");
        assert_eq!(cost(&unnamed).0, 1);
    }
}

#[tokio::test]
async fn clients_at_the_boundary_hammer_one_quota_through_three_windows() {
    for engine in engines() {
        let world = Arc::new(sharded(&engine, 8, 96).await);
        for window in 0..3 {
            let hosts: Vec<_> = (0..8).map(|_| world.host()).collect();
            let mut tasks = tokio::task::JoinSet::new();
            for (client, host) in hosts.iter().cloned().enumerate() {
                let world = world.clone();
                tasks.spawn(async move {
                    let mut admitted = 0_u64;
                    for round in 0..25 {
                        let shard = u32::try_from(client + round).unwrap() % 8;
                        admitted += u64::from(host.acquire(world.request_on(shard, 8, 1)).await.is_allowed());
                    }
                    admitted
                });
            }
            let mut admitted = 0;
            while let Some(done) = tasks.join_next().await {
                admitted += done.expect("no panic");
            }
            for host in &hosts {
                host.flush().await;
            }
            assert!(admitted <= 96, "window {window}: {admitted}");
            // Losing every round is a no of another kind; what is left is still to be had.
            let (rest, _) = exhaust(&world, 8).await;
            assert_eq!(admitted + rest, 96, "window {window}");
            world.clock.set_ms(world.now_ms() + HOUR_MS);
        }
    }
}
