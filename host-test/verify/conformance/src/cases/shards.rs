//! A balance over several shards.

use std::time::Duration;

use futures::{StreamExt, stream};
use serde_json::json;
use tokio::sync::watch;

use crate::{
    kit::{World, session, until},
    proxy::Fault,
};

pub(super) async fn whole(world: World) {
    let limits = session(200, 3600);
    world.spread(4, &limits).await;
    let left = world.preview(&limits).await.available();
    // More than one shard holds, then every token there is, one by one and several at once.
    world.take(60, &limits).await.admitted();
    let one = || async {
        // A transaction that others were faster than is told to come back.
        loop {
            let answer = world.take(1, &limits).await;
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
    world.take(1, &limits).await.rejected();
    assert_eq!(world.preview(&limits).await.available(), 0);
}

pub(super) async fn one_instant(world: World) {
    let limits = session(400, 3600);
    world.spread(4, &limits).await;
    let told = world.preview(&limits).await.resets_at_ms();
    assert!(told.is_some());
    for _ in 0..20 {
        assert_eq!(world.take(1, &limits).await.admitted().resets_at_ms(), told);
    }
    let no = world.take(400, &limits).await;
    no.rejected();
    assert_eq!(no.resets_at_ms(), told);
}

pub(super) async fn answers_first(world: World) {
    let limits = session(400, 3);
    world.spread(4, &limits).await;
    until(world.take(1, &limits).await.admitted().resets_at_ms().expect("an instant")).await;
    // The opener's two writes pass; what comes after them waits for this gate.
    let (open, gate) = watch::channel(false);
    world.proxy.next(&world.entity, [Fault::Materialisation, Fault::Materialisation]);
    world.proxy.always(&world.entity, Fault::Hold(gate));
    let opened = world.take_from(&world.servers.proxied, 1, &limits).await.admitted();
    let start_ms = opened.resets_at_ms().expect("an instant") - 3000;
    assert_eq!(world.starting_at(4, start_ms).await, 1, "nobody was told before the answer");
    open.send(true).expect("somebody waits");
    world.all_start_at(4, start_ms).await;
}

pub(super) async fn f9_late(world: World) {
    const LENGTH_MS: u64 = 3000;
    let limits = session(400, 3);
    world.spread(4, &limits).await;
    until(world.take(1, &limits).await.admitted().resets_at_ms().expect("an instant")).await;
    // A host that is frozen after its answer: what it has to tell waits for this gate.
    let (open, gate) = watch::channel(false);
    world.proxy.next(&world.entity, [Fault::Materialisation, Fault::Materialisation]);
    world.proxy.always(&world.entity, Fault::Hold(gate));
    let opened = world.take_from(&world.servers.proxied, 1, &limits).await.admitted();
    let end_ms = opened.resets_at_ms().expect("an instant");
    // The window it would tell of ends, and another host opens the next one.
    until(end_ms).await;
    let next = world.take(1, &limits).await.admitted();
    let start_ms = next.resets_at_ms().expect("an instant") - LENGTH_MS;
    assert!(start_ms >= end_ms);
    world.all_start_at(4, start_ms).await;
    open.send(true).expect("somebody waits");
    let sent = || world.proxy.seen(&world.entity).len();
    let (before, mut quiet) = (sent(), 0);
    while quiet < 10 {
        let already = sent();
        tokio::time::sleep(Duration::from_millis(100)).await;
        quiet = if sent() == already { quiet + 1 } else { 0 };
    }
    assert!(before > 2, "nothing was sent after the answer");
    world.all_start_at(4, start_ms).await;
}
