//! Each fault, between the real client and the real engine: what the host makes of it, and what
//! the table says afterwards.

use std::time::Duration;

use onewindow_host::{
    AcquireRequest, Amount, Answer, Client, ClientConfig, Embedded, Engine, Limit, Limiter, LimiterOptions,
    OnUnavailable, Outcome, PreviewOutcome, Subject, table,
};
use onewindow_soak::{Fault, Plan, Proxy};

const TABLE: &str = "limits";

struct World {
    _database: Embedded,
    proxy: Proxy,
    limiter: Limiter,
}

impl World {
    async fn new(plan: Plan, options: LimiterOptions) -> Self {
        let database = Embedded::in_memory().await.unwrap();
        let direct = Client::new(database.client_config()).unwrap();
        table::create(&direct, TABLE, false, Duration::from_secs(30)).await.unwrap();
        let proxy = Proxy::start(&database.endpoint(), Plan::none()).await.unwrap();
        let config = ClientConfig { endpoint: proxy.endpoint(), ..database.client_config() };
        let limiter = Limiter::new(Engine::native(), Client::new(config).unwrap(), options);
        let world = Self { _database: database, proxy, limiter };
        assert!(world.acquire(1).await.is_allowed());
        world.limiter.flush().await;
        world.proxy.set_plan(plan);
        world
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

    /// What is left of 100, one of which was taken before anything broke.
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

/// A host rides over one fault: it is admitted, and so many updates were carried out.
async fn rides_over(fault: Fault, updates: usize) {
    let plan = Plan::drawn(0, Duration::from_millis(20), 1).then("UpdateItem", fault);
    let options = LimiterOptions { deadline: Duration::from_secs(10), ..LimiterOptions::default() };
    let world = World::new(plan, options).await;
    assert_eq!(world.writes().await, 1, "the first use");
    let answer = world.acquire(1).await;
    assert!(answer.is_allowed() && !answer.degraded, "{fault}: {answer:?}");
    assert_eq!(world.proxy.passed().faults[&fault], 1);
    assert_eq!(world.writes().await, updates, "{fault}");
    assert_eq!(world.left().await, 99 - i64::try_from(updates).unwrap(), "{fault}");
}

#[tokio::test]
async fn what_was_not_carried_out_is_sent_again_and_taken_once() {
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
        rides_over(fault, 1).await;
    }
}

#[tokio::test]
async fn what_was_carried_out_unheard_is_taken_twice_and_never_given() {
    for fault in [Fault::ReplyCut, Fault::ReplyTruncated, Fault::ServerErrorAfter, Fault::RequestDuplicated] {
        rides_over(fault, 2).await;
    }
}

#[tokio::test]
async fn f22_a_credit_whose_reply_is_lost_is_not_sent_again() {
    for fault in [Fault::ReplyCut, Fault::ReplyTruncated, Fault::ServerErrorAfter] {
        let world = World::new(Plan::none(), LimiterOptions::default()).await;
        let answer = world.acquire(10).await;
        let lease = answer.lease().unwrap().encode();
        world.proxy.set_plan(Plan::none().then("UpdateItem", fault));
        let settled = world.limiter.settle(TABLE, &lease, vec![Amount::new("session", 4)]).await;
        assert!(matches!(settled.settlement, onewindow::Settlement::Unavailable(_)), "{settled:?}");
        assert_eq!(world.left().await, 100 - 1 - 4, "{fault}: credited once");
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
        let world = World::new(plan, options).await;
        let answer = world.acquire(1).await;
        assert!(matches!(answer.decision.outcome, Outcome::Unavailable(_)), "{answer:?}");
        assert_eq!((answer.is_allowed(), answer.degraded), (allowed, allowed));
        assert_eq!(world.left().await, 99, "nothing is counted that was not taken");
    }
}

#[tokio::test]
async fn a_transaction_that_conflicts_is_sent_again() {
    let world = World::new(Plan::none(), LimiterOptions::default()).await;
    world.proxy.set_plan(Plan::none().then("TransactWriteItems", Fault::Conflicted));
    let other = Subject { entity: "user-2".into(), ..World::subject() };
    let request = AcquireRequest {
        subject: other,
        consume: vec![Amount::new("session", 1)],
        limits: World::limits(),
        ..AcquireRequest::default()
    };
    let answer = world.limiter.acquire(request).await;
    assert!(answer.is_allowed(), "{answer:?}");
    assert_eq!(world.proxy.passed().faults[&Fault::Conflicted], 1);
}
