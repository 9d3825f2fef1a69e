//! The vectors, through the component.

#[path = "../../component/tests/support/vectors.rs"]
mod vectors;

use onewindow_host::engine::{
    Component, ComponentOptions,
    component::bindings::{
        Quota,
        exports::onewindow::quota::{
            preview::WindowState,
            types::Amount,
            window::Sibling,
            wire::{LimitState, ShardState},
        },
    },
};
use vectors::{Core, PassView, ReportView, ShardInput, SiblingInput};
use wasmtime::Store;

struct Wasm {
    component: Component,
    store: Store<()>,
    quota: Quota,
}

impl Wasm {
    fn new(component: Component) -> Self {
        let (store, quota) = component.instantiate().expect("an instance");
        Self { component, store, quota }
    }

    /// A fresh instance now and then: one carries fuel for a request, not for a thousand.
    fn renew(&mut self) {
        *self = Self::new(self.component.clone());
    }
}

const NAME: &str = "q";

fn shard(input: &ShardInput, id: u32) -> ShardState {
    let milli = |tokens: u64| i64::try_from(tokens).unwrap() * 1000;
    ShardState {
        pk: format!("n/BUCKET#e#r#{id}"),
        shard: id,
        shard_count: input.shard_count,
        last_refill_ms: input.last_refill_ms,
        valid_until_ms: None,
        ttl_seconds: None,
        disabled: false,
        cascade: false,
        scheduled: false,
        bypass_until_ms: None,
        limits: vec![LimitState {
            name: NAME.into(),
            tokens_milli: input.tokens_milli,
            capacity_milli: milli(input.capacity),
            refill_amount_milli: milli(input.refill_amount),
            refill_period_ms: input.refill_period_ms.map_or(1000, |period| i64::try_from(period).unwrap()),
            consumed_milli: input.consumed_milli,
            reset_after_seconds: input.reset_after_seconds.map(|seconds| i64::try_from(seconds).unwrap()),
            window_start_ms: input.window_start_ms,
            window_applied_ms: input.window_applied_ms,
            consumed_mark_milli: input.consumed_mark_milli,
            grant_count: input.grant_count,
            topped_up_milli: input.topped_up_milli,
            soft_until_ms: None,
        }],
        wcu: None,
    }
}

impl Core for Wasm {
    fn pass(&mut self, input: &ShardInput, amount: u64, now_ms: u64) -> PassView {
        self.renew();
        let consume = [Amount { limit: NAME.into(), tokens: amount }];
        let pass = self
            .quota
            .onewindow_quota_window()
            .call_materialise(&mut self.store, &shard(input, 0), &[], &consume, false, false, now_ms)
            .expect("no trap")
            .expect("no error");
        let (limit, after) = (&pass.limits[0], &pass.after.limits[0]);
        assert_eq!(pass.write.is_some(), pass.admitted, "a rejected pass writes nothing");
        PassView {
            admitted: pass.admitted,
            balance_milli: limit.balance_milli,
            tokens_milli: after.tokens_milli,
            ceiling_milli: limit.ceiling_milli,
            grant_count: after.grant_count,
            was_pending: limit.was_pending,
            opened: limit.opened,
            reset: limit.reset,
            window_start_ms: after.window_start_ms,
            ends_at_ms: limit.ends_at_ms,
            retry_after_ms: pass.retry_after_ms,
        }
    }

    fn report(&mut self, shards: &[ShardInput], now_ms: u64) -> ReportView {
        self.renew();
        let shards: Vec<ShardState> = (0..).zip(shards).map(|(id, input)| shard(input, id)).collect();
        let report = self
            .quota
            .onewindow_quota_window()
            .call_preview(&mut self.store, &shards, 0, &[], now_ms)
            .expect("no trap")
            .expect("no error");
        let [limit] = report.limits.as_slice() else { panic!("one limit: {report:?}") };
        let in_force =
            limit.shards.iter().filter(|view| matches!(view.state, WindowState::Live | WindowState::Pending));
        ReportView {
            available: limit.status.available,
            counted_milli: limit.shards.iter().map(|view| view.counted_milli).collect(),
            told_ms: limit.status.resets_at_ms,
            last_end_ms: in_force.filter_map(|view| view.ends_at_ms).max(),
            current: limit.shards.iter().map(|view| view.state == WindowState::Live).collect(),
        }
    }

    fn grant(&mut self, shard: u32, share_milli: i64, siblings: &[SiblingInput]) -> (i64, Option<u32>) {
        self.renew();
        let sibling = |input: &SiblingInput| Sibling {
            shard: input.shard,
            current: input.current,
            grant_count: input.grant_count,
            tokens_milli: input.tokens_milli,
        };
        let siblings: Vec<Sibling> = siblings.iter().map(sibling).collect();
        let grant = self
            .quota
            .onewindow_quota_window()
            .call_plan_grant(&mut self.store, shard, share_milli, &siblings)
            .expect("no trap");
        (grant.tokens_milli, grant.donor)
    }
}

#[test]
fn every_vector_holds_exactly() {
    let component = Component::embedded(ComponentOptions::default()).expect("it runs here");
    assert_eq!(vectors::run_all(&mut Wasm::new(component)), vectors::ALL);
}
