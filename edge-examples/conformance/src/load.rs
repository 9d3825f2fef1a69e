//! Load: many clients on one hot entity. No error but 429s, nothing over the quota, memory flat.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use anyhow::ensure;
use futures::future::join_all;
use onewindow::{Call, Reply, Resend};
use onewindow_host::{Client, Cost};
use serde_json::json;
use tokio::time::Instant;

use crate::kit::{TABLE, World, session};

/// Clients at the same time.
const CLIENTS: u64 = 200;
/// Memory may grow by so much from the middle of the run to its end, KiB.
const GROWTH_KIB: u64 = 32 << 10;
/// A quota that some of the requests exceed: tokens, and seconds.
const TIGHT: (u64, u64) = (500, 2);

/// What a run measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    pub(crate) admitted_per_second: f64,
    pub(crate) answers_per_second: f64,
    pub(crate) resident_kib: Option<(u64, u64)>,
}

/// A plain conditional update on one item, from as many clients: what the engine itself can do.
pub(crate) async fn ceiling(client: &Client, lasting: Duration) -> f64 {
    let update = json!({ "TableName": TABLE, "Key": { "PK": { "S": "ceiling" }, "SK": { "S": "#STATE" } },
        "UpdateExpression": "ADD #t :one", "ConditionExpression": "attribute_not_exists(#d)",
        "ExpressionAttributeNames": { "#t": "t", "#d": "d" },
        "ExpressionAttributeValues": { ":one": { "N": "1" } }, "ReturnValues": "ALL_NEW" })
    .to_string();
    let end = Instant::now() + lasting;
    let landed = AtomicU64::new(0);
    let one = || async {
        while Instant::now() < end {
            let call = Call { operation: "UpdateItem", body: update.clone(), resend: Resend::Idempotent };
            let replies = client.perform(&[call], end + Duration::from_secs(10), &mut Cost::default()).await;
            if matches!(&replies[..], [Reply::Http { status: 200, .. }]) {
                landed.fetch_add(1, Ordering::Relaxed);
            }
        }
    };
    join_all((0..CLIENTS).map(|_| one())).await;
    per_second(landed.into_inner(), lasting)
}

/// Half of the time on a quota that holds everything, half on one that does not.
pub(crate) async fn run(world: &World, lasting: Duration) -> anyhow::Result<Measured> {
    let ample = hot(&world.other("ample"), (1_000_000_000, 3600), lasting / 2).await?;
    let middle = world.servers.plain.resident_kib();
    let (capacity, _) = TIGHT;
    let tight = hot(&world.other("tight"), TIGHT, lasting / 2).await?;
    let end = world.servers.plain.resident_kib();
    for (window_end_ms, admitted) in &tight.by_window {
        ensure!(
            *admitted <= capacity,
            "{admitted} of {capacity} were admitted in the window until {window_end_ms}"
        );
    }
    let resident_kib = middle.zip(end);
    if let Some((middle, end)) = resident_kib {
        ensure!(end <= middle + GROWTH_KIB, "memory grew from {middle} to {end} KiB");
    }
    Ok(Measured {
        admitted_per_second: per_second(ample.admitted(), lasting / 2),
        answers_per_second: per_second(tight.answers, lasting / 2),
        resident_kib,
    })
}

#[derive(Default)]
struct Tally {
    answers: u64,
    /// Admitted, by the end of the window that was told.
    by_window: HashMap<u64, u64>,
}

impl Tally {
    fn admitted(&self) -> u64 {
        self.by_window.values().sum()
    }
}

async fn hot(world: &World, (capacity, seconds): (u64, u64), lasting: Duration) -> anyhow::Result<Tally> {
    let limits = session(capacity, seconds);
    let end = Instant::now() + lasting;
    let one = || async {
        let mut tally = Tally::default();
        while Instant::now() < end {
            let answer = world.take(1, &limits).await;
            tally.answers += 1;
            match answer.status {
                200 => {
                    let window_end_ms = answer.resets_at_ms().unwrap_or_default();
                    *tally.by_window.entry(window_end_ms).or_default() += 1;
                }
                429 => {}
                _ => anyhow::bail!("{} under load: {}", answer.status, answer.body),
            }
        }
        Ok(tally)
    };
    let mut all = Tally::default();
    for tally in join_all((0..CLIENTS).map(|_| one())).await {
        let tally = tally?;
        all.answers += tally.answers;
        for (window_end_ms, admitted) in tally.by_window {
            *all.by_window.entry(window_end_ms).or_default() += admitted;
        }
    }
    Ok(all)
}

#[allow(clippy::cast_precision_loss, reason = "a rate for people")]
fn per_second(count: u64, lasting: Duration) -> f64 {
    count as f64 / lasting.as_secs_f64()
}
