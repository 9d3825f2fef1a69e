//! What a host reports of its answers. A program of its own: whether a span is enabled is remembered for
//! all threads, and other tests have nobody who listens.

mod common;

use std::{
    io,
    sync::{Arc, Mutex},
};

use common::{START_MS, TABLE, database, limiter, options};
use onewindow::{AcquireRequest, Amount, Limit, Outcome, Subject};
use onewindow_host::Engine;

fn request(tokens: u64) -> AcquireRequest {
    AcquireRequest {
        subject: Subject::new(TABLE, "ns", "hush", "gpt-4"),
        consume: vec![Amount::new("session", tokens)],
        limits: vec![Limit::session("session", 1, 3600)],
        ..AcquireRequest::default()
    }
}

/// A log in memory.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("nobody panics with it").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_span_reports_what_each_answer_took_and_came_to_and_names_no_entity() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::DEBUG)
        .with_span_events(tracing_subscriber::fmt::format::FmtSpan::CLOSE)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let database = database().await;
    let limiter = limiter(Engine::native(), &database, options());
    assert!(limiter.acquire(request(1)).await.is_allowed());
    assert!(!limiter.acquire(request(1)).await.is_allowed());
    let cascading = limiter.acquire_cascading(request(2)).await;
    assert!(matches!(cascading.decision.outcome, Outcome::NeverFits { .. }), "{cascading:?}");

    let logged = String::from_utf8(log.0.lock().expect("nobody panics with it").clone()).expect("text");
    let end_ms = START_MS + 3_600_000;
    let logged: String =
        logged.lines().filter(|line| line.contains("onewindow")).collect::<Vec<_>>().join("\n");
    for expected in [
        format!("outcome=\"admitted\" round_trips=2 requests=2 resends=0 resets_at_ms={end_ms}"),
        format!(
            "outcome=\"rejected\" round_trips=1 requests=1 resends=0 resets_at_ms={end_ms} retry_after_ms=3600000"
        ),
        "outcome=\"never-fits\" round_trips=0 requests=0 resends=0".into(),
    ] {
        assert!(
            logged.lines().any(|line| line.contains(&expected) && line.contains("close")),
            "{expected}: {logged}"
        );
    }
    assert!(!logged.contains("hush"), "{logged}");
}
