//! A limiter for edge guests: it runs wherever requests can be sent and time can be waited.
//!
//! What is done after the answer is kept until [`Limiter::follow_up`] is called: only the guest
//! knows when its answer has gone out.

use std::{
    mem,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use http::{HeaderValue, Request};
use onewindow::{
    Acquire, AcquireRequest, Amount, Call, Decision, Error, ErrorCode, Hint, Lease, Limit, Outcome, Preview,
    PreviewOutcome, Reply, Settle, Settlement, Step, Subject,
    wire::{Classification, classify},
};

use crate::{
    Hints, Signer, Waits,
    resend::{Attempts, Verdict},
    sign,
    telemetry::{AnswerRecord, Cost},
};

/// Steps any machine takes at most; the core itself ends well below.
const MAX_STEPS: usize = 64;

/// A sequence from a request to a decision `D`: the loop of the crate [`onewindow`].
pub trait Machine<D> {
    /// Takes the replies to the calls of the step before, in their order, and says what is next.
    fn advance(&mut self, now_ms: u64, replies: &[Reply]) -> Step<D>;
}

/// Who decides.
pub trait Core {
    /// A machine that takes tokens.
    fn acquire(&self, request: AcquireRequest) -> impl Machine<Decision>;
    /// A machine that corrects a lease.
    fn settle(&self, table: &str, lease: &str, actual: Vec<Amount>) -> impl Machine<Settlement>;
    /// A machine that looks; it ends with what may be remembered, too.
    fn preview(
        &self,
        subject: Subject,
        limits: Vec<Limit>,
        hint: Option<Hint>,
    ) -> impl Machine<(PreviewOutcome, Hint)>;
    /// The rejection that a remembered hint allows.
    fn reject(&self, request: &AcquireRequest, hint: &Hint, now_ms: u64) -> Option<Decision>;
    /// What to do about a reply.
    fn classify(&self, reply: &Reply) -> Classification;
}

/// How requests get out, and what is told of the answers. Its futures may do all of their waiting
/// in one poll.
pub trait Host {
    /// Sends requests at the same time, and gives the replies in their order, each within
    /// `timeout`.
    fn exchange(
        &self,
        requests: Vec<Request<String>>,
        timeout: Duration,
    ) -> impl Future<Output = Vec<Received>>;
    /// Waits.
    fn pause(&self, wait: Duration) -> impl Future<Output = ()>;
    /// Hears of every answer, before it goes out.
    fn record(&self, answer: &AnswerRecord);
}

/// What came back.
#[derive(Clone, Debug)]
pub struct Received {
    /// The reply.
    pub reply: Reply,
    /// Its `Date`.
    pub date: Option<HeaderValue>,
}

impl Received {
    /// No response.
    #[must_use]
    pub fn failed(reason: impl Into<String>) -> Self {
        Self { reply: Reply::Failed(reason.into()), date: None }
    }
}

/// How a [`Limiter`] behaves.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long a caller waits for an answer at most, resends and all; one attempt takes half of it
    /// at most.
    pub deadline: Duration,
    /// How long the follow-ups may take, resends and all. Nobody waits for them.
    pub follow_up_deadline: Duration,
    /// Whether a request is let through, counted nowhere, where the table did not answer in time.
    /// Never asked where the table refuses us.
    pub allow_unavailable: bool,
    /// Subjects remembered at most, as long as the guest's instance lives.
    pub remembered_subjects: usize,
    /// How long a rejection that the table gave is repeated without asking the table, at most.
    pub repeat_rejections_for: Duration,
    /// The waits before a resend.
    pub waits: Waits,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(1),
            follow_up_deadline: Duration::from_secs(10),
            allow_unavailable: false,
            remembered_subjects: 10_000,
            repeat_rejections_for: Duration::from_secs(10),
            waits: Waits::default(),
        }
    }
}

/// Enforces limits on a table.
#[derive(Debug)]
pub struct Limiter<C, H> {
    core: C,
    host: H,
    signer: Signer,
    options: Options,
    hints: Hints,
    follow_ups: Mutex<Vec<Call>>,
}

impl<C: Core, H: Host> Limiter<C, H> {
    /// A limiter. Nothing is sent.
    pub fn new(core: C, host: H, signer: Signer, options: Options) -> Self {
        let hints = Hints::new(options.remembered_subjects);
        Self { core, host, signer, options, hints, follow_ups: Mutex::default() }
    }

    /// Makes the calls that were left for after the answer.
    pub async fn follow_up(&self) {
        let calls = mem::take(&mut *self.follow_ups.lock().unwrap_or_else(PoisonError::into_inner));
        if !calls.is_empty() {
            // Their replies are of no interest: the next use of a shard finds out by itself.
            let deadline = Instant::now() + self.options.follow_up_deadline;
            self.perform(&calls, deadline, &mut Cost::default()).await;
        }
    }

    async fn decide(&self, mut request: AcquireRequest, cost: &mut Cost) -> Decision {
        let Self { core, hints, options, .. } = self;
        let key = request.subject.hint_key();
        if let Some(hint) = hints.rejecting(&key, now_ms(), options.repeat_rejections_for)
            && let Some(decision) = core.reject(&request, &hint, now_ms())
        {
            return decision;
        }
        request.hint = hints.get(&key);
        request.seed = fastrand::u64(1..);
        let decision = self.drive(core.acquire(request), cost).await.unwrap_or_else(|error| Decision {
            outcome: Outcome::Failed(error),
            limits: Vec::new(),
            follow_ups: Vec::new(),
            hint: Hint::default(),
        });
        if decision.hint.key == key {
            hints.put(decision.hint.clone(), now_ms());
        }
        decision
    }

    /// The loop: a step, its calls, their replies, a step, until the end.
    async fn drive<D>(&self, mut machine: impl Machine<D>, cost: &mut Cost) -> Result<D, Error> {
        let deadline = Instant::now() + self.options.deadline;
        let mut replies = Vec::new();
        for _ in 0..MAX_STEPS {
            match machine.advance(now_ms(), &replies) {
                Step::Perform(calls) => replies = self.perform(&calls, deadline, cost).await,
                Step::Done(decision) => return Ok(decision),
            }
        }
        Err(Error {
            code: ErrorCode::Misuse,
            message: format!(
                "the core has not decided after {MAX_STEPS} round trips; tokens may have been taken"
            ),
        })
    }

    /// Makes calls at the same time, each until it has a reply worth reading or the deadline
    /// comes. Those that are sent again are sent together.
    async fn perform(&self, calls: &[Call], deadline: Instant, cost: &mut Cost) -> Vec<Reply> {
        cost.round_trips += 1;
        let mut attempts: Vec<_> = calls.iter().map(|_| Attempts::new(self.options.waits)).collect();
        let mut replies = vec![Reply::Failed("the time ran out".into()); calls.len()];
        let mut open: Vec<usize> = (0..calls.len()).collect();
        let mut again = false;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return replies;
            }
            let mut sent = Vec::new();
            let mut requests = Vec::new();
            for index in open {
                match self.signer.request(&calls[index], SystemTime::now()) {
                    Ok(request) => {
                        sent.push(index);
                        requests.push(request);
                    }
                    Err(reason) => replies[index] = Reply::Failed(reason),
                }
            }
            let count = u32::try_from(requests.len()).unwrap_or(u32::MAX);
            cost.requests += count;
            cost.resends += if again { count } else { 0 };
            again = true;
            let received = self.host.exchange(requests, left.min(self.options.deadline / 2)).await;
            let left = deadline.saturating_duration_since(Instant::now());
            let mut longest = Duration::ZERO;
            open = Vec::new();
            for (index, Received { reply, date }) in sent.into_iter().zip(received) {
                let offset_ms = date.and_then(|date| sign::offset_ms(&date, SystemTime::now()));
                let classified = self.core.classify(&reply);
                replies[index] = reply;
                match attempts[index].judge(&classified, calls[index].resend, offset_ms, left) {
                    Verdict::Keep => continue,
                    Verdict::After(wait) => longest = longest.max(wait),
                    Verdict::ByTheTablesClock(offset_ms) => self.signer.adopt_offset(offset_ms),
                }
                open.push(index);
            }
            if open.is_empty() {
                return replies;
            }
            self.host.pause(longest).await;
        }
    }
}

impl<C: Core, H: Host> Limiter<C, H> {
    /// Takes tokens; whether a request that the table did not answer is let through.
    pub async fn acquire(&self, request: AcquireRequest) -> (Decision, bool) {
        let (began, mut cost) = (Instant::now(), Cost::default());
        let mut decision = self.decide(request, &mut cost).await;
        let calls = mem::take(&mut decision.follow_ups);
        self.follow_ups.lock().unwrap_or_else(PoisonError::into_inner).extend(calls);
        let degraded = self.options.allow_unavailable && matches!(decision.outcome, Outcome::Unavailable(_));
        self.host.record(&AnswerRecord::of_decision(&decision, degraded, cost, began.elapsed()));
        (decision, degraded)
    }

    /// Corrects a lease to what was really used.
    pub async fn settle(&self, table: &str, lease: &str, actual: Vec<Amount>) -> Settlement {
        let (began, mut cost) = (Instant::now(), Cost::default());
        let driven = self.drive(self.core.settle(table, lease, actual), &mut cost).await;
        if let Ok(lease) = Lease::decode(lease) {
            // What was rejected before may fit now.
            self.hints.forget_rejections(&lease.subject(table).hint_key());
        }
        let settlement = driven.unwrap_or_else(Settlement::Failed);
        self.host.record(&AnswerRecord::of_settlement(&settlement, cost, began.elapsed()));
        settlement
    }

    /// Reads what is left, without taking.
    pub async fn preview(&self, subject: Subject, limits: Vec<Limit>) -> PreviewOutcome {
        let (began, mut cost) = (Instant::now(), Cost::default());
        let key = subject.hint_key();
        let machine = self.core.preview(subject, limits, self.hints.get(&key));
        let outcome = match self.drive(machine, &mut cost).await {
            Ok((outcome, hint)) => {
                if hint.key == key {
                    self.hints.learn_shard_count(hint, now_ms());
                }
                outcome
            }
            Err(error) => PreviewOutcome::Failed(error),
        };
        self.host.record(&AnswerRecord::of_preview(&outcome, cost, began.elapsed()));
        outcome
    }

    /// The clock that windows are read against, epoch ms.
    pub fn now_ms(&self) -> u64 {
        now_ms()
    }
}

/// The clock that windows are read against.
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The core as a Rust library.
#[derive(Clone, Copy, Debug, Default)]
pub struct Native;

impl Core for Native {
    fn acquire(&self, request: AcquireRequest) -> impl Machine<Decision> {
        Acquire::new(request)
    }

    fn settle(&self, table: &str, lease: &str, actual: Vec<Amount>) -> impl Machine<Settlement> {
        Settle::new(table, lease, actual)
    }

    fn preview(
        &self,
        subject: Subject,
        limits: Vec<Limit>,
        hint: Option<Hint>,
    ) -> impl Machine<(PreviewOutcome, Hint)> {
        Preview::new(subject, limits, hint.as_ref())
    }

    fn reject(&self, request: &AcquireRequest, hint: &Hint, now_ms: u64) -> Option<Decision> {
        hint.reject(request, now_ms)
    }

    fn classify(&self, reply: &Reply) -> Classification {
        classify(reply)
    }
}

impl Machine<Decision> for Acquire {
    fn advance(&mut self, now_ms: u64, replies: &[Reply]) -> Step<Decision> {
        Self::advance(self, now_ms, replies)
    }
}

impl Machine<Settlement> for Settle {
    fn advance(&mut self, now_ms: u64, replies: &[Reply]) -> Step<Settlement> {
        Self::advance(self, now_ms, replies)
    }
}

impl Machine<(PreviewOutcome, Hint)> for Preview {
    fn advance(&mut self, now_ms: u64, replies: &[Reply]) -> Step<(PreviewOutcome, Hint)> {
        match Self::advance(self, now_ms, replies) {
            Step::Perform(calls) => Step::Perform(calls),
            Step::Done(outcome) => Step::Done((outcome, self.hint())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use futures::FutureExt;

    use super::*;
    use crate::Credentials;

    /// Answers with these, one after another, and then not at all; keeps what was sent.
    #[derive(Default)]
    struct Script {
        answers: Mutex<VecDeque<Received>>,
        sent: Mutex<Vec<Request<String>>>,
        records: Mutex<Vec<AnswerRecord>>,
    }

    impl Host for Script {
        async fn exchange(&self, requests: Vec<Request<String>>, _: Duration) -> Vec<Received> {
            let mut answers = self.answers.lock().unwrap();
            let next = |_: &_| answers.pop_front().unwrap_or_else(|| Received::failed("nobody is there"));
            let received = requests.iter().map(next).collect();
            self.sent.lock().unwrap().extend(requests);
            received
        }

        async fn pause(&self, _: Duration) {}

        fn record(&self, answer: &AnswerRecord) {
            self.records.lock().unwrap().push(answer.clone());
        }
    }

    fn refusal(kind: &str, message: &str, date: &'static str) -> Received {
        let body = format!(r#"{{"__type":"com.amazonaws.dynamodb.v20120810#{kind}","message":"{message}"}}"#);
        Received { reply: Reply::Http { status: 400, body }, date: Some(HeaderValue::from_static(date)) }
    }

    fn limiter(answers: Vec<Received>, options: Options) -> Limiter<Native, Script> {
        let signer = Signer::new("http://127.0.0.1:8000", "r", Credentials::unchecked()).unwrap();
        let host = Script { answers: Mutex::new(answers.into()), ..Script::default() };
        Limiter::new(Native, host, signer, options)
    }

    fn acquire(limiter: &Limiter<Native, Script>) -> (Decision, bool) {
        let request = AcquireRequest {
            subject: Subject::new("t", "ns", "e", "r"),
            consume: vec![Amount::new("session", 1)],
            limits: vec![Limit::session("session", 3, 60)],
            ..AcquireRequest::default()
        };
        limiter.acquire(request).now_or_never().unwrap()
    }

    #[test]
    fn a_signature_of_the_wrong_time_is_made_anew_by_the_tables_clock_once() {
        let expired = || {
            refusal("InvalidSignatureException", "Signature expired: now", "Sun, 30 Aug 2015 12:36:00 GMT")
        };
        let limiter = limiter(vec![expired(), expired()], Options::default());
        let (decision, degraded) = acquire(&limiter);
        assert!(matches!(decision.outcome, Outcome::Unavailable(_)) && !degraded, "{:?}", decision.outcome);
        let sent = limiter.host.sent.lock().unwrap();
        let dates: Vec<_> = sent.iter().map(|sent| sent.headers()["x-amz-date"].to_str().unwrap()).collect();
        assert_eq!(dates.len(), 2);
        assert!(!dates[0].starts_with("20150830T1236") && dates[1].starts_with("20150830T1236"), "{dates:?}");
    }

    #[test]
    fn what_is_not_answered_is_sent_again_until_the_deadline() {
        let options = Options { deadline: Duration::from_millis(100), ..Options::default() };
        for allow_unavailable in [false, true] {
            let limiter = limiter(Vec::new(), Options { allow_unavailable, ..options.clone() });
            let (decision, degraded) = acquire(&limiter);
            assert!(matches!(decision.outcome, Outcome::Unavailable(_)), "{:?}", decision.outcome);
            assert_eq!(degraded, allow_unavailable);
            assert!(limiter.host.sent.lock().unwrap().len() > 1);
        }
    }

    #[test]
    fn a_wrong_set_up_is_never_let_through() {
        let denied = refusal("AccessDeniedException", "no", "Sun, 30 Aug 2015 12:36:00 GMT");
        let limiter = limiter(vec![denied], Options { allow_unavailable: true, ..Options::default() });
        let (decision, degraded) = acquire(&limiter);
        assert!(matches!(decision.outcome, Outcome::Misconfigured(_)) && !degraded);
        assert_eq!(limiter.host.sent.lock().unwrap().len(), 1);
    }

    #[test]
    fn every_answer_is_told_with_what_it_took_and_without_who_asked() {
        let throttled = refusal("ThrottlingException", "slow down", "Sun, 30 Aug 2015 12:36:00 GMT");
        let denied = refusal("AccessDeniedException", "no", "Sun, 30 Aug 2015 12:36:00 GMT");
        let limiter = limiter(vec![throttled, denied], Options::default());
        acquire(&limiter);
        let of = Subject::new("t", "ns", "hush", "r");
        limiter.preview(of, vec![Limit::session("session", 0, 60)]).now_or_never().unwrap();
        limiter.settle("t", "no lease", Vec::new()).now_or_never().unwrap();
        let records = limiter.host.records.lock().unwrap();
        let said: Vec<_> =
            records.iter().map(|record| (record.operation, record.outcome, record.cost)).collect();
        let resent = Cost { round_trips: 1, requests: 2, resends: 1 };
        assert_eq!(
            said,
            [
                ("acquire", "misconfigured", resent),
                ("preview", "failed", Cost::default()),
                ("settle", "failed", Cost::default())
            ]
        );
        assert!(
            records.iter().all(|record| record.latency_ms >= 0.0 && !record.to_string().contains("hush"))
        );
    }

    #[test]
    fn an_answer_is_one_line_in_the_words_of_the_span() {
        let limits = vec![onewindow::LimitStatus {
            name: "session".into(),
            capacity: 3,
            available: 0,
            resets_at_ms: Some(1_800_000_000_000),
        }];
        let outcome = Outcome::Rejected { retry_after_ms: 250 };
        let decision = Decision { outcome, limits, follow_ups: Vec::new(), hint: Hint::default() };
        let cost = Cost { round_trips: 1, requests: 1, resends: 0 };
        assert_eq!(
            AnswerRecord::of_decision(&decision, false, cost, Duration::from_micros(1500)).to_string(),
            r#"{"operation":"acquire","outcome":"rejected","degraded":false,"latency_ms":1.5,"round_trips":1,"requests":1,"resends":0,"resets_at_ms":1800000000000,"retry_after_ms":250}"#
        );
    }
}
