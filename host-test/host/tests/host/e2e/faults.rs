//! Replies that are lost, requests that never arrive, and attributes that are not ours.

use onewindow::{Amount, Limit, Outcome, Settlement, Subject};

use crate::{
    common::{Fate, Fates, engines},
    kit::{HOUR_MS, World, number},
};

#[tokio::test]
async fn a_lost_reply_may_take_twice_and_never_gives() {
    for engine in engines() {
        let world = World::new(engine, 100).await;
        world.put_live(1).await;
        let host = world.host_with(Fates::of("UpdateItem", [Fate::LoseReply]));
        let answer = host.acquire(world.request(10)).await;
        assert!(answer.is_allowed(), "{answer:?}");
        assert_eq!(world.left().await, 80, "it landed twice");

        // The release of it is never sent again.
        let lease = answer.lease().unwrap().encode();
        let host = world.host_with(Fates::of("UpdateItem", [Fate::LoseReply, Fate::LoseReply]));
        let settled = host.settle(&world.subject.table, &lease, vec![Amount::new("session", 0)]).await;
        assert!(matches!(settled.settlement, Settlement::Unavailable(_)), "{settled:?}");
        assert_eq!(settled.cost.requests, 1);
        assert_eq!(world.left().await, 90, "it landed once");
    }
}

#[tokio::test]
async fn a_lost_reply_of_an_opening_opens_once() {
    for engine in engines() {
        let world = World::new(engine, 100).await;
        world.put_live(2).await;
        world.clock.set_ms(world.now_ms() + HOUR_MS);
        let host = world.host_with(Fates::of("UpdateItem", [Fate::Materialisation, Fate::LoseReply]));
        let answer = host.acquire(world.request_on(0, 2, 10)).await;
        assert!(answer.is_allowed(), "{answer:?}");
        let item = world.item(0).await.unwrap();
        // The reset happened once; the tokens were taken once by it and once by the request that
        // did not know.
        assert_eq!(number(&item, "b_session_tk"), Some(30_000));
    }
}

#[tokio::test]
async fn a_lost_reply_of_a_creation_creates_once() {
    for engine in engines() {
        let world = World::new(engine, 100).await;
        let host = world.host_with(Fates::of("TransactWriteItems", [Fate::LoseReply]));
        let answer = host.acquire(world.request(10)).await;
        assert!(answer.is_allowed(), "{answer:?}");
        assert_eq!(world.left().await, 80, "taken by the creation, and again by who did not know of it");
        assert_eq!(world.items().await.len(), 1);
    }
}

#[tokio::test]
async fn what_is_not_ours_survives_every_write() {
    for engine in engines() {
        let world = World::new(engine, 800).await;
        world.put_live(2).await;
        let foreign = world.item(0).await.unwrap()["foreign"].clone();
        // Fast, settled up and down, gathered, opened, propagated to, rolled, doubled, moved from.
        let lease = world.take_on(0, 2, 10).await.lease().unwrap().encode();
        for actual in [20, 5] {
            let actual = vec![Amount::new("session", actual)];
            let settled = world.limiter.settle(&world.subject.table, &lease, actual).await;
            assert_eq!(settled.settlement, Settlement::Settled);
        }
        assert!(world.take_on(0, 2, 700).await.is_allowed());
        world.clock.set_ms(world.now_ms() + HOUR_MS);
        assert!(world.take_on(0, 2, 1).await.is_allowed());
        assert!(world.take_on(1, 2, 1).await.is_allowed());
        world.amend(0, serde_json::json!({ "b_wcu_tk": { "N": "0" } })).await;
        assert!(world.take_on(0, 2, 1).await.is_allowed());
        let items = world.items().await;
        assert_eq!(items.len(), 3, "it was doubled, and a shard joined");
        for shard in 0..2 {
            assert_eq!(items[&shard]["foreign"], foreign, "shard {shard}");
        }
    }
}

#[tokio::test]
async fn f7_names_with_dots_dashes_and_slashes_work_everywhere() {
    for engine in engines() {
        let mut world = World::new(engine, 100).await;
        world.subject = Subject::new("limits", "ns", "team:a@b.example", "openai/gpt-4:8k");
        world.limits = vec![Limit::session("tokens.v2-beta", 100, HOUR_MS / 1000)];
        let asks = |tokens| {
            let mut request = world.request(0);
            request.consume = vec![Amount::new("tokens.v2-beta", tokens)];
            request
        };
        let first = world.limiter.acquire(asks(10)).await;
        assert!(first.is_allowed(), "{first:?}");
        let second = world.limiter.acquire(asks(60)).await;
        assert!(second.is_allowed());
        let lease = second.lease().unwrap().encode();
        let settled = world.limiter.settle("limits", &lease, vec![Amount::new("tokens.v2-beta", 20)]).await;
        assert_eq!(settled.settlement, Settlement::Settled);
        assert_eq!(world.left().await, 70);
        assert!(matches!(world.limiter.acquire(asks(71)).await.decision.outcome, Outcome::Rejected { .. }));
        world.clock.set_ms(world.now_ms() + HOUR_MS);
        assert!(world.limiter.acquire(asks(100)).await.is_allowed());
    }
}
