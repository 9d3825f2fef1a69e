//! Section 8, end to end: configuration from the table, kept for a stated time.

use std::time::Duration;

use onewindow::{AcquireRequest, Amount, ErrorCode, Outcome};
use onewindow_host::{Limiter, LimiterOptions};
use serde_json::{Value as Json, json};

use crate::{
    common::{self, engines},
    kit::{World, cost, number},
};

const UPDATE: &str = "UpdateItem";
const READ: &str = "BatchGetItem";

pub(crate) fn keeping(world: &World, keep: Duration) -> Limiter {
    let options = LimiterOptions {
        clock: world.clock.clone(),
        keep_configuration_for: Some(keep),
        repeat_rejections_for: Duration::ZERO,
        ..common::options()
    };
    common::limiter(world.engine.clone(), &world.database, options)
}

/// A request that leaves the limits to the table.
fn bare(world: &World, tokens: u64) -> AcquireRequest {
    AcquireRequest {
        limits: Vec::new(),
        consume: vec![Amount::new("session", tokens)],
        ..world.request(tokens)
    }
}

fn config(capacity: u64, seconds: u64) -> Json {
    json!({
        "PK": { "S": "ns/RESOURCE#gpt-4" }, "SK": { "S": "#CONFIG" },
        "w_session_cp": { "N": capacity.to_string() }, "w_session_ra": { "N": "0" },
        "w_session_rp": { "N": "1" }, "w_session_rsa": { "N": seconds.to_string() },
    })
}

#[tokio::test]
async fn section_8_configuration_is_read_once_and_kept() {
    for engine in engines() {
        let world = World::new(engine, 100).await;
        world.put(config(100, 3600)).await;
        let limiter = keeping(&world, Duration::from_secs(3600));
        let first = limiter.acquire(bare(&world, 1)).await;
        assert!(first.is_allowed(), "{first:?}");
        assert_eq!(first.cost.operations[0], READ);
        assert_eq!(cost(&limiter.acquire(bare(&world, 1)).await), (1, vec![UPDATE], 0));
        // Items made by a resource's configuration do not live forever.
        assert!(number(&world.item(0).await.unwrap(), "ttl").is_some());
    }
}

#[tokio::test]
async fn section_8_a_changed_limit_takes_effect_where_it_is_read_again() {
    for engine in engines() {
        let world = World::new(engine, 100).await;
        world.put(config(100, 3600)).await;
        let limiter = keeping(&world, Duration::ZERO);
        assert!(limiter.acquire(bare(&world, 60)).await.is_allowed());
        // Lowered to less than what is left: what was taken in the window keeps counting.
        world.put(config(70, 7200)).await;
        let refused = limiter.acquire(bare(&world, 20)).await;
        assert!(matches!(refused.decision.outcome, Outcome::Rejected { .. }), "{refused:?}");
        let admitted = limiter.acquire(bare(&world, 10)).await;
        assert!(admitted.is_allowed(), "{admitted:?}");
        let item = world.item(0).await.unwrap();
        assert_eq!(number(&item, "b_session_cp"), Some(70_000));
        assert_eq!(number(&item, "b_session_rsa"), Some(7200));
        assert_eq!(number(&item, "b_session_tk"), Some(0));
    }
}

#[tokio::test]
async fn section_8_what_is_kept_and_contradicted_is_read_again() {
    for engine in engines() {
        let world = World::new(engine, 100).await;
        world.put(config(100, 3600)).await;
        let limiter = keeping(&world, Duration::from_secs(3600));
        assert!(limiter.acquire(bare(&world, 1)).await.is_allowed());
        // Another host has read the new configuration, and stamped the item.
        world.put(config(200, 3600)).await;
        assert!(keeping(&world, Duration::ZERO).acquire(bare(&world, 1)).await.is_allowed());
        assert!(limiter.acquire(bare(&world, 1)).await.is_allowed());
        let next = limiter.acquire(bare(&world, 1)).await;
        assert_eq!(next.cost.operations[0], READ);
        assert_eq!(next.decision.limits[0].capacity, 200);
    }
}

#[tokio::test]
async fn section_8_the_callers_limits_override() {
    for engine in engines() {
        let world = World::new(engine, 100).await;
        world.put(config(5, 3600)).await;
        let limiter = keeping(&world, Duration::from_secs(3600));
        let answer = limiter.acquire(world.request(50)).await;
        assert!(answer.is_allowed(), "{answer:?}");
        assert!(!answer.cost.operations.contains(&READ));
    }
}

#[tokio::test]
async fn section_8_disabled_and_corrupt_configuration_write_nothing() {
    for engine in engines() {
        let world = World::new(engine, 100).await;
        let mut off = config(100, 3600);
        off["disabled"] = json!({ "BOOL": true });
        world.put(off).await;
        let limiter = keeping(&world, Duration::ZERO);
        assert_eq!(limiter.acquire(bare(&world, 1)).await.decision.outcome, Outcome::Disabled);
        let mut corrupt = config(100, 3600);
        corrupt["l_session_cp"] = json!({ "N": "1" });
        world.put(corrupt).await;
        match limiter.acquire(bare(&world, 1)).await.decision.outcome {
            Outcome::Failed(error) => assert_eq!(error.code, ErrorCode::CorruptItem),
            other => panic!("{other:?}"),
        }
        assert!(world.items().await.is_empty());
    }
}

#[tokio::test]
async fn section_8_a_namespace_is_found_by_its_name() {
    let world = World::new(engines()[0].clone(), 100).await;
    world
        .put(json!({
            "PK": { "S": "_/SYSTEM#" }, "SK": { "S": "#NAMESPACE#default" },
            "namespace_id": { "S": "a1b2" }, "status": { "S": "active" },
        }))
        .await;
    assert_eq!(world.limiter.namespace_id(common::TABLE, "default").await.unwrap(), "a1b2");
    assert!(matches!(world.limiter.namespace_id(common::TABLE, "other").await, Err(Outcome::Failed(_))));
}
