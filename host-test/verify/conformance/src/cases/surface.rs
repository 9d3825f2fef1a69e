//! The HTTP surface: malformed requests, and corrupt items.

use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    kit::{Fixture, session},
    proxy::refusal,
};

const INVALID: &str = "urn:onewindow:problem:invalid-request";

pub(super) async fn malformed(fixture: Fixture) {
    let plain = &fixture.servers.plain;
    let of = |change: fn(&mut Value)| {
        let mut body = fixture.request(json!(1), &session(3, 3600));
        change(&mut body);
        body
    };
    for (body, says) in [
        (of(|body| body["entity"] = json!("a#b")), "entity id"),
        (of(|body| body["resource"] = json!("4")), "resource"),
        (of(|body| body["consume"] = json!({})), "names no limit"),
        (of(|body| body["consume"] = json!({ "wcu": 1 })), "wcu"),
        (of(|body| body["consume"] = json!({ "session": -1 })), "a whole number"),
        (of(|body| body["consume"] = json!({ "session": 1.5 })), "a whole number"),
        (of(|body| body["consume"] = json!({ "session": "1e3" })), "a whole number"),
        (of(|body| body["consume"] = json!({ "session": u64::MAX })), "2^53"),
        (of(|body| body["consume"] = json!({ "session": "18446744073709551616" })), "2^64 - 1"),
        (of(|body| body["consume"] = json!([1])), "an object of limit names"),
        (of(|body| body["limit"] = json!([])), "unknown field `limit`"),
        (of(|body| body["limits"][0]["capacity"] = json!(0)), "capacity is 0"),
        (of(|body| body["limits"] = json!([{ "name": "session", "capacity": 1 }])), "reset_after_seconds"),
        (json!({ "entity": "user-1" }), "missing field `resource`"),
        (json!([]), "the body"),
    ] {
        let answer = fixture.post(plain, "/acquire", &body).await;
        let detail = answer.problem(400, INVALID);
        assert!(detail.contains(says), "{body}: {detail}");
    }
    fixture.send(plain, Method::POST, "/acquire", "{\"entity\":".into()).await.problem(400, INVALID);
    let unknown = of(|body| body["consume"] = json!({ "other": 1 }));
    let unknown = fixture.post(plain, "/acquire", &unknown).await;
    assert!(unknown.problem(400, "urn:onewindow:problem:unknown-limit").contains("other"));

    let incomplete = fixture.get("/preview?entity=e").await;
    assert!(incomplete.problem(400, INVALID).contains("resource"));
    fixture.get("/preview?entity=a%23b&resource=gpt-4").await.problem(400, INVALID);

    let lease = fixture.acquire(1, &session(3, 3600)).await.admitted().body["lease"].clone();
    let foreign = lease.as_str().expect("text").replace("\"conformance\"", "\"other\"");
    for lease in [json!("{}"), json!("nonsense"), json!(foreign)] {
        let answer = fixture.post(plain, "/settle", &json!({ "lease": lease, "actual": {} })).await;
        assert!(answer.problem(400, INVALID).contains("lease"), "{answer:?}");
    }
    let unnamed = json!({ "lease": lease, "actual": { "other": 1 } });
    fixture.post(plain, "/settle", &unnamed).await.problem(400, INVALID);
}

pub(super) async fn outside_ascii(fixture: Fixture) {
    for entity in ["jürgen", "用户", "a\u{0}b", "\u{1F600}", ""] {
        let mut ask = fixture.request(json!(1), &session(3, 3600));
        ask["entity"] = json!(entity);
        let answer = fixture.post(&fixture.servers.plain, "/acquire", &ask).await;
        assert!(answer.problem(400, INVALID).contains("entity id"), "{answer:?}");
    }
    fixture.acquire(1, &session(3, 3600)).await.admitted();
}

pub(super) async fn http_itself(fixture: Fixture) {
    let plain = &fixture.servers.plain;
    assert!(fixture.get("/").await.problem(404, "about:blank").contains("/acquire"));
    let wrong = fixture.get("/acquire").await;
    wrong.problem(405, "about:blank");
    assert_eq!(wrong.header("allow"), "POST");
    let long = fixture.send(plain, Method::POST, "/acquire", " ".repeat(65 << 10)).await;
    assert!(long.problem(413, "about:blank").contains("65536 bytes"));
    let health = fixture.get("/healthz").await;
    assert_eq!((health.status, &health.body), (200, &json!({ "status": "ok" })));
    let nowhere = fixture.send(&fixture.servers.misplaced, Method::GET, "/healthz", String::new()).await;
    assert_eq!(nowhere.status, 200, "the table is not asked");
}

pub(super) async fn logged(fixture: Fixture) {
    let limits = session(1, 3600);
    let server = &fixture.servers.proxied;
    let end_ms = fixture.acquire_on(server, 1, &limits).await.admitted().resets_at_ms().expect("an instant");
    let wait_ms = fixture.acquire_on(server, 1, &limits).await.rejected();
    // No line contains the entity: its line is found by the instant.
    let end = format!("resets_at_ms={end_ms}");
    let wait = format!("retry_after_ms={wait_ms}");
    fixture
        .wait_for_log(server, &["outcome=admitted", "round_trips=2", "requests=2", "resends=0", &end])
        .await;
    fixture
        .wait_for_log(server, &["outcome=rejected", "round_trips=1", "requests=1", "resends=0", &end, &wait])
        .await;
    fixture.proxy.always(&fixture.entity, refusal("AccessDeniedException", "no"));
    let other = fixture.acquire_on(server, 0, &limits).await;
    other.problem(500, "urn:onewindow:problem:misconfigured");
    fixture.wait_for_log(server, &["outcome=misconfigured", "round_trips=1"]).await;
}

pub(super) async fn disabled(fixture: Fixture) {
    let limits = session(3, 3600);
    fixture.acquire(1, &limits).await.admitted();
    fixture.amend(0, &[("disabled", json!({ "BOOL": true }))]).await;
    fixture.acquire(1, &limits).await.problem(403, "urn:onewindow:problem:disabled");
    assert_eq!(fixture.preview(&limits).await.body["disabled"], true);
}

pub(super) async fn corrupt(fixture: Fixture) {
    let limits = session(3, 3600);
    fixture.acquire(1, &limits).await.admitted();
    fixture.amend(0, &[("b_session_cp", json!({ "S": "many" })), ("vu", json!({ "N": "0" }))]).await;
    let before = fixture.item(0).await;
    let answer = fixture.acquire(1, &limits).await;
    assert!(answer.problem(500, "urn:onewindow:problem:corrupt-item").contains("b_session_cp"));
    assert_eq!(fixture.item(0).await, before, "nothing is written");
}
