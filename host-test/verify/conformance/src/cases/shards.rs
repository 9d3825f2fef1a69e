//! A balance over several shards.

use std::time::Duration;

use futures::{StreamExt, stream};
use serde_json::json;
use tokio::sync::watch;

use crate::{
    kit::{Fixture, session, until},
    proxy::Fault,
};

pub(super) async fn whole(fixture: Fixture) {
    let limits = session(200, 3600);
    fixture.spread(4, &limits).await;
    let left = fixture.preview(&limits).await.available();
    // More than one shard holds, then every token there is, one by one and several at once.
    fixture.acquire(60, &limits).await.admitted();
    let one = || async {
        // A transaction that lost against others is answered with a retry.
        loop {
            let answer = fixture.acquire(1, &limits).await;
            if answer.body["contended"] != json!(true) {
                assert!([200, 429].contains(&answer.status), "{answer:?}");
                return answer.status;
            }
        }
    };
    let rest = usize::try_from(left - 60).expect("some");
    let statuses: Vec<_> = stream::iter(0..rest + 20).map(|_| one()).buffer_unordered(16).collect().await;
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), rest);
    assert_eq!(statuses.iter().filter(|status| **status == 429).count(), 20);
    fixture.acquire(1, &limits).await.rejected();
    assert_eq!(fixture.preview(&limits).await.available(), 0);
}

pub(super) async fn one_instant(fixture: Fixture) {
    let limits = session(400, 3600);
    fixture.spread(4, &limits).await;
    let reported = fixture.preview(&limits).await.resets_at_ms();
    assert!(reported.is_some());
    for _ in 0..20 {
        assert_eq!(fixture.acquire(1, &limits).await.admitted().resets_at_ms(), reported);
    }
    let no = fixture.acquire(400, &limits).await;
    no.rejected();
    assert_eq!(no.resets_at_ms(), reported);
}

pub(super) async fn answers_first(fixture: Fixture) {
    let limits = session(400, 3);
    fixture.spread(4, &limits).await;
    until(fixture.acquire(1, &limits).await.admitted().resets_at_ms().expect("an instant")).await;
    // The opener's two writes are forwarded. What follows them waits for this gate.
    let (open, gate) = watch::channel(false);
    fixture.proxy.next(&fixture.entity, [Fault::None, Fault::None]);
    fixture.proxy.always(&fixture.entity, Fault::Hold(gate));
    let opened = fixture.acquire_on(&fixture.servers.proxied, 1, &limits).await.admitted();
    let start_ms = opened.resets_at_ms().expect("an instant") - 3000;
    assert_eq!(fixture.starting_at(4, start_ms).await, 1, "nothing was propagated before the answer");
    open.send(true).expect("a request waits");
    fixture.all_start_at(4, start_ms).await;
}

pub(super) async fn f9_late(fixture: Fixture) {
    const LENGTH_MS: u64 = 3000;
    let limits = session(400, 3);
    fixture.spread(4, &limits).await;
    until(fixture.acquire(1, &limits).await.admitted().resets_at_ms().expect("an instant")).await;
    // A host that is frozen after its answer: its propagation waits for this gate.
    let (open, gate) = watch::channel(false);
    fixture.proxy.next(&fixture.entity, [Fault::None, Fault::None]);
    fixture.proxy.always(&fixture.entity, Fault::Hold(gate));
    let opened = fixture.acquire_on(&fixture.servers.proxied, 1, &limits).await.admitted();
    let end_ms = opened.resets_at_ms().expect("an instant");
    // The window that it would propagate ends, and another host opens the next one.
    until(end_ms).await;
    let next = fixture.acquire(1, &limits).await.admitted();
    let start_ms = next.resets_at_ms().expect("an instant") - LENGTH_MS;
    assert!(start_ms >= end_ms);
    fixture.all_start_at(4, start_ms).await;
    open.send(true).expect("a request waits");
    let sent = || fixture.proxy.seen(&fixture.entity).len();
    let (before, mut quiet) = (sent(), 0);
    while quiet < 10 {
        let already = sent();
        tokio::time::sleep(Duration::from_millis(100)).await;
        quiet = if sent() == already { quiet + 1 } else { 0 };
    }
    assert!(before > 2, "nothing was sent after the answer");
    fixture.all_start_at(4, start_ms).await;
}
