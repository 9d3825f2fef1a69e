#![allow(missing_docs)]
use onewindow::*;
use onewindow_host::Engine;
use std::time::Instant;
fn main() {
    let engine = match std::env::args().nth(1).as_deref() {
        Some("native") => Engine::native(),
        _ => Engine::component().unwrap(),
    };
    let n: u32 = std::env::args().nth(2).and_then(|n| n.parse().ok()).unwrap_or(20000);
    let subject = Subject::new("limits", "default", "user-1", "gpt-4");
    let request = AcquireRequest {
        hint: Some(Hint { key: subject.hint_key(), shard_count: 1, blocked: vec![] }),
        subject,
        consume: vec![Amount::new("session", 1)],
        limits: vec![Limit::session("session", 3200, 18000)],
        seed: 7,
        ..AcquireRequest::default()
    };
    let body = include_str!("/tmp/reply.json");
    let reply = Reply::Http { status: 200, body: body.into() };
    let began = Instant::now();
    for _ in 0..n {
        let mut m = engine.acquire(request.clone());
        let _ = m.advance(1_800_000_000_000, &[]);
        let s = m.advance(1_800_000_000_000, std::slice::from_ref(&reply));
        assert!(matches!(s, Step::Done(d) if d.outcome.is_admitted()));
    }
    println!("{:?}", began.elapsed() / n);
}
