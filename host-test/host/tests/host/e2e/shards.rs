//! Shards that come into being: by doubling, in the middle of a window, again after they expired.

use futures::future::join_all;
use onewindow::Outcome;
use serde_json::json;

use crate::{
    common::{START_MS, engines},
    kit::{HOUR_MS, World, cost, number, reported_reset_ms, total_milli},
};

#[tokio::test]
async fn a_shard_that_joins_is_paid_for_by_the_one_that_holds_its_part() {
    for engine in engines() {
        let world = World::new(engine, 800).await;
        // One shard holds a grant of the whole, of which 500 are left; there are to be two.
        let mut item = world.live(0, 2, 500);
        item["b_session_gc"] = json!({ "N": "1" });
        world.put(item).await;
        let answer = world.take_on(1, 2, 1).await;
        assert!(answer.is_allowed(), "{answer:?}");
        let items = world.items().await;
        assert_eq!(total_milli(&items), 499_000, "moved, not made");
        assert_eq!(number(&items[&0], "b_session_tk"), Some(100_000));
        assert_eq!(number(&items[&1], "b_session_tk"), Some(399_000), "its share, less what was taken");
        assert_eq!(number(&items[&1], "b_session_gc"), Some(2));
        assert_eq!(reported_reset_ms(&answer), Some(START_MS + HOUR_MS), "it joins the window that is there");
    }
}

#[tokio::test]
async fn a_slot_that_nobody_was_granted_starts_with_its_share() {
    for engine in engines() {
        let world = World::new(engine, 800).await;
        world.put(world.live(0, 2, 0)).await;
        let answer = world.take_on(1, 2, 1).await;
        assert!(answer.is_allowed(), "{answer:?}");
        assert_eq!(total_milli(&world.items().await), 399_000);
    }
}

#[tokio::test]
async fn a_rejected_pass_still_commits_its_move() {
    for engine in engines() {
        let world = World::new(engine, 800).await;
        let mut item = world.live(0, 2, 300);
        item["b_session_gc"] = json!({ "N": "1" });
        world.put(item).await;
        let answer = world.take_on(1, 2, 350).await;
        assert!(matches!(answer.decision.outcome, Outcome::Rejected { .. }), "{answer:?}");
        assert_eq!(answer.decision.limits[0].available, 300, "what is left over all shards");
        let items = world.items().await;
        assert_eq!(total_milli(&items), 300_000);
        assert_eq!(number(&items[&1], "b_session_tk"), Some(300_000), "the move is made");
        assert_eq!(number(&items[&1], "b_session_tc"), Some(0), "and nothing is taken");
    }
}

#[tokio::test]
async fn shard_0_made_again_joins_the_window_that_the_others_hold() {
    for engine in engines() {
        let world = World::new(engine, 800).await;
        world.put_live(4).await;
        world.delete(0).await;
        world.clock.set_ms(START_MS + HOUR_MS / 2);
        let answer = world.take_on(0, 4, 1).await;
        assert!(answer.is_allowed(), "{answer:?}");
        assert_eq!(reported_reset_ms(&answer), Some(START_MS + HOUR_MS), "not a window of its own");
        assert_eq!(answer.follow_ups, 0, "it opened nothing");
        assert_eq!(total_milli(&world.items().await), 799_000);
    }
}

#[tokio::test]
async fn two_who_make_one_shard_at_once_make_it_once() {
    for engine in engines() {
        let world = World::new(engine, 800).await;
        let mut item = world.live(0, 2, 800);
        item["b_session_gc"] = json!({ "N": "1" });
        world.put(item).await;
        let hosts: Vec<_> = (0..4).map(|_| world.host()).collect();
        let answers = join_all(hosts.iter().map(|host| host.acquire(world.request_on(1, 2, 10)))).await;
        let admitted = answers.iter().filter(|answer| answer.is_allowed()).count();
        assert_eq!(admitted, 4, "{answers:?}");
        assert_eq!(total_milli(&world.items().await), 760_000);
    }
}

#[tokio::test]
async fn doublings_and_joins_at_once_make_nothing_out_of_nothing() {
    for engine in engines() {
        let world = World::new(engine, 640).await;
        world.put(world.live(0, 1, 640)).await;
        world.amend(0, json!({ "b_wcu_tk": { "N": "0" } })).await;
        let hosts: Vec<_> = (0..6).map(|_| world.host()).collect();
        let answers = join_all(hosts.iter().map(|host| host.acquire(world.request(1)))).await;
        for host in &hosts {
            host.flush().await;
        }
        let admitted = answers.iter().filter(|answer| answer.is_allowed()).count();
        assert!(admitted >= 1, "{answers:?}");
        let items = world.items().await;
        assert!(items.len() > 1, "it was doubled");
        assert_eq!(total_milli(&items), 640_000 - 1000 * admitted as i128);
        let left = world.left().await;
        assert_eq!(i128::from(left), 640 - admitted as i128);
    }
}

/// Callers who wait for their answers never find a budget with nothing to restore: each millisecond brings a
/// write back.
#[tokio::test]
async fn a_budget_that_comes_back_by_less_than_half_doubles_the_count() {
    for engine in engines() {
        for (restored_ms, count) in [(499, 2), (500, 1)] {
            let world = World::new(engine.clone(), 640).await;
            world.put(world.live(0, 1, 640)).await;
            let refilled_ms = (START_MS - restored_ms).to_string();
            world.amend(0, json!({ "b_wcu_tk": { "N": "0" }, "rf": { "N": refilled_ms } })).await;
            let answer = world.take_on(0, 1, 1).await;
            assert!(answer.is_allowed(), "{answer:?}");
            let items = world.items().await;
            assert_eq!(number(&items[&0], "shard_count"), Some(count), "restored {restored_ms} ms ago");
            // The new slot is made and paid for in the same breath.
            assert_eq!(items.len(), usize::try_from(count).unwrap());
            assert_eq!(total_milli(&items), 639_000);
        }
    }
}

#[tokio::test]
async fn f5_doubling_stops_at_32_and_where_a_share_would_be_less_than_a_token() {
    for engine in engines() {
        for (capacity, most) in [(3200, 32), (10, 8), (1, 1)] {
            let world = World::new(engine.clone(), capacity).await;
            let mut count = 1;
            assert!(world.take_on(0, 1, 0).await.is_allowed());
            world.put(world.live(0, 1, capacity)).await;
            for _ in 0..8 {
                world.amend(0, json!({ "b_wcu_tk": { "N": "0" } })).await;
                let answer = world.take_on(0, count, 1).await;
                count = answer.decision.hint.shard_count;
                assert!(count <= most, "capacity {capacity}: {count} shards");
                world.clock.advance(std::time::Duration::from_millis(0));
            }
            assert_eq!(count, most, "capacity {capacity}");
            // It stays usable: at the window's end all of it is there.
            world.clock.set_ms(START_MS + 2 * HOUR_MS);
            let whole = world.take_on(0, count, capacity).await;
            assert!(whole.is_allowed(), "capacity {capacity} on {count} shards: {whole:?}");
            assert!(cost(&whole).0 <= 3);
        }
    }
}
