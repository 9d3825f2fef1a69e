//! Faults between the server and the table.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use time::{OffsetDateTime, PrimitiveDateTime, macros::format_description};

use crate::{
    kit::{Answer, Fixture, REDUCED_CAPACITY, session},
    proxy::{Fault, refusal},
};

/// Replies that DynamoDB never gives.
fn nonsense() -> [(&'static str, Fault); 6] {
    let redirect = vec![("location", "http://127.0.0.1:9/".to_owned())];
    [
        ("a body that is cut off", Fault::CutReply),
        ("no body at all", Fault::CutRequest),
        ("a 503 of HTML", Fault::Reply(503, "<html><body>unwell</body></html>".into())),
        ("a redirect", Fault::ReplyWith(302, String::new(), redirect)),
        ("an empty 400", Fault::Reply(400, String::new())),
        ("a 200 of something else", Fault::Reply(200, "<html></html>".into())),
    ]
}

fn cancelled(reasons: &[&str]) -> Fault {
    let reasons: Vec<Value> = reasons.iter().map(|code| json!({ "Code": code })).collect();
    let body = json!({ "__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
        "message": "Transaction cancelled", "CancellationReasons": reasons });
    Fault::Reply(400, body.to_string())
}

/// Asserts that it was allowed without the table.
#[track_caller]
fn degraded(answer: &Answer) {
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(
        (&answer.body["degraded"], &answer.body["admitted"]),
        (&json!(true), &json!(false)),
        "{answer:?}"
    );
    assert_eq!(answer.body.get("lease"), None, "{answer:?}");
}

pub(super) async fn f9_clock(fixture: Fixture) {
    const AHEAD: Duration = Duration::from_secs(600);
    let limits = session(3, 3600);
    let expired = |at: SystemTime| {
        let message = "Signature expired: 20261201T080000Z is now earlier than 20261201T080500Z";
        let body =
            json!({ "__type": "com.amazon.coral.service#InvalidSignatureException", "message": message });
        Fault::ReplyWith(400, body.to_string(), vec![("date", httpdate::fmt_http_date(at))])
    };
    let tables = SystemTime::now() + AHEAD;
    fixture.proxy.next(&fixture.entity, [expired(tables)]);
    fixture.acquire_on(&fixture.servers.proxied, 1, &limits).await.admitted();
    let seen = fixture.proxy.seen(&fixture.entity);
    let form = format_description!("[year][month][day]T[hour][minute][second]Z");
    let signed = PrimitiveDateTime::parse(&seen[1].signed_for, form).expect("a date").assume_utc();
    let off = signed - OffsetDateTime::from(tables);
    assert!(off.abs() < Duration::from_secs(60), "signed for {signed}, the table is at {tables:?}");

    // Once only. The clock offset returns to zero with it.
    let other = fixture.other("for-good");
    other.proxy.always(&other.entity, expired(SystemTime::now()));
    other.acquire_on(&fixture.servers.proxied, 1, &limits).await.problem(503, REDUCED_CAPACITY);
    assert_eq!(other.proxy.seen(&other.entity).len(), 2);
}

pub(super) async fn f10_block(fixture: Fixture) {
    let limits = session(3, 3600);
    for (index, (what, fault)) in nonsense().into_iter().enumerate() {
        let fixture = fixture.other(&index.to_string());
        fixture.acquire(1, &limits).await.admitted();
        fixture.proxy.always(&fixture.entity, fault);
        let answer = fixture.acquire_on(&fixture.servers.block, 1, &limits).await;
        assert!(!answer.problem(503, REDUCED_CAPACITY).is_empty(), "{what}");
        fixture.proxy.mend(&fixture.entity);
        fixture.acquire_on(&fixture.servers.block, 0, &limits).await.admitted();
    }
}

pub(super) async fn f10_allow(fixture: Fixture) {
    let limits = session(3, 3600);
    for (index, (what, fault)) in nonsense().into_iter().enumerate() {
        let fixture = fixture.other(&index.to_string());
        fixture.acquire(1, &limits).await.admitted();
        let reached = matches!(fault, Fault::CutReply);
        fixture.proxy.always(&fixture.entity, fault);
        degraded(&fixture.acquire_on(&fixture.servers.allow, 1, &limits).await);
        if !reached {
            assert_eq!(fixture.number(0, "b_session_tc").await, Some(1000), "{what}: counted nowhere");
        }
    }
}

pub(super) async fn f11_waited_out(fixture: Fixture) {
    let limits = session(9, 3600);
    fixture.acquire(1, &limits).await.admitted();
    for (debited, fault) in (2..).zip([
        refusal("ProvisionedThroughputExceededException", "slow down"),
        refusal("ThrottlingException", "slow down"),
        refusal("TransactionConflictException", "busy"),
        refusal("RequestLimitExceeded", "slow down"),
        Fault::Reply(500, json!({ "__type": "InternalServerError" }).to_string()),
        Fault::Reply(503, String::new()),
        Fault::CutRequest,
    ]) {
        fixture.proxy.next(&fixture.entity, [fault.clone(), fault]);
        fixture.acquire_on(&fixture.servers.proxied, 1, &limits).await.admitted();
        assert_eq!(fixture.number(0, "b_session_tc").await, Some(debited * 1000), "debited once");
    }
}

pub(super) async fn f11_without_end(fixture: Fixture) {
    let limits = session(9, 3600);
    fixture.acquire(1, &limits).await.admitted();
    fixture.proxy.always(&fixture.entity, refusal("ThrottlingException", "slow down"));
    let answer = fixture.acquire_on(&fixture.servers.block, 1, &limits).await;
    assert!(answer.problem(503, REDUCED_CAPACITY).contains("ThrottlingException"), "{answer:?}");
    assert!(fixture.proxy.seen(&fixture.entity).len() > 1, "it was tried again");
    degraded(&fixture.acquire_on(&fixture.servers.allow, 1, &limits).await);

    let fixture = fixture.other("busy");
    fixture.acquire(1, &limits).await.admitted();
    fixture.proxy.always(&fixture.entity, refusal("TransactionConflictException", "busy"));
    for server in [&fixture.servers.block, &fixture.servers.allow] {
        let answer = fixture.acquire_on(server, 1, &limits).await;
        assert_eq!(answer.rejected(), 100, "{answer:?}");
        assert_eq!(answer.body["contended"], true);
        assert_eq!(answer.header("retry-after"), "1");
    }
    assert_eq!(fixture.number(0, "b_session_tc").await, Some(1000));
}

pub(super) async fn f19_cancelled(fixture: Fixture) {
    let limits = session(9, 3600);
    // The first use of an entity: an update that finds no item, then the transaction that creates it.
    for (index, reasons) in [
        &["TransactionConflict", "None", "None"][..],
        &["None", "ThrottlingError", "None"],
        &["None", "TransactionConflict", "ThrottlingError"],
        &["ProvisionedThroughputExceeded", "None"],
    ]
    .into_iter()
    .enumerate()
    {
        let fixture = fixture.other(&format!("again-{index}"));
        fixture.proxy.next(&fixture.entity, [Fault::None, cancelled(reasons)]);
        let answer = fixture.acquire_on(&fixture.servers.proxied, 1, &limits).await.admitted();
        assert_eq!(answer.available(), 8, "{reasons:?}");
        let operations: Vec<_> =
            fixture.proxy.seen(&fixture.entity).into_iter().map(|seen| seen.operation).collect();
        assert_eq!(operations, ["UpdateItem", "TransactWriteItems", "TransactWriteItems"], "{reasons:?}");
    }
    for (index, reasons) in
        [&["ItemCollectionSizeLimitExceeded", "None"][..], &["ValidationError"]].into_iter().enumerate()
    {
        let fixture = fixture.other(&format!("over-{index}"));
        fixture.proxy.next(&fixture.entity, [Fault::None, cancelled(reasons)]);
        fixture.acquire_on(&fixture.servers.proxied, 1, &limits).await.problem(503, REDUCED_CAPACITY);
        assert_eq!(fixture.item(0).await, None, "{reasons:?}");
    }
}

pub(super) async fn f21_refusals(fixture: Fixture) {
    let limits = session(9, 3600);
    fixture.acquire(1, &limits).await.admitted();
    for name in ["AccessDeniedException", "UnrecognizedClientException", "ResourceNotFoundException"] {
        fixture.proxy.always(&fixture.entity, refusal(name, "no"));
        for server in [&fixture.servers.allow, &fixture.servers.block] {
            let answer = fixture.acquire_on(server, 1, &limits).await;
            assert!(answer.problem(500, "urn:onewindow:problem:misconfigured").contains(name), "{answer:?}");
        }
    }
    // Without the proxy: the table does not exist.
    let answer = fixture.acquire_on(&fixture.servers.misplaced, 1, &limits).await;
    let detail = answer.problem(500, "urn:onewindow:problem:misconfigured");
    assert!(detail.contains("ResourceNotFoundException"), "{detail}");
    assert_eq!(fixture.number(0, "b_session_tc").await, Some(1000));
}

pub(super) async fn f22_lost_reply(fixture: Fixture) {
    let limits = session(10, 3600);
    let first = fixture.acquire(1, &limits).await.admitted();
    // A debit whose reply is lost is sent again. It may be made twice, and at least once.
    fixture.proxy.next(&fixture.entity, [Fault::CutReply]);
    fixture.acquire_on(&fixture.servers.proxied, 1, &limits).await.admitted();
    let debited = fixture.number(0, "b_session_tc").await.expect("a number");
    assert!((2000..=3000).contains(&debited), "{debited}");
    // A credit whose reply is lost may be made once, never twice.
    let before = fixture.number(0, "b_session_tk").await.expect("a number");
    fixture.proxy.next(&fixture.entity, [Fault::CutReply]);
    let release = json!({ "lease": first.body["lease"], "actual": { "session": 0 } });
    let answer = fixture.post(&fixture.servers.proxied, "/settle", &release).await;
    assert!([200, 503].contains(&answer.status), "{answer:?}");
    let after = fixture.number(0, "b_session_tk").await.expect("a number");
    assert!((before..=before + 1000).contains(&after), "{before} to {after}");
}

pub(super) async fn deadline(fixture: Fixture) {
    let limits = session(9, 3600);
    fixture.acquire(1, &limits).await.admitted();
    fixture.proxy.always(&fixture.entity, Fault::Hang);
    fixture.acquire_on(&fixture.servers.block, 1, &limits).await.problem(503, REDUCED_CAPACITY);
    degraded(&fixture.acquire_on(&fixture.servers.allow, 1, &limits).await);
    let path = format!("/preview?entity={}&resource=gpt-4", fixture.entity);
    fixture
        .send(&fixture.servers.block, reqwest::Method::GET, &path, String::new())
        .await
        .problem(503, REDUCED_CAPACITY);
    fixture.proxy.mend(&fixture.entity);
    fixture.acquire_on(&fixture.servers.block, 1, &limits).await.admitted();
    assert_eq!(
        fixture.number(0, "b_session_tc").await,
        Some(2000),
        "what was allowed without the table is counted nowhere"
    );
}
