//! The limiter over a scripted transport, as an edge guest uses it.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::FutureExt;
use http::{HeaderValue, Request};
use onewindow::{AcquireRequest, Amount, Limit, Outcome, Reply, Subject};

use super::*;
use crate::dynamo::{ClientConfig, Cost, Credentials, Received};

/// Answers with these replies, one after another, and then with none. Keeps what was sent.
#[derive(Debug, Default)]
struct Script {
    answers: Mutex<VecDeque<Received>>,
    sent: Mutex<Vec<Request<String>>>,
    /// The time each request was given.
    left: Mutex<Vec<Duration>>,
    /// How long a reply is on its way, at least.
    spent: Duration,
}

impl Transport for Script {
    async fn send(&self, request: Request<String>, timeout: Duration) -> Received {
        self.sent.lock().unwrap().push(request);
        self.left.lock().unwrap().push(timeout);
        std::thread::sleep(self.spent);
        let answer = self.answers.lock().unwrap().pop_front();
        answer.unwrap_or_else(|| Received::failed("nobody is there"))
    }

    async fn pause(&self, _: Duration) {}
}

fn refusal(kind: &str, message: &str, date: &'static str) -> Received {
    let body = format!(r#"{{"__type":"com.amazonaws.dynamodb.v20120810#{kind}","message":"{message}"}}"#);
    Received { reply: Reply::Http { status: 400, body }, date: Some(HeaderValue::from_static(date)) }
}

fn limiter(answers: Vec<Received>, options: LimiterOptions) -> Limiter<Script> {
    let script = Script { answers: Mutex::new(answers.into()), ..Script::default() };
    over(script, options, AfterAnswer::Keep)
}

fn over(script: Script, options: LimiterOptions, after: AfterAnswer<Script>) -> Limiter<Script> {
    let config = ClientConfig {
        attempt_timeout: Duration::MAX,
        ..ClientConfig::new("http://127.0.0.1:8000", "r", Credentials::unchecked())
    };
    Limiter::over(Engine::native(), Client::over(script, config).unwrap(), options, after)
}

fn acquire(limiter: &Limiter<Script>) -> Answer {
    let request = AcquireRequest {
        subject: Subject::new("t", "ns", "e", "r"),
        consume: vec![Amount::new("session", 1)],
        limits: vec![Limit::session("session", 3, 60)],
        ..AcquireRequest::default()
    };
    limiter.acquire(request).now_or_never().unwrap()
}

fn sent(limiter: &Limiter<Script>) -> usize {
    limiter.client().transport().sent.lock().unwrap().len()
}

#[test]
fn a_signature_of_the_wrong_time_is_made_again_by_the_tables_clock_once() {
    let expired =
        || refusal("InvalidSignatureException", "Signature expired: now", "Sun, 30 Aug 2015 12:36:00 GMT");
    let limiter = limiter(vec![expired(), expired()], LimiterOptions::default());
    let answer = acquire(&limiter);
    assert!(matches!(answer.decision.outcome, Outcome::Unavailable(_)) && !answer.degraded, "{answer:?}");
    let sent = limiter.client().transport().sent.lock().unwrap();
    let dates: Vec<_> = sent.iter().map(|sent| sent.headers()["x-amz-date"].to_str().unwrap()).collect();
    assert_eq!(dates.len(), 2);
    assert!(!dates[0].starts_with("20150830T1236") && dates[1].starts_with("20150830T1236"), "{dates:?}");
}

#[test]
fn what_is_not_answered_is_sent_again_until_the_deadline() {
    for on_unavailable in [OnUnavailable::Block, OnUnavailable::Allow] {
        let deadline = Duration::from_millis(100);
        let options = LimiterOptions { deadline, on_unavailable, ..LimiterOptions::default() };
        let limiter = limiter(Vec::new(), options);
        let answer = acquire(&limiter);
        assert!(matches!(answer.decision.outcome, Outcome::Unavailable(_)), "{answer:?}");
        assert_eq!(answer.degraded, on_unavailable == OnUnavailable::Allow);
        assert!(sent(&limiter) > 1);
    }
}

#[test]
fn a_wrong_set_up_is_never_let_through() {
    let denied = refusal("AccessDeniedException", "no", "Sun, 30 Aug 2015 12:36:00 GMT");
    let options = LimiterOptions { on_unavailable: OnUnavailable::Allow, ..LimiterOptions::default() };
    let limiter = limiter(vec![denied], options);
    let answer = acquire(&limiter);
    assert!(matches!(answer.decision.outcome, Outcome::Misconfigured(_)) && !answer.degraded, "{answer:?}");
    assert_eq!(sent(&limiter), 1);
}

#[test]
fn every_answer_is_recorded_with_what_it_took_and_without_who_asked() {
    let throttled = refusal("ThrottlingException", "slow down", "Sun, 30 Aug 2015 12:36:00 GMT");
    let denied = refusal("AccessDeniedException", "no", "Sun, 30 Aug 2015 12:36:00 GMT");
    let records = Arc::new(Mutex::new(Vec::<AnswerRecord>::new()));
    let kept = Arc::clone(&records);
    let recorder = Some(Recorder::new(move |record| kept.lock().unwrap().push(record.clone())));
    let limiter = limiter(vec![throttled, denied], LimiterOptions { recorder, ..LimiterOptions::default() });
    let _ = acquire(&limiter);
    let of = Subject::new("t", "ns", "hush", "r");
    let _ = limiter.preview(of, vec![Limit::session("session", 0, 60)]).now_or_never().unwrap();
    let _ = limiter.settle("t", "no lease", Vec::new()).now_or_never().unwrap();
    let records = records.lock().unwrap();
    let said: Vec<_> =
        records.iter().map(|record| (record.operation, record.outcome, record.cost.clone())).collect();
    let resent = Cost { round_trips: 1, requests: 2, resends: 1, operations: vec!["UpdateItem"] };
    assert_eq!(
        said,
        [
            ("acquire", "misconfigured", resent),
            ("preview", "failed", Cost::default()),
            ("settle", "failed", Cost::default())
        ]
    );
    assert!(records.iter().all(|record| record.latency_ms >= 0.0 && !record.to_string().contains("hush")));
}

/// Calls that follow an answer, as the limiter keeps them.
#[test]
fn what_follows_an_answer_is_kept_until_the_flush() {
    let answered = Received { reply: Reply::Http { status: 200, body: "{}".into() }, date: None };
    let denied = refusal("AccessDeniedException", "no", "Sun, 30 Aug 2015 12:36:00 GMT");
    let limiter = limiter(vec![answered, denied], LimiterOptions::default());
    let call = Call { operation: "UpdateItem", body: "{}".into(), resend: onewindow::Resend::Idempotent };
    assert_eq!(limiter.begin(vec![call.clone(), call]), 2);
    assert_eq!(sent(&limiter), 0);
    limiter.flush().now_or_never().expect("nothing is under way");
    assert_eq!(sent(&limiter), 2);
    assert_eq!(limiter.follow_up_stats(), FollowUpStats { calls: 2, failed: 1 });
    limiter.flush().now_or_never().expect("nothing is kept");
    assert_eq!(sent(&limiter), 2);
}

/// Calls that follow an answer, handed to a function that captured where to put them.
#[test]
fn a_function_that_spawns_may_capture_and_a_flush_waits_for_its_tasks_once() {
    let spawned = Arc::new(Mutex::new(Vec::<FollowUp<Script>>::new()));
    let kept = Arc::clone(&spawned);
    let after = AfterAnswer::spawn(move |follow_up| kept.lock().unwrap().push(follow_up));
    let limiter = over(Script::default(), LimiterOptions::default(), after);
    let call = Call { operation: "UpdateItem", body: "{}".into(), resend: onewindow::Resend::Idempotent };
    limiter.begin(vec![call]);
    let mut flush = Box::pin(limiter.flush());
    for _ in 0..3 {
        assert_eq!((&mut flush).now_or_never(), None);
        assert_eq!(limiter.flush().now_or_never(), None, "and this flush is dropped");
        assert!(limiter.inner.follow_ups.waiting() <= 2);
    }
    let woken = Arc::new(Woken::default());
    let waker = std::task::Waker::from(Arc::clone(&woken));
    let mut context = std::task::Context::from_waker(&waker);
    assert!(flush.poll_unpin(&mut context).is_pending());
    spawned.lock().unwrap().clear();
    assert_eq!(woken.0.load(Ordering::SeqCst), 1);
    assert!(flush.poll_unpin(&mut context).is_ready());
}

/// Counts how often a task is woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl std::task::Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn unconfigured() -> Received {
    let body = r#"{"Responses":{},"UnprocessedKeys":{}}"#.into();
    Received { reply: Reply::Http { status: 200, body }, date: None }
}

/// The limits are left to the table, which configures none.
fn without_limits() -> AcquireRequest {
    AcquireRequest {
        subject: Subject::new("t", "ns", "e", "r"),
        consume: vec![Amount::new("session", 1)],
        ..AcquireRequest::default()
    }
}

/// A transport that is slow for a known time. The time a call gets is what its predecessors left.
#[test]
fn the_configuration_and_the_machine_share_one_deadline() {
    let spent = Duration::from_millis(20);
    let requests: [fn(&Limiter<Script>); 3] = [
        |limiter| drop(limiter.acquire(without_limits()).now_or_never().unwrap()),
        |limiter| drop(limiter.acquire_cascading(without_limits()).now_or_never().unwrap()),
        |limiter| {
            drop(limiter.preview(without_limits().subject, Vec::new()).now_or_never().unwrap());
        },
    ];
    for request in requests {
        let denied = refusal("AccessDeniedException", "no", "Sun, 30 Aug 2015 12:36:00 GMT");
        let script =
            Script { answers: Mutex::new([unconfigured(), denied].into()), spent, ..Script::default() };
        let options = LimiterOptions {
            deadline: Duration::from_secs(3600),
            keep_configuration_for: Some(Duration::ZERO),
            ..LimiterOptions::default()
        };
        let limiter = over(script, options, AfterAnswer::Keep);
        request(&limiter);
        let left = limiter.client().transport().left.lock().unwrap();
        assert!(matches!(left[..], [configuration, machine] if machine + spent <= configuration), "{left:?}");
    }
}

#[test]
fn configuration_is_kept_where_no_hint_is() {
    let denied = || refusal("AccessDeniedException", "no", "Sun, 30 Aug 2015 12:36:00 GMT");
    let options = LimiterOptions {
        remembered_subjects: 0,
        keep_configuration_for: Some(Duration::from_secs(3600)),
        ..LimiterOptions::default()
    };
    let limiter = limiter(vec![unconfigured(), denied(), denied()], options);
    for sent_so_far in [2, 3] {
        let answer = limiter.acquire(without_limits()).now_or_never().unwrap();
        assert!(matches!(answer.decision.outcome, Outcome::Misconfigured(_)), "{answer:?}");
        assert_eq!(sent(&limiter), sent_so_far);
    }
}

#[test]
fn a_recorder_that_panics_harms_no_answer() {
    let denied = refusal("AccessDeniedException", "no", "Sun, 30 Aug 2015 12:36:00 GMT");
    let recorder = Some(Recorder::new(|_| panic!("the recorder's own fault")));
    let limiter = limiter(vec![denied], LimiterOptions { recorder, ..LimiterOptions::default() });
    let answer = acquire(&limiter);
    assert!(matches!(answer.decision.outcome, Outcome::Misconfigured(_)), "{answer:?}");
}
