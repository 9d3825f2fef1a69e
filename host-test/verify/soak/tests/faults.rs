//! Each fault, between the real client and the real engine: what the host answers, and what the table
//! holds afterwards.

use std::time::Duration;

use onewindow_host::{
    AcquireRequest, Amount, Answer, Client, ClientConfig, Embedded, Engine, Limit, Limiter, LimiterOptions,
    OnUnavailable, Outcome, PreviewOutcome, Subject, table,
};
use onewindow_soak::{Fault, Plan, Proxy};

const TABLE: &str = "limits";

struct Setup {
    _database: Embedded,
    proxy: Proxy,
    limiter: Limiter,
}

impl Setup {
    async fn new(plan: Plan, options: LimiterOptions) -> Self {
        let database = Embedded::in_memory().await.unwrap();
        let direct = Client::new(database.client_config()).unwrap();
        table::create(&direct, TABLE, false, Duration::from_secs(30)).await.unwrap();
        let proxy = Proxy::start(&database.endpoint(), Plan::none()).await.unwrap();
        let config = ClientConfig { endpoint: proxy.endpoint(), ..database.client_config() };
        let limiter = Limiter::new(Engine::native(), Client::new(config).unwrap(), options);
        let setup = Self { _database: database, proxy, limiter };
        assert!(setup.acquire(1).await.is_allowed());
        setup.limiter.flush().await;
        setup.proxy.set_plan(plan);
        setup
    }

    fn limits() -> Vec<Limit> {
        vec![Limit::session("session", 100, 3600)]
    }

    fn subject() -> Subject {
        Subject::new(TABLE, "default", "user-1", "gpt-4")
    }

    async fn acquire(&self, tokens: u64) -> Answer {
        let request = AcquireRequest {
            subject: Self::subject(),
            consume: vec![Amount::new("session", tokens)],
            limits: Self::limits(),
            ..AcquireRequest::default()
        };
        self.limiter.acquire(request).await
    }

    /// What is left of 100 tokens. One was debited before the first fault.
    async fn left(&self) -> i64 {
        self.proxy.set_plan(Plan::none());
        match self.limiter.preview(Self::subject(), Self::limits()).await.outcome {
            PreviewOutcome::Report(report) => report.limits[0].status.available,
            other => panic!("{other:?}"),
        }
    }

    async fn writes(&self) -> usize {
        self.proxy.take_history().await.len()
    }
}

/// A host is admitted in spite of one fault, and this many updates were carried out.
async fn admitted_despite(fault: Fault, updates: usize) {
    let plan = Plan::drawn(0, Duration::from_millis(20), 1).then("UpdateItem", fault);
    let options = LimiterOptions { deadline: Duration::from_secs(10), ..LimiterOptions::default() };
    let setup = Setup::new(plan, options).await;
    assert_eq!(setup.writes().await, 1, "the first use");
    let answer = setup.acquire(1).await;
    assert!(answer.is_allowed() && !answer.degraded, "{fault}: {answer:?}");
    assert_eq!(setup.proxy.traffic().faults[&fault], 1);
    assert_eq!(setup.writes().await, updates, "{fault}");
    assert_eq!(setup.left().await, 99 - i64::try_from(updates).unwrap(), "{fault}");
}

#[tokio::test]
async fn what_was_not_carried_out_is_sent_again_and_debited_once() {
    for fault in [
        Fault::RequestCut,
        Fault::ServerError,
        Fault::Throttled,
        Fault::Conflicted,
        Fault::SignatureExpired,
        Fault::RequestDelayed,
        Fault::ReplyDelayed,
        Fault::ReplyOvertaken,
    ] {
        admitted_despite(fault, 1).await;
    }
}

#[tokio::test]
async fn a_debit_whose_reply_is_lost_may_be_made_twice_and_never_credited() {
    for fault in [Fault::ReplyCut, Fault::ReplyTruncated, Fault::ServerErrorAfter, Fault::RequestDuplicated] {
        admitted_despite(fault, 2).await;
    }
}

#[tokio::test]
async fn f22_a_credit_whose_reply_is_lost_is_not_sent_again() {
    for fault in [Fault::ReplyCut, Fault::ReplyTruncated, Fault::ServerErrorAfter] {
        let setup = Setup::new(Plan::none(), LimiterOptions::default()).await;
        let answer = setup.acquire(10).await;
        let lease = answer.lease().unwrap().encode();
        setup.proxy.set_plan(Plan::none().then("UpdateItem", fault));
        let settled = setup.limiter.settle(TABLE, &lease, vec![Amount::new("session", 4)]).await;
        assert!(matches!(settled.settlement, onewindow::Settlement::Unavailable(_)), "{settled:?}");
        assert_eq!(setup.left().await, 100 - 1 - 4, "{fault}: credited once");
    }
}

#[tokio::test]
async fn a_table_that_stays_away_is_the_callers_policy() {
    for (policy, allowed) in [(OnUnavailable::Block, false), (OnUnavailable::Allow, true)] {
        let plan = (0..1000).fold(Plan::none(), |plan, _| plan.then("UpdateItem", Fault::Throttled));
        let options = LimiterOptions {
            deadline: Duration::from_millis(200),
            on_unavailable: policy,
            ..LimiterOptions::default()
        };
        let setup = Setup::new(plan, options).await;
        let answer = setup.acquire(1).await;
        assert!(matches!(answer.decision.outcome, Outcome::Unavailable(_)), "{answer:?}");
        assert_eq!((answer.is_allowed(), answer.degraded), (allowed, allowed));
        assert_eq!(setup.left().await, 99, "what was not debited is not counted");
    }
}

#[tokio::test]
async fn a_transaction_that_conflicts_is_sent_again() {
    let setup = Setup::new(Plan::none(), LimiterOptions::default()).await;
    setup.proxy.set_plan(Plan::none().then("TransactWriteItems", Fault::Conflicted));
    let other = Subject { entity: "user-2".into(), ..Setup::subject() };
    let request = AcquireRequest {
        subject: other,
        consume: vec![Amount::new("session", 1)],
        limits: Setup::limits(),
        ..AcquireRequest::default()
    };
    let answer = setup.limiter.acquire(request).await;
    assert!(answer.is_allowed(), "{answer:?}");
    assert_eq!(setup.proxy.traffic().faults[&Fault::Conflicted], 1);
}
