//! What goes wrong on the way to the table.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use time::{OffsetDateTime, PrimitiveDateTime, macros::format_description};

use crate::{
    kit::{Answer, REDUCED_CAPACITY, World, session},
    proxy::{Fault, refusal},
};

/// What is no answer of DynamoDB's.
fn nonsense() -> [(&'static str, Fault); 6] {
    let redirect = vec![("location", "http://127.0.0.1:9/".to_owned())];
    [
        ("a body that is cut off", Fault::CutReply),
        ("no body at all", Fault::Break),
        ("a 503 of HTML", Fault::Say(503, "<html><body>unwell</body></html>".into())),
        ("a redirect", Fault::SayWith(302, String::new(), redirect)),
        ("an empty 400", Fault::Say(400, String::new())),
        ("a 200 of something else", Fault::Say(200, "<html></html>".into())),
    ]
}

fn cancelled(reasons: &[&str]) -> Fault {
    let reasons: Vec<Value> = reasons.iter().map(|code| json!({ "Code": code })).collect();
    let body = json!({ "__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
        "message": "Transaction cancelled", "CancellationReasons": reasons });
    Fault::Say(400, body.to_string())
}

/// Let through, and counted nowhere.
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

pub(super) async fn f9_clock(world: World) {
    const AHEAD: Duration = Duration::from_secs(600);
    let limits = session(3, 3600);
    let expired = |at: SystemTime| {
        let message = "Signature expired: 20261201T080000Z is now earlier than 20261201T080500Z";
        let body =
            json!({ "__type": "com.amazon.coral.service#InvalidSignatureException", "message": message });
        Fault::SayWith(400, body.to_string(), vec![("date", httpdate::fmt_http_date(at))])
    };
    let tables = SystemTime::now() + AHEAD;
    world.proxy.next(&world.entity, [expired(tables)]);
    world.take_from(&world.servers.proxied, 1, &limits).await.admitted();
    let seen = world.proxy.seen(&world.entity);
    let form = format_description!("[year][month][day]T[hour][minute][second]Z");
    let signed = PrimitiveDateTime::parse(&seen[1].signed_for, form).expect("a date").assume_utc();
    let off = signed - OffsetDateTime::from(tables);
    assert!(off.abs() < Duration::from_secs(60), "signed for {signed}, the table is at {tables:?}");

    // Once, and not again and again. The offset goes back to none with it.
    let other = world.other("for-good");
    other.proxy.always(&other.entity, expired(SystemTime::now()));
    other.take_from(&world.servers.proxied, 1, &limits).await.problem(503, REDUCED_CAPACITY);
    assert_eq!(other.proxy.seen(&other.entity).len(), 2);
}

pub(super) async fn f10_block(world: World) {
    let limits = session(3, 3600);
    for (index, (what, fault)) in nonsense().into_iter().enumerate() {
        let world = world.other(&index.to_string());
        world.take(1, &limits).await.admitted();
        world.proxy.always(&world.entity, fault);
        let answer = world.take_from(&world.servers.block, 1, &limits).await;
        assert!(!answer.problem(503, REDUCED_CAPACITY).is_empty(), "{what}");
        world.proxy.mend(&world.entity);
        world.take_from(&world.servers.block, 0, &limits).await.admitted();
    }
}

pub(super) async fn f10_allow(world: World) {
    let limits = session(3, 3600);
    for (index, (what, fault)) in nonsense().into_iter().enumerate() {
        let world = world.other(&index.to_string());
        world.take(1, &limits).await.admitted();
        let heard = matches!(fault, Fault::CutReply);
        world.proxy.always(&world.entity, fault);
        degraded(&world.take_from(&world.servers.allow, 1, &limits).await);
        if !heard {
            assert_eq!(world.number(0, "b_session_tc").await, Some(1000), "{what}: counted nowhere");
        }
    }
}

pub(super) async fn f11_waited_out(world: World) {
    let limits = session(9, 3600);
    world.take(1, &limits).await.admitted();
    for (taken, fault) in (2..).zip([
        refusal("ProvisionedThroughputExceededException", "slow down"),
        refusal("ThrottlingException", "slow down"),
        refusal("TransactionConflictException", "busy"),
        refusal("RequestLimitExceeded", "slow down"),
        Fault::Say(500, json!({ "__type": "InternalServerError" }).to_string()),
        Fault::Say(503, String::new()),
        Fault::Break,
    ]) {
        world.proxy.next(&world.entity, [fault.clone(), fault]);
        world.take_from(&world.servers.proxied, 1, &limits).await.admitted();
        assert_eq!(world.number(0, "b_session_tc").await, Some(taken * 1000), "taken once");
    }
}

pub(super) async fn f11_without_end(world: World) {
    let limits = session(9, 3600);
    world.take(1, &limits).await.admitted();
    world.proxy.always(&world.entity, refusal("ThrottlingException", "slow down"));
    let answer = world.take_from(&world.servers.block, 1, &limits).await;
    assert!(answer.problem(503, REDUCED_CAPACITY).contains("ThrottlingException"), "{answer:?}");
    assert!(world.proxy.seen(&world.entity).len() > 1, "it was tried again");
    degraded(&world.take_from(&world.servers.allow, 1, &limits).await);

    let world = world.other("busy");
    world.take(1, &limits).await.admitted();
    world.proxy.always(&world.entity, refusal("TransactionConflictException", "busy"));
    for server in [&world.servers.block, &world.servers.allow] {
        let answer = world.take_from(server, 1, &limits).await;
        assert_eq!(answer.rejected(), 100, "{answer:?}");
        assert_eq!(answer.body["contended"], true);
        assert_eq!(answer.header("retry-after"), "1");
    }
    assert_eq!(world.number(0, "b_session_tc").await, Some(1000));
}

pub(super) async fn f19_cancelled(world: World) {
    let limits = session(9, 3600);
    // The first use of an entity: an update that finds nothing, then the transaction that makes it.
    for (index, reasons) in [
        &["TransactionConflict", "None", "None"][..],
        &["None", "ThrottlingError", "None"],
        &["None", "TransactionConflict", "ThrottlingError"],
        &["ProvisionedThroughputExceeded", "None"],
    ]
    .into_iter()
    .enumerate()
    {
        let world = world.other(&format!("again-{index}"));
        world.proxy.next(&world.entity, [Fault::Materialisation, cancelled(reasons)]);
        let answer = world.take_from(&world.servers.proxied, 1, &limits).await.admitted();
        assert_eq!(answer.available(), 8, "{reasons:?}");
        let operations: Vec<_> =
            world.proxy.seen(&world.entity).into_iter().map(|seen| seen.operation).collect();
        assert_eq!(operations, ["UpdateItem", "TransactWriteItems", "TransactWriteItems"], "{reasons:?}");
    }
    for (index, reasons) in
        [&["ItemCollectionSizeLimitExceeded", "None"][..], &["ValidationError"]].into_iter().enumerate()
    {
        let world = world.other(&format!("over-{index}"));
        world.proxy.next(&world.entity, [Fault::Materialisation, cancelled(reasons)]);
        world.take_from(&world.servers.proxied, 1, &limits).await.problem(503, REDUCED_CAPACITY);
        assert_eq!(world.item(0).await, None, "{reasons:?}");
    }
}

pub(super) async fn f21_refusals(world: World) {
    let limits = session(9, 3600);
    world.take(1, &limits).await.admitted();
    for name in ["AccessDeniedException", "UnrecognizedClientException", "ResourceNotFoundException"] {
        world.proxy.always(&world.entity, refusal(name, "no"));
        for server in [&world.servers.allow, &world.servers.block] {
            let answer = world.take_from(server, 1, &limits).await;
            assert!(answer.problem(500, "urn:onewindow:problem:misconfigured").contains(name), "{answer:?}");
        }
    }
    // Not a proxy's word for it: a table that is not there.
    let answer = world.take_from(&world.servers.misplaced, 1, &limits).await;
    let detail = answer.problem(500, "urn:onewindow:problem:misconfigured");
    assert!(detail.contains("ResourceNotFoundException"), "{detail}");
    assert_eq!(world.number(0, "b_session_tc").await, Some(1000));
}

pub(super) async fn f22_lost_reply(world: World) {
    let limits = session(10, 3600);
    let first = world.take(1, &limits).await.admitted();
    // A take whose reply is lost is sent again: it may take twice, never nothing.
    world.proxy.next(&world.entity, [Fault::CutReply]);
    world.take_from(&world.servers.proxied, 1, &limits).await.admitted();
    let taken = world.number(0, "b_session_tc").await.expect("a number");
    assert!((2000..=3000).contains(&taken), "{taken}");
    // A release whose reply is lost: it may be recorded once, never twice.
    let before = world.number(0, "b_session_tk").await.expect("a number");
    world.proxy.next(&world.entity, [Fault::CutReply]);
    let release = json!({ "lease": first.body["lease"], "actual": { "session": 0 } });
    let answer = world.post(&world.servers.proxied, "/settle", &release).await;
    assert!([200, 503].contains(&answer.status), "{answer:?}");
    let after = world.number(0, "b_session_tk").await.expect("a number");
    assert!((before..=before + 1000).contains(&after), "{before} to {after}");
}

pub(super) async fn deadline(world: World) {
    let limits = session(9, 3600);
    world.take(1, &limits).await.admitted();
    world.proxy.always(&world.entity, Fault::Hang);
    world.take_from(&world.servers.block, 1, &limits).await.problem(503, REDUCED_CAPACITY);
    degraded(&world.take_from(&world.servers.allow, 1, &limits).await);
    let path = format!("/preview?entity={}&resource=gpt-4", world.entity);
    world
        .send(&world.servers.block, reqwest::Method::GET, &path, String::new())
        .await
        .problem(503, REDUCED_CAPACITY);
    world.proxy.mend(&world.entity);
    world.take_from(&world.servers.block, 1, &limits).await.admitted();
    assert_eq!(world.number(0, "b_session_tc").await, Some(2000), "what was let through is counted nowhere");
}
