//! The vectors, through the component.

#[path = "../../../../component/tests/support/vectors.rs"]
mod vectors;

use onewindow_host::engine::{
    Component, ComponentOptions,
    component::bindings::{
        Quota,
        exports::onewindow::quota::{preview::WindowState, types::Amount, window::Sibling},
    },
};
use serde_json::json;
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

/// The shard's item, as the table spells it.
fn item(input: &ShardInput, id: u32) -> String {
    let number = |number: &dyn ToString| json!({"N": number.to_string()});
    let milli = |tokens: u64| tokens * 1000;
    let mut item = json!({
        "PK": {"S": format!("n/BUCKET#e#r#{id}")},
        "SK": {"S": "#STATE"},
        "shard_count": number(&input.shard_count),
        "rf": number(&input.last_refill_ms),
    });
    let limit = [
        ("tk", Some(number(&input.tokens_milli))),
        ("cp", Some(number(&milli(input.capacity)))),
        ("ra", Some(number(&milli(input.refill_amount)))),
        ("rp", Some(number(&input.refill_period_ms.unwrap_or(1000)))),
        ("tc", input.consumed_milli.map(|value| number(&value))),
        ("rsa", input.reset_after_seconds.map(|value| number(&value))),
        ("ws", input.window_start_ms.map(|value| number(&value))),
        ("wa", input.window_applied_ms.map(|value| number(&value))),
        ("wtc", input.consumed_mark_milli.map(|value| number(&value))),
        ("gc", input.grant_count.map(|value| number(&value))),
        ("tu", input.topped_up_milli.map(|value| number(&value))),
    ];
    for (field, value) in limit {
        if let Some(value) = value {
            item[format!("b_{NAME}_{field}")] = value;
        }
    }
    item.to_string()
}

impl Core for Wasm {
    fn pass(&mut self, input: &ShardInput, amount: u64, now_ms: u64) -> PassView {
        self.renew();
        let consume = [Amount { limit: NAME.into(), tokens: amount }];
        let materialisation = self
            .quota
            .onewindow_quota_window()
            .call_materialise(&mut self.store, "limits", &item(input, 0), &[], &consume, false, false, now_ms)
            .expect("no trap")
            .expect("no error");
        let limit = &materialisation.limits[0];
        assert_eq!(
            materialisation.call.is_some(),
            materialisation.admitted,
            "a rejected pass writes nothing"
        );
        PassView {
            admitted: materialisation.admitted,
            balance_milli: limit.balance_milli,
            tokens_milli: limit.left_milli,
            ceiling_milli: limit.ceiling_milli,
            grant_count: limit.grant_count,
            was_pending: limit.was_pending,
            opened: limit.opened,
            reset: limit.reset,
            window_start_ms: limit.starts_at_ms,
            ends_at_ms: limit.ends_at_ms,
            retry_after_ms: materialisation.retry_after_ms,
        }
    }

    fn report(&mut self, shards: &[ShardInput], now_ms: u64) -> ReportView {
        self.renew();
        let items: Vec<String> = (0..).zip(shards).map(|(id, input)| item(input, id)).collect();
        let report = self
            .quota
            .onewindow_quota_window()
            .call_preview(&mut self.store, &items, 0, &[], now_ms)
            .expect("no trap")
            .expect("no error");
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
