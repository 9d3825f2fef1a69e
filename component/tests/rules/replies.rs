//! F10, F19, F20, F21: what comes back, sorted once.

use onewindow::{
    Acquire, Outcome, Reply, Step,
    internals::decode_item,
    wire::{Classification, classify},
};
use serde_json::json;

use crate::kit::*;

/// The outcome of the reply to a first fast write.
fn outcome(reply: Reply) -> Outcome {
    let (mut machine, _) = started(request(1));
    done(next(&mut machine, reply)).outcome
}

#[test]
fn f10_what_is_not_the_tables_own_answer_is_unavailable() {
    let cut_off = landed(&Item::live(1000));
    let Reply::Http { body, .. } = cut_off else { panic!() };
    let text = |status, body: &str| Reply::Http { status, body: body.into() };
    for reply in [
        text(200, &body[..body.len() / 2]),
        text(200, ""),
        text(200, "<html>hello</html>"),
        text(200, "{}"),
        text(200, "null"),
        text(200, "[]"),
        text(503, "<html>busy</html>"),
        text(302, ""),
        text(400, ""),
        text(400, "{}"),
        text(400, r#"{"__type": 5}"#),
        text(404, "not here"),
        text(0, ""),
        text(65_535, ""),
        Reply::Failed("connection reset".into()),
    ] {
        let outcome = outcome(reply.clone());
        assert!(matches!(outcome, Outcome::Unavailable(_)), "{reply:?}: {outcome:?}");
    }
}

#[test]
fn f10_a_host_knows_which_to_send_again() {
    let of = |status, body: &str| classify(&Reply::Http { status, body: body.into() });
    assert!(matches!(of(503, "<html>"), Classification::Lost(_)));
    assert!(matches!(of(500, ""), Classification::Lost(_)));
    assert!(matches!(of(429, ""), Classification::Retry(_)));
    assert!(matches!(of(302, ""), Classification::Unavailable(_)));
    assert!(matches!(of(200, "{"), Classification::Unavailable(_)));
    assert!(matches!(of(200, "{}"), Classification::Data));
    assert!(matches!(of(403, ""), Classification::Misconfigured(_)));
    assert!(matches!(classify(&Reply::Failed("x".into())), Classification::Lost(_)));
}

#[test]
fn f11_throttles_and_conflicts_are_waited_out() {
    for name in [
        "ProvisionedThroughputExceededException",
        "ThrottlingException",
        "RequestLimitExceeded",
        "TransactionConflictException",
        "TransactionInProgressException",
    ] {
        assert!(matches!(classify(&error(name)), Classification::Retry(_)), "{name}");
    }
    assert!(matches!(classify(&error("InternalServerError")), Classification::Lost(_)));
    // And once the host sends no more:
    assert_eq!(outcome(error("TransactionConflictException")), Outcome::Contended { retry_after_ms: 100 });
    assert!(matches!(outcome(error("ThrottlingException")), Outcome::Unavailable(_)));
}

#[test]
fn f9_a_signature_that_came_too_late_is_distinguished() {
    let reply = |message: &str| {
        http(
            400,
            &json!({"__type": "com.amazon.coral.service#InvalidSignatureException", "message": message}),
        )
    };
    assert_eq!(classify(&reply("Signature expired: 20260101T000000Z")), Classification::ClockSkew);
    assert_eq!(classify(&reply("Signature not yet current")), Classification::ClockSkew);
    assert!(matches!(classify(&reply("does not match")), Classification::Misconfigured(_)));
    assert_eq!(classify(&error("RequestTimeTooSkewed")), Classification::ClockSkew);
}

#[test]
fn f21_a_table_that_refuses_us_is_never_unavailable() {
    for name in [
        "AccessDeniedException",
        "ResourceNotFoundException",
        "UnrecognizedClientException",
        "ValidationException",
        "MissingAuthenticationTokenException",
    ] {
        assert!(matches!(classify(&error(name)), Classification::Misconfigured(_)), "{name}");
        let Outcome::Misconfigured(message) = outcome(error(name)) else { panic!("{name}") };
        assert!(message.contains(name), "{message}");
    }
}

#[test]
fn f19_the_type_with_and_without_its_prefix() {
    for prefix in ["", "com.amazonaws.dynamodb.v20120810#"] {
        let body = json!({"__type": format!("{prefix}ConditionalCheckFailedException")});
        let (mut machine, _) = started(request(1));
        let call = only(next(&mut machine, http(400, &body)));
        assert_eq!(call.operation, "TransactWriteItems", "missing, so it is created");
    }
}

#[test]
fn f19_every_mix_of_cancellation_reasons_is_sorted_once() {
    const CODES: [&str; 6] = [
        "None",
        "ConditionalCheckFailed",
        "TransactionConflict",
        "ThrottlingError",
        "ItemCollectionSizeLimitExceeded",
        "ValidationError",
    ];
    let image = Item::shard(0, 2, 5000, NOW - 10_000);
    for first in CODES {
        for second in CODES {
            for with_image in [false, true] {
                let image = with_image.then_some(&image);
                let reply = cancelled(&[(first, image), (second, image), ("None", None)]);
                let any = |code| [first, second].contains(&code);
                let class = classify(&reply);
                let right = if any("ConditionalCheckFailed") {
                    class == Classification::Data
                } else if any("TransactionConflict") || any("ThrottlingError") {
                    matches!(class, Classification::Retry(_))
                } else {
                    matches!(class, Classification::Unavailable(_))
                };
                assert!(right, "{first} {second}: {class:?}");
                // The machine neither admits nor gets stuck on it.
                let (mut machine, step) = after_refusal(request(1), None);
                only(step);
                match next(&mut machine, reply) {
                    Step::Done(decision) => assert!(!decision.outcome.is_admitted()),
                    Step::Perform(calls) => assert_eq!(calls.len(), 1),
                }
            }
        }
    }
}

#[test]
fn f19_reasons_that_are_missing_altogether() {
    for reasons in [json!(null), json!([])] {
        let body = json!({"__type": "TransactionCanceledException", "CancellationReasons": reasons});
        assert!(matches!(classify(&http(400, &body)), Classification::Unavailable(_)));
    }
}

// ---- F20 ----

fn read_with(name: &str, value: serde_json::Value) -> Result<onewindow::internals::Shard, onewindow::Error> {
    decode_item(&Item::live(0).raw(name, value).json().to_string())
}

#[test]
fn f20_whole_numbers_are_read_exactly_however_they_are_spelled() {
    for (text, value) in [
        ("1E3", 1000),
        ("1000.0", 1000),
        ("-0", 0),
        ("3804086584686624768", 3_804_086_584_686_624_768),
        ("-99999999999999999999999999999999999999", -99_999_999_999_999_999_999_999_999_999_999_999_999),
    ] {
        let shard = read_with("b_q_tk", json!({"N": text})).unwrap();
        assert_eq!(shard.limit("q").unwrap().tokens_milli, value, "{text}");
    }
}

#[test]
fn f20_everything_else_is_a_corrupt_item_named_by_its_attribute() {
    for (name, value) in [
        ("b_q_tk", json!({"N": "1.5"})),
        ("b_q_tk", json!({"S": "5"})),
        ("b_q_tk", json!({"N": "100000000000000000000000000000000000000"})),
        ("b_q_tk", json!({"L": []})),
        ("b_q_cp", json!({"N": "-1"})),
        ("b_q_ws", json!({"N": "-1"})),
        ("b_q_ws", json!({"N": "1E30"})),
        ("b_q_rsa", json!({"N": "0"})),
        ("b_q_rp", json!({"N": "0"})),
        ("rf", json!({"N": "0.5"})),
        ("vu", json!({"BOOL": true})),
        ("shard_count", json!({"N": "99999999999"})),
        ("disabled", json!({"S": "true"})),
        ("b_q_gc", json!({"N": "1E30"})),
    ] {
        let error = read_with(name, value.clone()).unwrap_err();
        assert_eq!(error.code.as_str(), "corrupt-item", "{name} {value}");
        assert!(error.message.contains(&format!("{name} reads")), "{error}");
        assert!(error.message.contains("nothing was written"), "{error}");
        // And the machine writes nothing.
        let item = Item::live(0).num("vu", 0).raw(name, value);
        let decision = done(after_refusal(request(1), Some(&item)).1);
        assert!(matches!(decision.outcome, Outcome::Failed(_)));
        assert!(decision.follow_ups.is_empty());
    }
    for name in ["rf", "b_q_cp", "PK"] {
        let item = Item::live(0).without(name);
        let error = decode_item(&item.json().to_string()).unwrap_err();
        assert!(error.message.contains(name), "{error}");
    }
}

#[test]
fn f20_counts_below_one_are_read_as_the_rules_say() {
    assert_eq!(read_with("shard_count", json!({"N": "-7"})).unwrap().shard_count, 1);
    let shard = read_with("b_q_gc", json!({"N": "-7"})).unwrap();
    assert_eq!(shard.limit("q").unwrap().grant_count_or(4), 4);
}

#[test]
fn f20_what_we_do_not_know_is_left_alone() {
    let odd = Item::live(5000)
        .raw("b_q_zzz", json!({"M": {"a": {"L": [{"N": "x"}]}}}))
        .raw("note", json!({"B": "AA=="}))
        .raw("b_q", json!({"NULL": true}))
        .num("vu", 0);
    assert_eq!(odd.read().limits.len(), 1);
    let write = &sent(&only(after_refusal(request(1), Some(&odd)).1))[0];
    write.assert_no_change_of("zzz");
    write.assert_no_change_of("note");
}

#[test]
fn f22_each_call_states_what_a_second_landing_could_do() {
    use onewindow::Resend;
    let (mut machine, fast) = started(request(1));
    assert_eq!(fast.resend, Resend::MayDebitTwice);
    // A locked raise cannot land twice: it moves the lock it was read under.
    let over = Item::shard(0, 2, 0, NOW - LENGTH);
    let locked = only(next(&mut machine, refused(Some(&over))));
    assert_eq!(locked.resend, Resend::MayDebitTwice);
    let decision = done(next(&mut machine, landed(&over)));
    assert_eq!(decision.follow_ups.len(), 1);
    assert!(decision.follow_ups.iter().all(|call| call.resend == Resend::Idempotent), "propagation");
    let (mut machine, step) = after_refusal(request(1), None);
    assert_eq!(only(step).resend, Resend::MayDebitTwice, "a create");
    let _ = done(next(&mut machine, error("AccessDeniedException")));
    let mut probe = Acquire::new(request(0));
    assert_eq!(only(probe.advance(NOW as u64, &[])).resend, Resend::Idempotent);
}
