//! Section 7, end to end: an entity and those above it, both or neither, counted.

use std::time::Duration;

use onewindow::{AcquireRequest, Amount, Outcome, Subject};
use onewindow_host::{LimiterOptions, limiter::CascadeAnswer};
use serde_json::{Map, Value as Json, json};

use crate::{
    common::{self, TABLE, engines},
    kit::{HOUR_MS, World, number},
};

const UPDATE: &str = "UpdateItem";

/// The records of `user-1`, under `team`, under `company`; the team's and the company's limits.
async fn hierarchy(world: &World) {
    for (entity, parent) in [("user-1", Some("team")), ("team", Some("company")), ("company", None)] {
        let mut record = json!({
            "PK": { "S": format!("ns/ENTITY#{entity}") }, "SK": { "S": "#META" },
            "entity_id": { "S": entity }, "cascade": { "BOOL": parent.is_some() },
            // As the other implementation writes it of an entity that has none.
            "parent_id": { "NULL": true }, "pgen": { "N": "1" }, "pinc": { "S": "i" },
        });
        if let Some(parent) = parent {
            record["parent_id"] = json!({ "S": parent });
        }
        world.put(record).await;
    }
    for (entity, capacity) in [("team", 150), ("company", 1000)] {
        world
            .put(json!({
                "PK": { "S": format!("ns/ENTITY#{entity}") }, "SK": { "S": "#CONFIG#gpt-4" },
                "w_session_cp": { "N": capacity.to_string() },
                "w_session_rsa": { "N": (HOUR_MS / 1000).to_string() },
            }))
            .await;
    }
}

impl World {
    async fn take_under(&self, tokens: u64) -> CascadeAnswer {
        let answer = self.limiter.acquire_cascading(self.request(tokens)).await;
        self.limiter.flush().await;
        answer
    }

    async fn item_of(&self, entity: &str) -> Map<String, Json> {
        let pk = Subject::new(TABLE, "ns", entity, "gpt-4").bucket_pk(0);
        self.at(&pk).await.expect("an item")
    }
}

fn left(item: &Map<String, Json>) -> Option<i128> {
    number(item, "b_session_tk")
}

#[tokio::test]
async fn section_7_the_steady_state_of_three_levels_is_one_round_trip() {
    for engine in engines() {
        let world = World::new(engine, 100).await;
        hierarchy(&world).await;
        let first = world.take_under(1).await;
        assert!(first.decision.outcome.is_admitted(), "{first:?}");
        let chain: Vec<_> = first.decision.levels.iter().map(|level| level.entity.as_str()).collect();
        assert_eq!(chain, ["user-1", "team", "company"]);
        let child = world.item_of("user-1").await;
        assert_eq!(
            (&child["cascade"], &child["parent_id"]),
            (&json!({ "BOOL": true }), &json!({ "S": "team" }))
        );
        assert_eq!((&child["pgen"], &child["pinc"]), (&json!({ "N": "1" }), &json!({ "S": "i" })));
        // The parents' limits are the caller's to bring: here each host reads them anew.
        let next = world.take_under(2).await;
        assert!(next.decision.outcome.is_admitted());
        let updates = next.cost.operations.iter().filter(|operation| **operation == UPDATE).count();
        assert_eq!(updates, 3, "{:?}", next.cost);
        for (entity, milli) in [("user-1", 97_000), ("team", 147_000), ("company", 997_000)] {
            assert_eq!(left(&world.item_of(entity).await), Some(milli), "{entity}");
        }
    }
}

#[tokio::test]
async fn section_7_with_kept_configuration_it_is_three_updates_side_by_side() {
    for engine in engines() {
        let world = World::new(engine, 100).await;
        hierarchy(&world).await;
        let limiter = super::configuring::keeping(&world, std::time::Duration::from_secs(3600));
        for _ in 0..2 {
            assert!(limiter.acquire_cascading(world.request(1)).await.decision.outcome.is_admitted());
        }
        let steady = limiter.acquire_cascading(world.request(1)).await;
        assert_eq!((steady.cost.round_trips, steady.cost.operations), (1, vec![UPDATE; 3]));
    }
}

#[tokio::test]
async fn section_7_a_parent_that_says_no_is_named_and_the_child_keeps_its_tokens() {
    for engine in engines() {
        let world = World::new(engine, 100).await;
        hierarchy(&world).await;
        for user in ["user-1", "user-2"] {
            world
                .put(json!({
                    "PK": { "S": format!("ns/ENTITY#{user}") }, "SK": { "S": "#META" },
                    "cascade": { "BOOL": true }, "parent_id": { "S": "team" },
                }))
                .await;
        }
        assert!(world.take_under(90).await.decision.outcome.is_admitted());
        let other =
            AcquireRequest { subject: Subject::new(TABLE, "ns", "user-2", "gpt-4"), ..world.request(70) };
        let refused = world.limiter.acquire_cascading(other.clone()).await;
        assert!(matches!(refused.decision.outcome, Outcome::Rejected { .. }), "{refused:?}");
        assert_eq!(refused.decision.levels[refused.decision.decided_by].entity, "team");
        assert_eq!(left(&world.item_of("user-2").await), Some(100_000));
        assert_eq!(left(&world.item_of("team").await), Some(60_000));
        assert_eq!(left(&world.item_of("company").await), Some(910_000));
        let fits = AcquireRequest { consume: vec![Amount::new("session", 60)], ..other };
        assert!(world.limiter.acquire_cascading(fits).await.decision.outcome.is_admitted());
    }
}

#[tokio::test]
async fn section_7_every_level_is_settled_by_itself() {
    for engine in engines() {
        let world = World::new(engine, 100).await;
        hierarchy(&world).await;
        let taken = world.take_under(10).await;
        for level in &taken.decision.levels {
            let lease = level.lease.as_ref().expect("a lease").encode();
            let settled = world.limiter.settle(TABLE, &lease, vec![Amount::new("session", 4)]).await;
            assert_eq!(settled.settlement, onewindow::Settlement::Settled);
        }
        for (entity, milli) in [("user-1", 96_000), ("team", 146_000), ("company", 996_000)] {
            assert_eq!(left(&world.item_of(entity).await), Some(milli), "{entity}");
        }
    }
}

/// Many at once, on a team that is short: nobody gets more than there is, and nothing is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn section_7_many_at_once_take_from_both_or_from_neither() {
    for engine in engines() {
        let mut world = World::new(engine.clone(), 100).await;
        // What is cut off by a deadline stays charged, and all is counted here.
        let options =
            LimiterOptions { deadline: Duration::from_secs(300), ..world.limiter.options().clone() };
        world.limiter = common::limiter(engine, &world.database, options);
        hierarchy(&world).await;
        let requests = (0..100).map(|index| {
            let limiter = world.limiter.clone();
            let request = AcquireRequest {
                subject: Subject::new(TABLE, "ns", &format!("member-{}", index % 4), "gpt-4"),
                ..world.request(2)
            };
            async move { limiter.acquire_cascading(request).await }
        });
        for member in 0..4 {
            world
                .put(json!({
                    "PK": { "S": format!("ns/ENTITY#member-{member}") }, "SK": { "S": "#META" },
                    "cascade": { "BOOL": true }, "parent_id": { "S": "team" },
                }))
                .await;
        }
        let answers = futures::future::join_all(requests).await;
        world.limiter.flush().await;
        let admitted = answers.iter().filter(|answer| answer.decision.outcome.is_admitted()).count() as i128;
        assert!(admitted > 0);
        assert_eq!(left(&world.item_of("team").await), Some(150_000 - admitted * 2000));
        assert_eq!(left(&world.item_of("company").await), Some(1_000_000 - admitted * 2000));
        let mut members = 0;
        for member in 0..4 {
            members += left(&world.item_of(&format!("member-{member}")).await).unwrap_or(100_000);
        }
        assert_eq!(members, 400_000 - admitted * 2000);
        assert!(admitted <= 75, "{admitted}");
    }
}
