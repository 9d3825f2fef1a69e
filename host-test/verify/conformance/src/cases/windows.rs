//! Windows: from the first use to the reset, and what is reported meanwhile.

use serde_json::json;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use crate::{
    kit::{Fixture, now_ms, session, until},
    runtime::DEFAULT_LIMIT,
};

pub(super) async fn admits(fixture: Fixture) {
    let before_ms = now_ms();
    let first = fixture.acquire(1, &session(3, 3600)).await.admitted();
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
    let reported =
        OffsetDateTime::parse(limit["resets_at"].as_str().expect("text"), &Rfc3339).expect("RFC 3339");
    assert_eq!(reported.unix_timestamp_nanos(), i128::from(resets_at_ms) * 1_000_000);
    assert!(reported.offset().is_utc());
    assert!(first.body["lease"].is_string());
    let stored = fixture.number(0, "b_session_ws").await.expect("a start");
    assert_eq!(stored.unsigned_abs() + 3_600_000, resets_at_ms, "what is reported is what is stored");
}

pub(super) async fn rejects(fixture: Fixture) {
    let limits = session(2, 3600);
    let first = fixture.acquire(2, &limits).await.admitted();
    let no = fixture.acquire(1, &limits).await;
    no.rejected();
    assert_eq!(no.body["violated-policies"], json!(["session"]));
    assert_eq!(no.body["limits"][0]["available"], 0);
    assert_eq!(no.resets_at_ms(), first.resets_at_ms());
    assert_eq!(no.body.get("contended"), None);
    assert_eq!(no.header("ratelimit-policy"), "\"session\";q=2;w=3600");
    assert!(no.header("ratelimit").starts_with("\"session\";r=0;t="), "{no:?}");
    assert_eq!(no.body.get("lease"), None);
}

pub(super) async fn rolls_over(fixture: Fixture) {
    let limits = session(2, 2);
    let first = fixture.acquire(2, &limits).await.admitted();
    fixture.acquire(1, &limits).await.rejected();
    let end_ms = first.resets_at_ms().expect("an instant");
    until(end_ms).await;
    let next = fixture.acquire(2, &limits).await.admitted();
    assert_eq!(next.available(), 0, "the whole capacity is back");
    let start_ms = next.resets_at_ms().expect("an instant") - 2000;
    assert!(
        (end_ms..=now_ms()).contains(&start_ms),
        "it opens with its first use, not where the last one ended"
    );
}

pub(super) async fn two_limits(fixture: Fixture) {
    let limits = json!([
        { "name": "session", "capacity": 5, "reset_after_seconds": 3600 },
        { "name": "rpm", "capacity": 2, "refill_amount": 2, "refill_period_seconds": 600 },
    ]);
    let ask = json!({ "entity": fixture.entity, "resource": "gpt-4",
        "consume": { "session": 1, "rpm": 2 }, "limits": limits });
    let both = fixture.post(&fixture.servers.plain, "/acquire", &ask).await.admitted();
    // Both are reported, in any order; the dripping one has no instant.
    let fields = both.header("ratelimit");
    assert!(fields.contains("\"rpm\";r=0") && !fields.contains("\"rpm\";r=0;t"), "{fields}");
    assert!(fields.contains("\"session\";r=4;t="), "{fields}");
    let policies = both.header("ratelimit-policy");
    assert!(
        policies.contains("\"rpm\";q=2;w=600") && policies.contains("\"session\";q=5;w=3600"),
        "{policies}"
    );
    let no = fixture.post(&fixture.servers.plain, "/acquire", &ask).await;
    assert!(no.rejected() <= 600_001, "{no:?}");
    assert_eq!(no.body["violated-policies"], json!(["rpm"]), "the one that says no");
    fixture.acquire(4, &limits).await.admitted();
}

pub(super) async fn default_limits(fixture: Fixture) {
    let (name, capacity, _) = DEFAULT_LIMIT;
    let ask = json!({ "entity": fixture.entity, "resource": "gpt-4", "consume": { name: 1 } });
    let answer = fixture.post(&fixture.servers.plain, "/acquire", &ask).await.admitted();
    assert_eq!(answer.body["limits"][0]["capacity"], capacity);
}

pub(super) async fn previews(fixture: Fixture) {
    let limits = session(3, 3600);
    let absent = fixture.preview(&limits).await;
    assert_eq!((absent.status, absent.available()), (200, 3), "{absent:?}");
    assert_eq!(absent.body["limits"][0]["shards"][0]["state"], "absent");
    assert_eq!(fixture.item(0).await, None);

    let end_ms = fixture.acquire(1, &limits).await.admitted().resets_at_ms();
    let before = fixture.item(0).await;
    let live = fixture.get(&format!("/preview?entity={}&resource=gpt-4", fixture.entity)).await;
    assert_eq!((live.status, live.available(), live.resets_at_ms()), (200, 2, end_ms), "{live:?}");
    assert_eq!((&live.body["entity"], &live.body["resource"]), (&json!(fixture.entity), &json!("gpt-4")));
    assert_eq!((&live.body["shard_count"], &live.body["disabled"]), (&json!(1), &json!(false)));
    let start_ms = end_ms.map(|end_ms| end_ms - 3_600_000);
    assert_eq!(
        live.body["limits"][0]["shards"],
        json!([{ "shard": 0, "state": "live", "starts_at_ms": start_ms, "ends_at_ms": end_ms,
                 "balance_milli": 2000, "counted_milli": 2000, "ceiling_milli": 3000 }])
    );
    assert_eq!(fixture.item(0).await, before, "nothing is written");
}

pub(super) async fn settles(fixture: Fixture) {
    let plain = &fixture.servers.plain;
    let limits = session(3, 4);
    let first = fixture.acquire(1, &limits).await.admitted();
    let settle = |actual: u64| json!({ "lease": first.body["lease"], "actual": { "session": actual } });
    let more = fixture.post(plain, "/settle", &settle(3)).await;
    assert_eq!((more.status, &more.body), (200, &json!({ "settled": true })));
    fixture.acquire(1, &limits).await.rejected();
    let released = fixture.post(plain, "/settle", &settle(0)).await;
    assert_eq!((released.status, &released.body), (200, &json!({ "settled": true })));
    fixture.acquire(1, &limits).await.admitted();

    until(first.resets_at_ms().expect("an instant")).await;
    let late = fixture.post(plain, "/settle", &settle(0)).await;
    assert_eq!((late.status, &late.body), (200, &json!({ "settled": false, "reason": "window-over" })));

    let limits = session(3, 3600);
    let other = fixture.other("gone");
    let lease = other.acquire(1, &limits).await.admitted().body["lease"].clone();
    other.delete(0).await;
    let gone = fixture.post(plain, "/settle", &json!({ "lease": lease, "actual": { "session": 0 } })).await;
    assert_eq!((gone.status, &gone.body), (200, &json!({ "settled": false, "reason": "item-gone" })));
}

pub(super) async fn f1_waits(fixture: Fixture) {
    let limits = session(1, 3);
    let end_ms = fixture.acquire(1, &limits).await.admitted().resets_at_ms().expect("an instant");
    until(end_ms - 1200).await;
    let no = fixture.acquire(1, &limits).await;
    let wait_ms = no.rejected();
    assert!(wait_ms <= 1200, "{no:?}");
    let seconds: u64 = no.header("retry-after").parse().expect("seconds");
    tokio::time::sleep(std::time::Duration::from_secs(seconds)).await;
    fixture.acquire(1, &limits).await.admitted();
}

pub(super) async fn f2_lowered(fixture: Fixture) {
    let end_ms = fixture.acquire(60, &session(100, 4)).await.admitted().resets_at_ms().expect("an instant");
    // An operator lowers it to 10: the parameter, and a clamp.
    let number = |n: &str| json!({ "N": n });
    fixture.amend(0, &[("b_session_cp", number("10000")), ("b_session_tk", number("-50000"))]).await;
    let limits = session(10, 4);
    let no = fixture.acquire(1, &limits).await;
    no.rejected();
    assert_eq!(no.resets_at_ms(), Some(end_ms), "the same window's end");
    until(end_ms).await;
    assert_eq!(fixture.acquire(10, &limits).await.admitted().available(), 0);
    fixture.acquire(1, &limits).await.rejected();
}

pub(super) async fn f3_questions(fixture: Fixture) {
    let limits = session(3, 3600);
    for _ in 0..50 {
        let answer = fixture.acquire(0, &limits).await.admitted();
        assert_eq!((answer.available(), answer.resets_at_ms()), (3, None));
    }
    assert_eq!(fixture.item(0).await, None, "no item is made");
    let end_ms = fixture.acquire(1, &limits).await.admitted().resets_at_ms();
    let before = fixture.item(0).await;
    for _ in 0..50 {
        let answer = fixture.acquire(0, &limits).await.admitted();
        assert_eq!((answer.available(), answer.resets_at_ms()), (2, end_ms));
    }
    assert_eq!(fixture.item(0).await, before, "byte for byte");
}

pub(super) async fn f6_remembered(fixture: Fixture) {
    let limits = session(1, 6);
    let end_ms = fixture.acquire(1, &limits).await.admitted().resets_at_ms().expect("an instant");
    for _ in 0..20 {
        fixture.acquire(1, &limits).await.rejected();
    }
    // Another entity, another resource, another limit.
    fixture.other("b").acquire(1, &limits).await.admitted();
    let mut ask = fixture.request(json!(1), &limits);
    ask["resource"] = json!("gpt-5");
    fixture.post(&fixture.servers.plain, "/acquire", &ask).await.admitted();
    let day = json!([limits[0], { "name": "day", "capacity": 5, "reset_after_seconds": 86_400 }]);
    let ask =
        json!({ "entity": fixture.entity, "resource": "gpt-4", "consume": { "day": 1 }, "limits": day });
    fixture.post(&fixture.servers.plain, "/acquire", &ask).await.admitted();
    fixture.acquire(1, &limits).await.rejected();
    until(end_ms).await;
    fixture.acquire(1, &limits).await.admitted();
}

pub(super) async fn f8_exact(fixture: Fixture) {
    const MOST: u64 = 1_000_000_000_000_000;
    let limits = session(MOST, 3600);
    assert_eq!(fixture.acquire(MOST - 1, &limits).await.admitted().available(), 1);
    assert_eq!(fixture.number(0, "b_session_cp").await, Some(1_000_000_000_000_000_000));
    assert_eq!(fixture.number(0, "b_session_tc").await, Some(999_999_999_999_999_000));
    assert_eq!(fixture.number(0, "b_session_tk").await, Some(1000));
    fixture.acquire(2, &limits).await.rejected();
    let last = fixture.post(&fixture.servers.plain, "/acquire", &fixture.request(json!("1"), &limits)).await;
    assert_eq!(last.admitted().available(), 0, "digits in a string are a number");
    let preview = fixture.preview(&limits).await;
    let limit = &preview.body["limits"][0];
    assert_eq!(limit["capacity"], MOST, "a number up to 2^53");
    assert_eq!(limit["shards"][0]["ceiling_milli"], "1000000000000000000", "a string above");
}

pub(super) async fn f12_instant(fixture: Fixture) {
    for capacity in [1, 7, 1_000_000] {
        let fixture = fixture.other(&capacity.to_string());
        let limits = session(capacity, 30);
        let end_ms = fixture.acquire(1, &limits).await.admitted().resets_at_ms();
        for amount in [0, 1, capacity] {
            let answer = fixture.acquire(amount, &limits).await;
            assert_eq!(answer.resets_at_ms(), end_ms, "{answer:?}");
            assert!([200, 429].contains(&answer.status), "{answer:?}");
        }
    }
}

pub(super) async fn f16_debits_nothing(fixture: Fixture) {
    let limits = json!([session(10, 3600)[0],
        { "name": "rpm", "capacity": 100, "refill_amount": 1, "refill_period_seconds": 3600 }]);
    let ask = |tokens: u64| {
        json!({ "entity": fixture.entity, "resource": "gpt-4",
                "consume": { "session": tokens, "rpm": tokens }, "limits": limits })
    };
    let plain = &fixture.servers.plain;
    fixture.post(plain, "/acquire", &ask(8)).await.admitted();
    fixture.post(plain, "/acquire", &ask(5)).await.rejected();
    for attribute in ["b_session_tc", "b_rpm_tc"] {
        assert_eq!(fixture.number(0, attribute).await, Some(8000), "{attribute}");
    }
    fixture.post(plain, "/acquire", &ask(1)).await.admitted();
    fixture.post(plain, "/acquire", &ask(1)).await.admitted();
    fixture.post(plain, "/acquire", &ask(1)).await.rejected();
}

pub(super) async fn f17_amounts(fixture: Fixture) {
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
        let answer =
            fixture.post(&fixture.servers.plain, "/acquire", &fixture.request(amount, &limits)).await;
        match status {
            200 => drop(answer.admitted()),
            429 => drop(answer.rejected()),
            _ => assert!(answer.problem(422, "urn:onewindow:problem:never-fits").contains("session")),
        }
    }
    assert_eq!(fixture.preview(&limits).await.available(), 74, "nothing is poisoned");
    fixture.other("b").acquire(100, &limits).await.admitted();
}

pub(super) async fn f18_missing(fixture: Fixture) {
    let limits = session(10, 3600);
    fixture.acquire(1, &limits).await.admitted();
    fixture.delete(0).await;
    assert_eq!(fixture.acquire(1, &limits).await.admitted().available(), 9);
    assert!(fixture.item(0).await.is_some());
}

pub(super) async fn f26_no_window(fixture: Fixture) {
    let limits = session(3, 2);
    let full = fixture.acquire(0, &limits).await.admitted();
    assert_eq!((full.available(), full.resets_at_ms()), (3, None));
    assert_eq!(full.body["limits"][0].get("resets_at"), None);
    assert_eq!(full.header("ratelimit"), "\"session\";r=3", "no t");
    // Nor where one is over.
    let end_ms = fixture.acquire(3, &limits).await.admitted().resets_at_ms().expect("an instant");
    until(end_ms).await;
    let full = fixture.acquire(0, &limits).await.admitted();
    assert_eq!((full.available(), full.resets_at_ms()), (3, None));
    let preview = fixture.preview(&limits).await;
    assert_eq!((preview.available(), preview.resets_at_ms()), (3, None));
    assert_eq!(preview.body["limits"][0]["shards"][0]["state"], "ended");
}
