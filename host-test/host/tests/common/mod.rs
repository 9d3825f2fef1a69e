//! A table in this process, and what tests do to the requests on their way to it.
#![allow(dead_code, reason = "not every test file uses everything")]

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::future::BoxFuture;
use onewindow::{Call, Reply, Resend};
use onewindow_host::{
    Client, Clock, Cost, Embedded, Engine, Limiter, LimiterOptions,
    dynamo::{Before, Interpose},
    engine::{Component, ComponentOptions},
    table,
};

/// 2027-01-15T08:00:00Z.
pub(crate) const START_MS: u64 = 1_800_000_000_000;
pub(crate) const TABLE: &str = "limits";

/// Both engines; the component's compiled code is shared by every test of a file.
pub(crate) fn engines() -> [Engine; 2] {
    [Engine::native(), component()]
}

pub(crate) fn component() -> Engine {
    static COMPONENT: std::sync::OnceLock<Component> = std::sync::OnceLock::new();
    let component = COMPONENT.get_or_init(|| {
        Component::embedded(ComponentOptions { instances: 64, ..ComponentOptions::default() })
            .expect("the component runs here")
    });
    Engine::from(component.clone())
}

/// An engine in memory that holds the table.
pub(crate) async fn database() -> Embedded {
    let database = Embedded::in_memory().await.expect("a port is free");
    let client = Client::new(database.client_config()).expect("a client");
    table::create(&client, TABLE, false, Duration::from_secs(10)).await.expect("a table");
    database
}

/// A limiter on a virtual clock.
pub(crate) fn limiter(engine: Engine, database: &Embedded, options: LimiterOptions) -> Limiter {
    let client = Client::new(database.client_config()).expect("a client");
    Limiter::new(engine, client, options)
}

/// A virtual clock that stands at [`START_MS`].
pub(crate) fn options() -> LimiterOptions {
    // No test is about how busy the machine is.
    let deadline = Duration::from_secs(30);
    LimiterOptions { clock: Clock::at(START_MS), deadline, ..LimiterOptions::default() }
}

/// What becomes of one request.
#[derive(Clone, Debug)]
pub(crate) enum Fate {
    /// Nothing special.
    Materialisation,
    /// It never arrives.
    LoseRequest,
    /// It arrives and its reply does not.
    LoseReply,
    /// It arrives, and the table is heard to say this.
    Say(u16, String),
}

/// Deals out fates to requests of one operation, in the order they are sent; then lets all pass.
#[derive(Debug)]
pub(crate) struct Fates {
    operation: &'static str,
    fates: Mutex<VecDeque<Fate>>,
    pub(crate) seen: AtomicUsize,
}

impl Fates {
    pub(crate) fn of(operation: &'static str, fates: impl IntoIterator<Item = Fate>) -> Arc<Self> {
        let fates = Mutex::new(fates.into_iter().collect());
        Arc::new(Self { operation, fates, seen: AtomicUsize::new(0) })
    }

    fn next(&self, call: &Call) -> Option<Fate> {
        (call.operation == self.operation).then(|| self.fates.lock().unwrap().pop_front()).flatten()
    }
}

impl Interpose for Fates {
    fn before<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Before> {
        Box::pin(async move {
            if call.operation == self.operation {
                self.seen.fetch_add(1, Ordering::SeqCst);
            }
            let lose = matches!(self.fates.lock().unwrap().front(), Some(Fate::LoseRequest));
            if lose && self.next(call).is_some() {
                return Before::Answer(Reply::Failed("the request was lost".into()));
            }
            Before::Send
        })
    }

    fn after<'a>(&'a self, call: &'a Call, reply: Reply) -> BoxFuture<'a, Reply> {
        Box::pin(async move {
            match self.next(call) {
                None | Some(Fate::Materialisation | Fate::LoseRequest) => reply,
                Some(Fate::LoseReply) => Reply::Failed("the reply was lost".into()),
                Some(Fate::Say(status, body)) => Reply::Http { status, body },
            }
        })
    }
}

/// An error as DynamoDB words it.
pub(crate) fn refusal(name: &str, message: &str) -> Fate {
    Fate::Say(400, format!(r#"{{"__type":"com.amazonaws.dynamodb.v20120810#{name}","message":"{message}"}}"#))
}

/// One operation on the table, past the limiter. It must succeed.
pub(crate) async fn operate(client: &Client, operation: &'static str, body: String) {
    let call = Call { operation, body, resend: Resend::Idempotent };
    let deadline = std::time::Instant::now() + Duration::from_secs(10);
    let replies = client.perform(&[call], deadline, &mut Cost::default()).await;
    assert!(matches!(&replies[..], [Reply::Http { status: 200, .. }]), "{operation}: {replies:?}");
}
