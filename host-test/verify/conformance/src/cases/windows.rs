//! Windows: from the first use to the reset, and everything that is told on the way.

use serde_json::json;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use crate::{
    kit::{World, now_ms, session, until},
    runtime::DEFAULT_LIMIT,
};

pub(super) async fn admits(world: World) {
    let before_ms = now_ms();
    let first = world.take(1, &session(3, 3600)).await.admitted();
    assert_eq!(first.header("content-type"), "application/json");
    assert_eq!(first.header("ratelimit-policy"), "\"session\";q=3;w=3600");
    let limit = &first.body["limits"][0];
    assert_eq!(
        (&limit["name"], &limit["capacity"], &limit["available"]),
        (&json!("session"), &json!(3), &json!(2))
    );
    let resets_at_ms = first.resets_at_ms().expect("an instant");
    assert!((before_ms..=now_ms()).contains(&(resets_at_ms - 3_600_000)), "the window opens now");
    let left = first.header("ratelimit").strip_prefix("\"session\";r=2;t=").expect("r and t");
    assert!((3590..=3600).contains(&left.parse::<u64>().expect("seconds")), "{left}");
    let told = OffsetDateTime::parse(limit["resets_at"].as_str().expect("text"), &Rfc3339).expect("RFC 3339");
    assert_eq!(told.unix_timestamp_nanos(), i128::from(resets_at_ms) * 1_000_000);
    assert!(told.offset().is_utc());
    assert!(first.body["lease"].is_string());
    let stored = world.number(0, "b_session_ws").await.expect("a start");
    assert_eq!(stored.unsigned_abs() + 3_600_000, resets_at_ms, "what is told is what is stored");
}

pub(super) async fn rejects(world: World) {
    let limits = session(2, 3600);
    let first = world.take(2, &limits).await.admitted();
    let no = world.take(1, &limits).await;
    no.rejected();
    assert_eq!(no.body["violated-policies"], json!(["session"]));
    assert_eq!(no.body["limits"][0]["available"], 0);
    assert_eq!(no.resets_at_ms(), first.resets_at_ms());
    assert_eq!(no.body.get("contended"), None);
    assert_eq!(no.header("ratelimit-policy"), "\"session\";q=2;w=3600");
    assert!(no.header("ratelimit").starts_with("\"session\";r=0;t="), "{no:?}");
    assert_eq!(no.body.get("lease"), None);
}

pub(super) async fn rolls_over(world: World) {
    let limits = session(2, 2);
    let first = world.take(2, &limits).await.admitted();
    world.take(1, &limits).await.rejected();
    let end_ms = first.resets_at_ms().expect("an instant");
    until(end_ms).await;
    let next = world.take(2, &limits).await.admitted();
    assert_eq!(next.available(), 0, "the whole capacity is back");
    let start_ms = next.resets_at_ms().expect("an instant") - 2000;
    assert!(
        (end_ms..=now_ms()).contains(&start_ms),
        "it opens with its first use, not where the last one ended"
    );
}

pub(super) async fn two_limits(world: World) {
    let limits = json!([
        { "name": "session", "capacity": 5, "reset_after_seconds": 3600 },
        { "name": "rpm", "capacity": 2, "refill_amount": 2, "refill_period_seconds": 600 },
    ]);
    let ask = json!({ "entity": world.entity, "resource": "gpt-4",
        "consume": { "session": 1, "rpm": 2 }, "limits": limits });
    let both = world.post(&world.servers.plain, "/acquire", &ask).await.admitted();
    // Both are told, in whichever order; the dripping one has no instant.
    let fields = both.header("ratelimit");
    assert!(fields.contains("\"rpm\";r=0") && !fields.contains("\"rpm\";r=0;t"), "{fields}");
    assert!(fields.contains("\"session\";r=4;t="), "{fields}");
    let policies = both.header("ratelimit-policy");
    assert!(
        policies.contains("\"rpm\";q=2;w=600") && policies.contains("\"session\";q=5;w=3600"),
        "{policies}"
    );
    let no = world.post(&world.servers.plain, "/acquire", &ask).await;
    assert!(no.rejected() <= 600_001, "{no:?}");
    assert_eq!(no.body["violated-policies"], json!(["rpm"]), "the one that says no");
    world.take(4, &limits).await.admitted();
}

pub(super) async fn default_limits(world: World) {
    let (name, capacity, _) = DEFAULT_LIMIT;
    let ask = json!({ "entity": world.entity, "resource": "gpt-4", "consume": { name: 1 } });
    let answer = world.post(&world.servers.plain, "/acquire", &ask).await.admitted();
    assert_eq!(answer.body["limits"][0]["capacity"], capacity);
}

pub(super) async fn previews(world: World) {
    let limits = session(3, 3600);
    let absent = world.preview(&limits).await;
    assert_eq!((absent.status, absent.available()), (200, 3), "{absent:?}");
    assert_eq!(absent.body["limits"][0]["shards"][0]["state"], "absent");
    assert_eq!(world.item(0).await, None);

    let end_ms = world.take(1, &limits).await.admitted().resets_at_ms();
    let before = world.item(0).await;
    let live = world.get(&format!("/preview?entity={}&resource=gpt-4", world.entity)).await;
    assert_eq!((live.status, live.available(), live.resets_at_ms()), (200, 2, end_ms), "{live:?}");
    assert_eq!((&live.body["entity"], &live.body["resource"]), (&json!(world.entity), &json!("gpt-4")));
    assert_eq!((&live.body["shard_count"], &live.body["disabled"]), (&json!(1), &json!(false)));
    let start_ms = end_ms.map(|end_ms| end_ms - 3_600_000);
    assert_eq!(
        live.body["limits"][0]["shards"],
        json!([{ "shard": 0, "state": "live", "starts_at_ms": start_ms, "ends_at_ms": end_ms,
                 "balance_milli": 2000, "counted_milli": 2000, "ceiling_milli": 3000 }])
    );
    assert_eq!(world.item(0).await, before, "nothing is written");
}

pub(super) async fn settles(world: World) {
    let plain = &world.servers.plain;
    let limits = session(3, 4);
    let first = world.take(1, &limits).await.admitted();
    let settle = |actual: u64| json!({ "lease": first.body["lease"], "actual": { "session": actual } });
    let more = world.post(plain, "/settle", &settle(3)).await;
    assert_eq!((more.status, &more.body), (200, &json!({ "settled": true })));
    world.take(1, &limits).await.rejected();
    let released = world.post(plain, "/settle", &settle(0)).await;
    assert_eq!((released.status, &released.body), (200, &json!({ "settled": true })));
    world.take(1, &limits).await.admitted();

    until(first.resets_at_ms().expect("an instant")).await;
    let late = world.post(plain, "/settle", &settle(0)).await;
    assert_eq!((late.status, &late.body), (200, &json!({ "settled": false, "reason": "window-over" })));

    let limits = session(3, 3600);
    let other = world.other("gone");
    let lease = other.take(1, &limits).await.admitted().body["lease"].clone();
    other.delete(0).await;
    let gone = world.post(plain, "/settle", &json!({ "lease": lease, "actual": { "session": 0 } })).await;
    assert_eq!((gone.status, &gone.body), (200, &json!({ "settled": false, "reason": "item-gone" })));
}

pub(super) async fn f1_waits(world: World) {
    let limits = session(1, 3);
    let end_ms = world.take(1, &limits).await.admitted().resets_at_ms().expect("an instant");
    until(end_ms - 1200).await;
    let no = world.take(1, &limits).await;
    let wait_ms = no.rejected();
    assert!(wait_ms <= 1200, "{no:?}");
    let seconds: u64 = no.header("retry-after").parse().expect("seconds");
    tokio::time::sleep(std::time::Duration::from_secs(seconds)).await;
    world.take(1, &limits).await.admitted();
}

pub(super) async fn f2_lowered(world: World) {
    let end_ms = world.take(60, &session(100, 4)).await.admitted().resets_at_ms().expect("an instant");
    // An operator lowers it to 10: the parameter, and a clamp.
    let number = |n: &str| json!({ "N": n });
    world.amend(0, &[("b_session_cp", number("10000")), ("b_session_tk", number("-50000"))]).await;
    let limits = session(10, 4);
    let no = world.take(1, &limits).await;
    no.rejected();
    assert_eq!(no.resets_at_ms(), Some(end_ms), "the same window's end");
    until(end_ms).await;
    assert_eq!(world.take(10, &limits).await.admitted().available(), 0);
    world.take(1, &limits).await.rejected();
}

pub(super) async fn f3_questions(world: World) {
    let limits = session(3, 3600);
    for _ in 0..50 {
        let answer = world.take(0, &limits).await.admitted();
        assert_eq!((answer.available(), answer.resets_at_ms()), (3, None));
    }
    assert_eq!(world.item(0).await, None, "no item is made");
    let end_ms = world.take(1, &limits).await.admitted().resets_at_ms();
    let before = world.item(0).await;
    for _ in 0..50 {
        let answer = world.take(0, &limits).await.admitted();
        assert_eq!((answer.available(), answer.resets_at_ms()), (2, end_ms));
    }
    assert_eq!(world.item(0).await, before, "byte for byte");
}

pub(super) async fn f6_remembered(world: World) {
    let limits = session(1, 6);
    let end_ms = world.take(1, &limits).await.admitted().resets_at_ms().expect("an instant");
    for _ in 0..20 {
        world.take(1, &limits).await.rejected();
    }
    // Another entity, another resource, another limit.
    world.other("b").take(1, &limits).await.admitted();
    let mut ask = world.request(json!(1), &limits);
    ask["resource"] = json!("gpt-5");
    world.post(&world.servers.plain, "/acquire", &ask).await.admitted();
    let day = json!([limits[0], { "name": "day", "capacity": 5, "reset_after_seconds": 86_400 }]);
    let ask = json!({ "entity": world.entity, "resource": "gpt-4", "consume": { "day": 1 }, "limits": day });
    world.post(&world.servers.plain, "/acquire", &ask).await.admitted();
    world.take(1, &limits).await.rejected();
    until(end_ms).await;
    world.take(1, &limits).await.admitted();
}

pub(super) async fn f8_exact(world: World) {
    const MOST: u64 = 1_000_000_000_000_000;
    let limits = session(MOST, 3600);
    assert_eq!(world.take(MOST - 1, &limits).await.admitted().available(), 1);
    assert_eq!(world.number(0, "b_session_cp").await, Some(1_000_000_000_000_000_000));
    assert_eq!(world.number(0, "b_session_tc").await, Some(999_999_999_999_999_000));
    assert_eq!(world.number(0, "b_session_tk").await, Some(1000));
    world.take(2, &limits).await.rejected();
    let last = world.post(&world.servers.plain, "/acquire", &world.request(json!("1"), &limits)).await;
    assert_eq!(last.admitted().available(), 0, "digits in a string are a number");
    let preview = world.preview(&limits).await;
    let limit = &preview.body["limits"][0];
    assert_eq!(limit["capacity"], MOST, "a number up to 2^53");
    assert_eq!(limit["shards"][0]["ceiling_milli"], "1000000000000000000", "a string above");
}

pub(super) async fn f12_instant(world: World) {
    for capacity in [1, 7, 1_000_000] {
        let world = world.other(&capacity.to_string());
        let limits = session(capacity, 30);
        let end_ms = world.take(1, &limits).await.admitted().resets_at_ms();
        for amount in [0, 1, capacity] {
            let answer = world.take(amount, &limits).await;
            assert_eq!(answer.resets_at_ms(), end_ms, "{answer:?}");
            assert!([200, 429].contains(&answer.status), "{answer:?}");
        }
    }
}

pub(super) async fn f16_takes_nothing(world: World) {
    let limits = json!([session(10, 3600)[0],
        { "name": "rpm", "capacity": 100, "refill_amount": 1, "refill_period_seconds": 3600 }]);
    let ask = |tokens: u64| {
        json!({ "entity": world.entity, "resource": "gpt-4",
                "consume": { "session": tokens, "rpm": tokens }, "limits": limits })
    };
    let plain = &world.servers.plain;
    world.post(plain, "/acquire", &ask(8)).await.admitted();
    world.post(plain, "/acquire", &ask(5)).await.rejected();
    for attribute in ["b_session_tc", "b_rpm_tc"] {
        assert_eq!(world.number(0, attribute).await, Some(8000), "{attribute}");
    }
    world.post(plain, "/acquire", &ask(1)).await.admitted();
    world.post(plain, "/acquire", &ask(1)).await.admitted();
    world.post(plain, "/acquire", &ask(1)).await.rejected();
}

pub(super) async fn f17_amounts(world: World) {
    let limits = session(100, 3600);
    for (amount, status) in [
        (json!(0), 200),
        (json!(1), 200),
        (json!(25), 200),
        (json!(100), 429),
        (json!(101), 422),
        (json!("9223372036854775807"), 422),
        (json!("18446744073709551615"), 422),
    ] {
        let answer = world.post(&world.servers.plain, "/acquire", &world.request(amount, &limits)).await;
        match status {
            200 => drop(answer.admitted()),
            429 => drop(answer.rejected()),
            _ => assert!(answer.problem(422, "urn:onewindow:problem:never-fits").contains("session")),
        }
    }
    assert_eq!(world.preview(&limits).await.available(), 74, "nothing is poisoned");
    world.other("b").take(100, &limits).await.admitted();
}

pub(super) async fn f18_missing(world: World) {
    let limits = session(10, 3600);
    world.take(1, &limits).await.admitted();
    world.delete(0).await;
    assert_eq!(world.take(1, &limits).await.admitted().available(), 9);
    assert!(world.item(0).await.is_some());
}

pub(super) async fn f26_no_window(world: World) {
    let limits = session(3, 2);
    let full = world.take(0, &limits).await.admitted();
    assert_eq!((full.available(), full.resets_at_ms()), (3, None));
    assert_eq!(full.body["limits"][0].get("resets_at"), None);
    assert_eq!(full.header("ratelimit"), "\"session\";r=3", "no t");
    // Nor where one is over.
    let end_ms = world.take(3, &limits).await.admitted().resets_at_ms().expect("an instant");
    until(end_ms).await;
    let full = world.take(0, &limits).await.admitted();
    assert_eq!((full.available(), full.resets_at_ms()), (3, None));
    let preview = world.preview(&limits).await;
    assert_eq!((preview.available(), preview.resets_at_ms()), (3, None));
    assert_eq!(preview.body["limits"][0]["shards"][0]["state"], "ended");
}
