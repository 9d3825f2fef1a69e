//! Random buckets, and random acquires on them.

use std::collections::BTreeMap;

use fastrand::Rng;
use serde_json::json;

use crate::{history::Image, ledger::QUOTA, plan::RATE};

/// The time of every first round, epoch ms.
pub(super) const NOW_MS: i64 = 1_800_000_000_000;
/// The quota: tokens, and the window's length.
pub(super) const CAPACITY: i64 = 96;
pub(super) const LENGTH_MS: i64 = 60_000;
/// The token bucket's capacity, which is also its refill a minute.
pub(super) const RATE_CAPACITY: i64 = 60;
/// One acquire, the same for both sides.
pub(super) struct Acquisition {
    pub(super) now_ms: i64,
    pub(super) shard: u32,
    pub(super) count: u32,
    pub(super) consume: Vec<(&'static str, u64)>,
}

/// A bucket's items, by shard.
pub(super) type Bucket = BTreeMap<u32, Image>;

pub(super) fn random_acquisition(rng: &mut Rng, now_ms: i64, count: u32) -> Acquisition {
    let amount = |rng: &mut Rng| *rng.choice(&[1, 1, 2, 3, 5, 24, 40]).unwrap_or(&1);
    let mut consume = vec![(QUOTA, amount(rng))];
    if rng.bool() {
        consume.push((RATE, amount(rng)));
    }
    Acquisition { now_ms, shard: rng.u32(..count), count, consume }
}

/// Shards as fleets leave them: live, ended, pending, without markers, missing, in debt, topped up.
pub(super) fn random_bucket(rng: &mut Rng) -> (Bucket, u32) {
    let count = *rng.choice(&[1, 1, 1, 2, 4]).unwrap_or(&1);
    let start = NOW_MS - rng.i64(-500..LENGTH_MS + 20_000);
    let shards = (0..count).filter(|_| count == 1 || rng.u8(..10) > 0).collect::<Vec<_>>();
    let present = if count == 1 && rng.u8(..20) == 0 { Vec::new() } else { shards };
    (present.into_iter().map(|id| (id, random_item(rng, count, start))).collect(), count)
}

fn random_item(rng: &mut Rng, count: u32, start: i64) -> Image {
    let share = CAPACITY * 1000 / i64::from(count);
    let mut item = Image::new();
    let mut set = |name: &str, value: i64| {
        item.insert(name.into(), json!({ "N": value.to_string() }));
    };
    let quota = |field: &str| format!("b_{QUOTA}_{field}");
    let consumed = rng.i64(0..200) * 1000;
    set(&quota("cp"), CAPACITY * 1000);
    set(&quota("ra"), 0);
    set(&quota("rp"), 1000);
    set(&quota("tc"), consumed);
    set(&quota("tk"), *rng.choice(&[share, 0, 1000, 3000, share / 2, -4000]).unwrap_or(&0));
    set(&quota("rsa"), LENGTH_MS / 1000);
    let refill = *rng.choice(&[start, NOW_MS - 1500, NOW_MS - 30_000]).unwrap_or(&start);
    set("rf", refill);
    // A window: live or ended and applied, propagated and pending, older than the marker, or none.
    match rng.u8(..10) {
        0 => {}
        1 => set(&quota("ws"), start),
        2..=4 => {
            set(&quota("ws"), start);
            set(&quota("wa"), start - LENGTH_MS - rng.i64(0..10_000));
            set(&quota("gc"), i64::from(count));
            if rng.bool() {
                set(&quota("wtc"), consumed - rng.i64(0..5) * 1000);
            }
            set("vu", 0);
        }
        _ => {
            set(&quota("ws"), start);
            set(&quota("wa"), start);
            set(&quota("gc"), i64::from(count));
            if rng.u8(..4) > 0 {
                set("vu", start + LENGTH_MS);
            }
            if rng.u8(..8) == 0 {
                set(&quota("tu"), 10_000);
            }
        }
    }
    set(&format!("b_{RATE}_tk"), *rng.choice(&[60_000, 0, 2000, -3000]).unwrap_or(&0) / i64::from(count));
    set(&format!("b_{RATE}_cp"), RATE_CAPACITY * 1000);
    set(&format!("b_{RATE}_ra"), RATE_CAPACITY * 1000);
    set(&format!("b_{RATE}_rp"), 60_000);
    set(&format!("b_{RATE}_tc"), 0);
    for (field, value) in [("tk", 1_000_000), ("cp", 1_000_000), ("ra", 1_000_000), ("rp", 1000), ("tc", 0)] {
        set(&format!("b_wcu_{field}"), value);
    }
    set("shard_count", i64::from(count));
    set("ttl", NOW_MS / 1000 + if rng.u8(..12) == 0 { -5 } else { 600 });
    item
}
