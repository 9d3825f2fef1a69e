//! Settling a lease to what was really used.

use onewindow::{Amount, Settlement};
use serde_json::json;

use crate::{
    common::engines,
    kit::{HOUR_MS, World, number},
};

/// Takes `estimate`, settles to `actual`, with another host than the one that took.
async fn settle(world: &World, lease: &str, actual: u64) -> onewindow_host::limiter::Settled {
    world.host().settle(&world.subject.table, lease, vec![Amount::new("session", actual)]).await
}

async fn lease(world: &World, count: u32, tokens: u64) -> String {
    let answer = world.take_on(0, count, tokens).await;
    answer.lease().unwrap_or_else(|| panic!("{answer:?}")).encode()
}

#[tokio::test]
async fn more_is_charged_less_is_given_back_and_nothing_releases() {
    for engine in engines() {
        let world = World::new(engine, 100).await;
        world.put_live(1).await;
        for (actual, left) in [(30, 70), (5, 65), (0, 65)] {
            let lease = lease(&world, 1, 20).await;
            assert_eq!(settle(&world, &lease, actual).await.settlement, Settlement::Settled);
            assert_eq!(world.left().await, left, "settled to {actual}");
        }
    }
}

#[tokio::test]
async fn more_than_there_is_becomes_a_debt_that_the_window_ends() {
    for engine in engines() {
        let world = World::new(engine, 100).await;
        world.put_live(1).await;
        let lease = lease(&world, 1, 90).await;
        assert_eq!(settle(&world, &lease, 150).await.settlement, Settlement::Settled);
        assert_eq!(world.left().await, -50);
        assert!(!world.take_on(0, 1, 1).await.is_allowed());
        world.clock.set_ms(world.now_ms() + HOUR_MS);
        assert!(world.take_on(0, 1, 100).await.is_allowed(), "the next window is whole");
    }
}

#[tokio::test]
async fn a_credit_that_would_lift_the_shard_above_its_ceiling_is_clamped_by_the_next_pass() {
    for engine in engines() {
        let world = World::new(engine, 100).await;
        world.put_live(1).await;
        let lease = lease(&world, 1, 20).await;
        // Somebody has put the balance back by hand.
        world.amend(0, json!({ "b_session_tk": { "N": "95000" } })).await;
        let settled = settle(&world, &lease, 0).await;
        assert_eq!(settled.settlement, Settlement::Settled);
        assert_eq!(settled.cost.operations, ["UpdateItem", "UpdateItem"], "refused, and sent with vu = 0");
        assert_eq!(number(&world.item(0).await.unwrap(), "vu"), Some(0));
        assert_eq!(world.left().await, 100);
        let answer = world.take_on(0, 1, 1).await;
        assert_eq!(answer.decision.limits[0].available, 99);
        assert!(!world.take_on(0, 1, 100).await.is_allowed(), "never more than the capacity");
    }
}

#[tokio::test]
async fn a_credit_whose_window_is_over_is_dropped() {
    for engine in engines() {
        let world = World::new(engine, 100).await;
        world.put_live(2).await;
        let (by_clock, by_item) = (lease(&world, 2, 20).await, lease(&world, 2, 10).await);
        // A host whose clock is behind still believes in the window; the item does not.
        let behind = world.now_ms();
        world.clock.set_ms(behind + HOUR_MS);
        assert!(world.take_on(0, 2, 1).await.is_allowed());
        let settled = settle(&world, &by_clock, 0).await;
        assert_eq!(settled.settlement, Settlement::WindowOver);
        assert_eq!(settled.cost.requests, 0, "the clock is enough");
        world.clock.set_ms(behind);
        assert_eq!(settle(&world, &by_item, 0).await.settlement, Settlement::WindowOver);
        assert_eq!(number(&world.item(0).await.unwrap(), "b_session_tk"), Some(49_000));
    }
}

#[tokio::test]
async fn where_the_item_is_gone_there_is_nothing_to_settle() {
    for engine in engines() {
        let world = World::new(engine, 100).await;
        world.put_live(1).await;
        let lease = lease(&world, 1, 20).await;
        world.delete(0).await;
        for actual in [0, 30] {
            assert_eq!(settle(&world, &lease, actual).await.settlement, Settlement::ItemGone);
        }
        assert!(world.item(0).await.is_none(), "it is not brought back by an addition");
    }
}

#[tokio::test]
async fn what_was_gathered_goes_back_where_it_came_from() {
    for engine in engines() {
        let world = World::new(engine, 100).await;
        for shard in 0..4 {
            world.put(world.live(shard, 4, 10)).await;
        }
        let lease = lease(&world, 4, 34).await;
        assert_eq!(world.left().await, 6);
        let settled = settle(&world, &lease, 4).await;
        assert_eq!(settled.settlement, Settlement::Settled);
        assert_eq!(settled.cost.round_trips, 1, "all shards at the same time");
        assert_eq!(world.left().await, 36);
        for (shard, item) in world.items().await {
            assert!(number(&item, "b_session_tk") <= Some(10_000), "shard {shard}");
        }
    }
}
