//! Load: many clients on one hot entity. Only 429s are allowed as errors, nothing beyond the quota, and flat
//! memory.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use futures::future::join_all;
use onewindow::{Call, Reply, Resend};
use onewindow_host::{Client, Cost};
use serde_json::json;

use crate::kit::{Fixture, TABLE, session};

/// Clients at the same time.
const CLIENTS: u64 = 200;
/// Answers before anything is measured: a garbage-collected heap grows to its size until then.
const WARM_UP: u64 = 10_000;
/// Memory may grow by this much from the middle of the run to its end, KiB.
const GROWTH_KIB: u64 = 32 << 10;
/// A quota that holds everything: tokens, and seconds.
const AMPLE: (u64, u64) = (1_000_000_000, 3600);
/// A quota that some of the requests exceed: tokens, and seconds.
const TIGHT: (u64, u64) = (500, 2);

/// What a run measured.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    /// On the ample quota.
    pub(crate) admitted_per_second: f64,
    /// On the tight one.
    pub(crate) answers_per_second: f64,
    /// Answers that are neither an admission nor a 429.
    pub(crate) errors: u64,
    first_error: Option<String>,
    /// Tokens admitted beyond the tight quota, over all of its windows.
    pub(crate) excess: u64,
    /// The server's memory after a quarter, half and all of the time, KiB; none where the system does
    /// not report it.
    pub(crate) resident_kib: Option<[u64; 3]>,
}

impl Measured {
    /// What is wrong, if anything.
    pub(crate) fn verdict(&self) -> Result<(), String> {
        if let Some(error) = &self.first_error {
            return Err(format!("{} errors; the first: {error}", self.errors));
        }
        if self.excess > 0 {
            return Err(format!("{} tokens were admitted beyond the quota", self.excess));
        }
        match self.resident_kib {
            Some([_, middle, end]) if end > middle + GROWTH_KIB => {
                Err(format!("memory grew from {middle} to {end} KiB"))
            }
            _ => Ok(()),
        }
    }
}

/// A plain conditional update on one item from as many clients: the limit of the engine itself.
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

/// After a warm-up, half of the time on a quota that holds everything, half on one that does not.
pub(crate) async fn run(fixture: &Fixture, lasting: Duration) -> Measured {
    let resident_kib = || fixture.servers.plain.resident_kib();
    let quarter = async {
        tokio::time::sleep(lasting / 4).await;
        resident_kib()
    };
    let of_ample = fixture.other("ample");
    let warm_up = hot(&of_ample, AMPLE, |answers| answers < WARM_UP / CLIENTS).await;
    let (ample, quarter) = tokio::join!(hot(&of_ample, AMPLE, within(lasting / 2)), quarter);
    let middle = resident_kib();
    let tight = hot(&fixture.other("tight"), TIGHT, within(lasting / 2)).await;
    let end = resident_kib();
    let (capacity, _) = TIGHT;
    Measured {
        admitted_per_second: per_second(ample.admitted(), lasting / 2),
        answers_per_second: per_second(tight.answers, lasting / 2),
        errors: warm_up.errors + ample.errors + tight.errors,
        first_error: warm_up.first_error.or(ample.first_error).or(tight.first_error),
        excess: tight.by_window.values().map(|admitted| admitted.saturating_sub(capacity)).sum(),
        resident_kib: quarter.zip(middle).zip(end).map(|((quarter, middle), end)| [quarter, middle, end]),
    }
}

#[derive(Default)]
struct Tally {
    answers: u64,
    errors: u64,
    first_error: Option<String>,
    /// Admitted, by the reported end of the window.
    by_window: HashMap<u64, u64>,
}

impl Tally {
    fn admitted(&self) -> u64 {
        self.by_window.values().sum()
    }

    fn and(mut self, other: Self) -> Self {
        self.answers += other.answers;
        self.errors += other.errors;
        self.first_error = self.first_error.or(other.first_error);
        for (window_end_ms, admitted) in other.by_window {
            *self.by_window.entry(window_end_ms).or_default() += admitted;
        }
        self
    }
}

/// For this long, whatever the number of answers.
fn within(lasting: Duration) -> impl Fn(u64) -> bool {
    let end = Instant::now() + lasting;
    move |_| Instant::now() < end
}

/// Every client sends one request after the other, while `more` holds for the number of its answers.
async fn hot(fixture: &Fixture, (capacity, seconds): (u64, u64), more: impl Fn(u64) -> bool) -> Tally {
    let limits = session(capacity, seconds);
    let one = || async {
        let mut tally = Tally::default();
        while more(tally.answers) {
            let answer = fixture.acquire(1, &limits).await;
            tally.answers += 1;
            match answer.status {
                200 => {
                    let window_end_ms = answer.resets_at_ms().unwrap_or_default();
                    *tally.by_window.entry(window_end_ms).or_default() += 1;
                }
                429 => {}
                _ => {
                    tally.errors += 1;
                    tally.first_error.get_or_insert_with(|| format!("{} {}", answer.status, answer.body));
                }
            }
        }
        tally
    };
    join_all((0..CLIENTS).map(|_| one())).await.into_iter().fold(Tally::default(), Tally::and)
}

#[allow(clippy::cast_precision_loss, reason = "a rate for people")]
fn per_second(count: u64, lasting: Duration) -> f64 {
    count as f64 / lasting.as_secs_f64()
}
