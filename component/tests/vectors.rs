//! The vectors, through the library.

#[path = "support/vectors.rs"]
mod vectors;

use std::sync::Arc;

use onewindow::{
    Amount, Limit, WindowState,
    internals::{
        LimitState, Shard,
        grant::{self, Sibling},
        materialise::{Debit, Materialisation, Settings},
        preview,
    },
};
use vectors::{Core, PassView, ReportView, ShardInput, SiblingInput};

struct Native;

const NAME: &str = "q";

fn shard(input: &ShardInput, id: u32) -> Shard {
    let state = LimitState {
        name: Arc::from(NAME),
        tokens_milli: input.tokens_milli.into(),
        capacity_milli: i128::from(input.capacity) * 1000,
        refill_amount_milli: i128::from(input.refill_amount) * 1000,
        refill_period_ms: input.refill_period_ms.map_or(1000, |period| i64::try_from(period).unwrap()),
        consumed_milli: input.consumed_milli.map(Into::into),
        reset_after_seconds: input.reset_after_seconds.map(|seconds| i64::try_from(seconds).unwrap()),
        window_start_ms: input.window_start_ms,
        window_applied_ms: input.window_applied_ms,
        consumed_mark_milli: input.consumed_mark_milli.map(Into::into),
        grant_count: input.grant_count,
        topped_up_milli: input.topped_up_milli.map(Into::into),
        soft_until_ms: None,
    };
    Shard {
        id,
        shard_count: input.shard_count,
        last_refill_ms: input.last_refill_ms,
        limits: vec![state],
        ..Shard::default()
    }
}

fn narrow(number: i128) -> i64 {
    i64::try_from(number).expect("the vectors stay within 64 bits")
}

impl Core for Native {
    fn pass(&mut self, input: &ShardInput, amount: u64, now_ms: u64) -> PassView {
        let shard = shard(input, 0);
        let now_ms = i64::try_from(now_ms).unwrap();
        let settings = Settings { limits: &[], authoritative: false, permanent: false, parent: None, now_ms };
        let debit = Debit::find(&Amount::new(NAME, amount), &[], std::slice::from_ref(&shard)).unwrap();
        let debits = [debit];
        let materialisation = Materialisation::of(&shard, &settings).unwrap();
        let admitted = materialisation.admits(&debits);
        let after = materialisation.after(if admitted { &debits } else { &[] });
        let (limit, after) = (materialisation.limit(NAME).unwrap(), after.limit(NAME).unwrap());
        PassView {
            admitted,
            balance_milli: narrow(limit.after.tokens_milli),
            tokens_milli: narrow(after.tokens_milli),
            ceiling_milli: narrow(limit.ceiling_milli),
            grant_count: after.grant_count,
            was_pending: limit.was_pending,
            opened: limit.opened,
            reset: limit.reset,
            window_start_ms: after.window_start_ms,
            ends_at_ms: limit.window_end_ms().map(|end_ms| u64::try_from(end_ms).unwrap()),
            retry_after_ms: materialisation.retry_after_ms(&debits),
        }
    }

    fn report(&mut self, shards: &[ShardInput], now_ms: u64) -> ReportView {
        let shards: Vec<Shard> = (0..).zip(shards).map(|(id, input)| shard(input, id)).collect();
        let limits: [Limit; 0] = [];
        let report = preview::report(&shards, 0, &limits, i64::try_from(now_ms).unwrap()).unwrap();
        let [limit] = report.limits.as_slice() else { panic!("one limit: {report:?}") };
        let in_force =
            limit.shards.iter().filter(|view| matches!(view.state, WindowState::Live | WindowState::Pending));
        ReportView {
            available: limit.status.available,
            counted_milli: limit.shards.iter().map(|view| view.counted_milli).collect(),
            reported_reset_ms: limit.status.resets_at_ms,
            last_end_ms: in_force.filter_map(|view| view.ends_at_ms).max(),
            current: limit.shards.iter().map(|view| view.state == WindowState::Live).collect(),
        }
    }

    fn grant(&mut self, shard: u32, share_milli: i64, siblings: &[SiblingInput]) -> (i64, Option<u32>) {
        let sibling = |input: &SiblingInput| Sibling {
            shard: input.shard,
            current: input.current,
            grant_count: input.grant_count.into(),
            tokens_milli: input.tokens_milli.into(),
        };
        let siblings: Vec<Sibling> = siblings.iter().map(sibling).collect();
        let planned = grant::plan(shard, share_milli.into(), &siblings);
        (narrow(planned.tokens_milli), planned.donor.map(|donor| donor.shard))
    }
}

#[test]
fn every_vector_holds_exactly() {
    assert_eq!(vectors::run_all(&mut Native), vectors::ALL);
}
