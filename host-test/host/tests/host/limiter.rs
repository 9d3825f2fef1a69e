//! The limiter over real HTTP: lost replies, throttles, a clock that is off, a component that is
//! broken, and the follow-ups after the answer.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use crate::common::{
    Fate, Fates, START_MS, TABLE, component, database, engines, limiter, operate, options, refusal,
};
use futures::future::join_all;
use onewindow::{AcquireRequest, Amount, ErrorCode, Limit, Outcome, PreviewOutcome, Settlement, Subject};
use onewindow_host::{
    Client, Embedded, Engine, Limiter, LimiterOptions, OnUnavailable,
    engine::{Component, ComponentOptions},
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const HOUR: Duration = Duration::from_secs(3600);

fn request(entity: &str, capacity: u64, tokens: u64) -> AcquireRequest {
    AcquireRequest {
        subject: Subject::new(TABLE, "ns", entity, "gpt-4"),
        consume: vec![Amount::new("session", tokens)],
        limits: vec![Limit::session("session", capacity, 3600)],
        ..AcquireRequest::default()
    }
}

fn interposed(database: &Embedded, fates: &Arc<Fates>, options: LimiterOptions) -> Limiter {
    let mut config = database.client_config();
    config.waits.first = Duration::from_millis(1);
    config.interpose = Some(Arc::clone(fates) as _);
    Limiter::new(Engine::native(), Client::new(config).unwrap(), options)
}

/// What is left over all shards.
async fn available(limiter: &Limiter, entity: &str) -> i64 {
    let previewed = limiter.preview(request(entity, 1, 1).subject, Vec::new()).await;
    let PreviewOutcome::Report(report) = previewed.outcome else { panic!("{previewed:?}") };
    report.limits[0].status.available
}

#[tokio::test]
async fn a_window_is_used_up_and_comes_back_through_either_engine() {
    let database = database().await;
    for engine in engines() {
        let entity = engine.name();
        let limiter = limiter(engine.clone(), &database, options());
        let first = limiter.acquire(request(entity, 3, 1)).await;
        assert!(first.is_allowed(), "{first:?}");
        assert_eq!((first.cost.round_trips, first.cost.requests), (2, 2), "created");
        let second = limiter.acquire(request(entity, 3, 2)).await;
        assert_eq!((second.cost.round_trips, second.cost.requests), (1, 1), "one update, no read");
        assert_eq!(second.cost.operations, ["UpdateItem"]);
        let third = limiter.acquire(request(entity, 3, 1)).await;
        assert_eq!(third.decision.outcome, Outcome::Rejected { retry_after_ms: 3_600_000 });
        limiter.options().clock.advance(HOUR);
        assert!(limiter.acquire(request(entity, 3, 3)).await.is_allowed(), "{entity}");
    }
}

#[tokio::test]
async fn a_remembered_rejection_costs_no_request_and_never_outlives_its_window() {
    let database = database().await;
    for engine in engines() {
        let entity = engine.name();
        let limiter = limiter(
            engine.clone(),
            &database,
            LimiterOptions { repeat_rejections_for: 2 * HOUR, ..options() },
        );
        assert!(limiter.acquire(request(entity, 1, 1)).await.is_allowed());
        assert_eq!(limiter.acquire(request(entity, 1, 1)).await.cost.requests, 1);
        let remembered = limiter.acquire(request(entity, 1, 1)).await;
        assert_eq!(remembered.decision.outcome, Outcome::Rejected { retry_after_ms: 3_600_000 });
        assert_eq!(remembered.cost.requests, 0);
        limiter.options().clock.set_ms(START_MS + 3_600_000 - 1);
        assert_eq!(limiter.acquire(request(entity, 1, 1)).await.cost.requests, 0);
        limiter.options().clock.set_ms(START_MS + 3_600_000);
        assert!(limiter.acquire(request(entity, 1, 1)).await.is_allowed(), "{entity}");
    }
}

#[tokio::test]
async fn a_release_is_seen_at_once() {
    let database = database().await;
    let limiter = limiter(Engine::native(), &database, options());
    let answer = limiter.acquire(request("a", 1, 1)).await;
    assert!(!limiter.acquire(request("a", 1, 1)).await.is_allowed());
    let lease = answer.lease().unwrap().encode();
    let released = limiter.settle(TABLE, &lease, vec![Amount::new("session", 0)]).await;
    assert_eq!(released.settlement, Settlement::Settled);
    assert!(limiter.acquire(request("a", 1, 1)).await.is_allowed());
}

#[tokio::test]
async fn follow_ups_come_after_the_answer_and_a_flush_waits_for_them() {
    let database = database().await;
    for engine in engines() {
        let entity = engine.name();
        let limiter = limiter(engine.clone(), &database, options());
        let acquire = |seed| limiter.acquire(AcquireRequest { seed, ..request(entity, 100, 1) });
        assert!(acquire(1).await.is_allowed());
        // With its write budget spent, the next request doubles the shards.
        let update = format!(
            r##"{{"TableName":"{TABLE}","Key":{{"PK":{{"S":"ns/BUCKET#{entity}#gpt-4#0"}},"SK":{{"S":"#STATE"}}}},
                "UpdateExpression":"SET #a = :v","ExpressionAttributeNames":{{"#a":"b_wcu_tk"}},
                "ExpressionAttributeValues":{{":v":{{"N":"0"}}}}}}"##
        );
        operate(limiter.client(), "UpdateItem", update).await;
        assert!(acquire(1).await.is_allowed());
        limiter.options().clock.advance(Duration::from_secs(1));
        for seed in 2..10 {
            assert!(acquire(seed).await.is_allowed());
        }
        limiter.flush().await;
        let before = limiter.follow_up_stats();

        limiter.options().clock.advance(2 * HOUR);
        let opener = acquire(1).await;
        assert!(opener.is_allowed());
        assert_eq!((opener.follow_ups, opener.cost.round_trips), (1, 2), "{opener:?}");
        limiter.flush().await;
        let after = limiter.follow_up_stats();
        assert_eq!((after.calls - before.calls, after.failed), (1, 0));

        let previewed = limiter.preview(request(entity, 1, 1).subject, Vec::new()).await;
        let PreviewOutcome::Report(report) = previewed.outcome else { panic!("{previewed:?}") };
        let starts: Vec<_> = report.limits[0].shards.iter().map(|shard| shard.starts_at_ms).collect();
        assert_eq!(starts, [Some(START_MS + 7_201_000); 2], "{entity}");
    }
}

#[tokio::test]
async fn a_lost_reply_is_sent_again_and_can_only_under_admit() {
    let database = database().await;
    let fates = Fates::of("UpdateItem", []);
    let limiter = interposed(&database, &fates, options());
    assert!(limiter.acquire(request("a", 10, 1)).await.is_allowed());
    let fates = Fates::of("UpdateItem", [Fate::LoseReply]);
    let limiter = interposed(&database, &fates, options());
    let answer = limiter.acquire(request("a", 10, 1)).await;
    assert!(answer.is_allowed());
    assert_eq!((answer.cost.requests, answer.cost.resends, answer.cost.round_trips), (2, 1, 1));
    assert_eq!(available(&limiter, "a").await, 7, "debited twice, never credited");
}

#[tokio::test]
async fn a_lost_request_and_a_throttle_are_sent_again() {
    let database = database().await;
    let throttles = [
        Fate::LoseRequest,
        refusal("ProvisionedThroughputExceededException", "slow down"),
        refusal("ThrottlingException", "slow down"),
        Fate::Say(503, "<html>busy</html>".into()),
    ];
    let fates = Fates::of("BatchGetItem", throttles);
    let limiter = interposed(&database, &fates, options());
    let previewed = limiter.preview(request("a", 1, 1).subject, vec![Limit::session("session", 5, 60)]).await;
    assert!(matches!(previewed.outcome, PreviewOutcome::Report(_)), "{previewed:?}");
    assert_eq!(fates.seen.load(Ordering::SeqCst), 5);
}

/// F11.
#[tokio::test]
async fn a_conflict_that_lasts_is_contention() {
    let database = database().await;
    let conflict = refusal("TransactionConflictException", "busy");
    let fates = Fates::of("UpdateItem", vec![conflict; 10_000]);
    let deadline = Duration::from_millis(100);
    let limiter = interposed(&database, &fates, LimiterOptions { deadline, ..options() });
    let answer = limiter.acquire(request("a", 1, 1)).await;
    assert_eq!(answer.decision.outcome, Outcome::Contended { retry_after_ms: 100 });
    assert!(answer.cost.resends > 0);
}

/// F9.
#[tokio::test]
async fn an_expired_signature_gets_one_retry_with_the_tables_time() {
    let database = database().await;
    let skewed = refusal("InvalidSignatureException", "Signature expired: 1 is now earlier than 2");
    let fates = Fates::of("UpdateItem", [skewed.clone()]);
    let limiter = interposed(&database, &fates, options());
    assert!(limiter.acquire(request("a", 1, 1)).await.is_allowed());
    let fates = Fates::of("UpdateItem", [skewed.clone(), skewed]);
    let limiter = interposed(&database, &fates, options());
    let answer = limiter.acquire(request("a", 1, 1)).await;
    assert!(matches!(answer.decision.outcome, Outcome::Unavailable(_)), "{answer:?}");
    assert_eq!(fates.seen.load(Ordering::SeqCst), 2);
}

/// F10, F21.
#[tokio::test]
async fn the_policy_is_for_a_table_that_is_away_and_for_nothing_else() {
    let gone = Embedded::in_memory().await.unwrap();
    let config = gone.client_config();
    gone.stop().await.unwrap();
    let database = database().await;
    for on_unavailable in [OnUnavailable::Allow, OnUnavailable::Block] {
        let options = LimiterOptions { on_unavailable, deadline: Duration::from_millis(200), ..options() };
        let limiter = Limiter::new(Engine::native(), Client::new(config.clone()).unwrap(), options.clone());
        let away = limiter.acquire(request("a", 1, 1)).await;
        assert!(matches!(away.decision.outcome, Outcome::Unavailable(_)), "{away:?}");
        assert_eq!(away.is_allowed(), on_unavailable == OnUnavailable::Allow);
        let client = Client::new(database.client_config()).unwrap();
        let limiter = Limiter::new(Engine::native(), client, options);
        let mut wrong = request("a", 1, 1);
        wrong.subject.table = "missing".into();
        let refused = limiter.acquire(wrong).await;
        assert!(matches!(refused.decision.outcome, Outcome::Misconfigured(_)), "{refused:?}");
        assert!(!refused.is_allowed());
    }
}

/// F10.
#[tokio::test]
async fn a_reply_that_is_none_is_unavailable_and_admits_nothing() {
    let database = database().await;
    for (reply, says) in [
        ("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{\"Attributes\"", "the connection broke"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\n{\"Attributes\"", "cut off"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n\u{fffd}\u{fffd}\u{fffd}", "not its own"),
        ("HTTP/1.1 503 Busy\r\ncontent-length: 6\r\n\r\n<html>", "status 503"),
        ("HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n", "status 302"),
        ("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n", "status 400"),
        ("this is not HTTP\r\n\r\n", "the connection broke"),
        ("", "the connection broke"),
    ] {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut config = database.client_config();
        config.endpoint = format!("http://{}", listener.local_addr().unwrap());
        let server = tokio::spawn(say(listener, reply));
        let options = LimiterOptions { deadline: Duration::from_millis(300), ..options() };
        let limiter = Limiter::new(Engine::native(), Client::new(config).unwrap(), options);
        let answer = limiter.acquire(request("a", 1, 1)).await;
        let Outcome::Unavailable(reason) = &answer.decision.outcome else { panic!("{reply}: {answer:?}") };
        assert!(reason.contains(says), "{reply}: {reason}");
        server.abort();
    }
}

#[tokio::test]
async fn a_reply_that_is_too_long_is_cut_off() {
    let database = database().await;
    assert!(limiter(Engine::native(), &database, options()).acquire(request("a", 9, 1)).await.is_allowed());
    let config = onewindow_host::ClientConfig { reply_limit_bytes: 64, ..database.client_config() };
    let short = Limiter::new(Engine::native(), Client::new(config).unwrap(), options());
    let answer = short.acquire(request("a", 9, 1)).await;
    let Outcome::Unavailable(reason) = &answer.decision.outcome else { panic!("{answer:?}") };
    assert!(reason.contains("cut off"), "{reason}");
}

/// Answers every request with the same bytes, and hangs up.
async fn say(listener: tokio::net::TcpListener, reply: &'static str) {
    while let Ok((mut stream, _)) = listener.accept().await {
        let mut request = [0; 16 << 10];
        let _ = stream.read(&mut request).await;
        let _ = stream.write_all(reply.as_bytes()).await;
        let _ = stream.shutdown().await;
    }
}

#[tokio::test]
async fn a_caller_never_waits_beyond_the_deadline() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let database = database().await;
    let mut config = database.client_config();
    config.endpoint = format!("http://{}", silent.local_addr().unwrap());
    let deadline = Duration::from_millis(150);
    let options = LimiterOptions { deadline, ..options() };
    let limiter = Limiter::new(Engine::native(), Client::new(config).unwrap(), options);
    let began = std::time::Instant::now();
    let answer = limiter.acquire(request("a", 1, 1)).await;
    assert!(matches!(answer.decision.outcome, Outcome::Unavailable(_)), "{answer:?}");
    assert!(began.elapsed() < 20 * deadline, "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_component_that_burns_its_fuel_is_stopped_and_says_so() {
    let database = database().await;
    let starved = ComponentOptions { instances: 1, step_fuel: 20_000, ..ComponentOptions::default() };
    let starved = Component::embedded(starved).unwrap();
    let limiter = limiter(Engine::from(starved), &database, options());
    // Each of them has the only instance: the one before it left nothing behind.
    for _ in 0..3 {
        let answer = limiter.acquire(request("a", 1, 1)).await;
        let Outcome::Failed(error) = &answer.decision.outcome else { panic!("{answer:?}") };
        assert_eq!(error.code, ErrorCode::Other);
        assert!(error.message.contains("the component failed") && error.message.contains("fuel"), "{error}");
        assert!(!answer.is_allowed());
    }
    let settled = limiter.settle(TABLE, "{}", vec![Amount::new("session", 0)]).await;
    assert!(matches!(settled.settlement, Settlement::Failed(_)), "{settled:?}");
}

#[tokio::test]
async fn what_is_no_component_is_refused() {
    let error = Component::from_binary(b"\0asm", ComponentOptions::default()).unwrap_err();
    assert!(error.to_string().contains("the component cannot be loaded"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn more_requests_than_instances_wait_their_turn() {
    let database = database().await;
    let few = ComponentOptions { instances: 2, ..ComponentOptions::default() };
    let options = LimiterOptions { deadline: Duration::from_secs(30), ..options() };
    let limiter = limiter(Engine::from(Component::embedded(few).unwrap()), &database, options);
    let answers = join_all((0..24).map(|index| {
        let limiter = limiter.clone();
        async move { limiter.acquire(request(&format!("e{index}"), 1, 1)).await }
    }));
    for answer in answers.await {
        assert!(answer.is_allowed(), "{answer:?}");
    }
}

/// The only instance, with one page of memory to spare, for whatever comes.
fn only_instance() -> ComponentOptions {
    let memory_limit_bytes = (1152 + 64) << 10;
    ComponentOptions {
        instances: 1,
        requests_per_instance: u32::MAX,
        memory_limit_bytes,
        ..ComponentOptions::default()
    }
}

#[tokio::test]
async fn an_instance_that_serves_again_has_forgotten_the_request_before() {
    let database = database().await;
    let reused = limiter(Engine::from(Component::embedded(only_instance()).unwrap()), &database, options());
    let native = limiter(Engine::native(), &database, options());
    for round in 0..400 {
        let answer = reused.acquire(request("a", 1_000_000, 1)).await;
        assert!(answer.is_allowed(), "{round}: {answer:?}");
        let refused = reused.acquire(request("a b", 5, 1)).await;
        assert!(matches!(refused.decision.outcome, Outcome::Failed(_)), "{round}: {refused:?}");
    }
    let [reused, native] = [&reused, &native].map(|limiter| limiter.acquire(request("never-seen", 5, 0)));
    assert_eq!(reused.await.decision, native.await.decision);
}

#[tokio::test]
async fn a_caller_that_goes_away_leaves_its_instance_to_the_next() {
    let database = database().await;
    let component = Component::embedded(only_instance()).unwrap();
    let limiter = limiter(Engine::from(component), &database, options());
    for _ in 0..3 {
        let mut given_up = Box::pin(limiter.acquire(request("a", 9, 1)));
        assert!(futures::poll!(&mut given_up).is_pending());
        drop(given_up);
    }
    assert!(limiter.acquire(request("a", 9, 1)).await.is_allowed());
}

#[tokio::test]
async fn both_engines_say_the_same() {
    let database = database().await;
    let native = limiter(Engine::native(), &database, options());
    let wasm = limiter(component(), &database, options());
    let mut bad = request("", 1, 1);
    bad.consume.push(Amount::new("other", 1));
    for request in [request("a", 5, 9), request("a b", 5, 1), bad, request("never-seen", 5, 0)] {
        let native = native.acquire(request.clone()).await;
        let wasm = wasm.acquire(request).await;
        assert_eq!(native.decision, wasm.decision);
        assert_eq!(native.cost, wasm.cost);
    }
}

#[tokio::test]
async fn a_file_keeps_the_table() {
    let file = std::env::temp_dir().join(format!("onewindow-test-{}.db", std::process::id()));
    for expected in [3, 2] {
        let database = Embedded::in_file(&file).await.unwrap();
        let client = Client::new(database.client_config()).unwrap();
        onewindow_host::table::create(&client, TABLE, false, Duration::from_secs(10)).await.unwrap();
        let limiter = Limiter::new(Engine::native(), client, options());
        let answer = limiter.acquire(request("a", 4, 1)).await;
        assert_eq!(answer.decision.limits[0].available, expected);
        drop(limiter);
        database.stop().await.unwrap();
    }
    std::fs::remove_file(file).unwrap();
}

#[tokio::test]
async fn a_table_with_other_keys_is_refused() {
    let database = Embedded::in_memory().await.unwrap();
    let client = Client::new(database.client_config()).unwrap();
    let definition = r#"{"TableName":"other","BillingMode":"PAY_PER_REQUEST",
        "AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],
        "KeySchema":[{"AttributeName":"id","KeyType":"HASH"}]}"#;
    operate(&client, "CreateTable", definition.into()).await;
    let error = onewindow_host::table::create(&client, "other", false, Duration::from_secs(10)).await;
    let error = error.unwrap_err().to_string();
    assert!(error.contains("id HASH") && error.contains("PK"), "{error}");
}
