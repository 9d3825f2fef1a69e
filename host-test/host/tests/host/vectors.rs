//! The vectors, through the component.

#[path = "../../../../component/tests/support/vectors.rs"]
mod support;

use onewindow_host::engine::{ComponentOptions, component::INSPECT};
use serde_json::json;
use support::{Core, PassView, ReportView, ShardInput, SiblingInput};
use wasmtime::{
    Engine, Store,
    component::{Component, Linker},
};

use bindings::{
    InspectPre,
    exports::onewindow::quota::{
        rules::{Guest, Sibling},
        types::{Amount, ErrorCode, Subject, WindowState},
    },
};

/// What wasmtime makes of the world `inspect`.
mod bindings {
    wasmtime::component::bindgen!({ path: "wit", world: "inspect" });
}

struct Wasm {
    pre: InspectPre<()>,
    engine: Engine,
}

impl Wasm {
    fn new() -> Self {
        let engine = Engine::new(&ComponentOptions::default().config()).expect("an engine");
        let component = Component::new(&engine, INSPECT).expect("it runs here");
        let pre = Linker::new(&engine).instantiate_pre(&component).and_then(InspectPre::new);
        Self { pre: pre.expect("it imports nothing, and exports the world"), engine }
    }

    /// What a fresh instance answers.
    fn ask<T>(&self, ask: impl FnOnce(&Guest, &mut Store<()>) -> wasmtime::Result<T>) -> T {
        let mut store = Store::new(&self.engine, ());
        store.set_fuel(u64::MAX).expect("it burns fuel");
        let inspect = self.pre.instantiate(&mut store).expect("an instance");
        ask(inspect.onewindow_quota_rules(), &mut store).expect("no trap")
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
        let consume = [Amount { limit: NAME.into(), tokens: amount }];
        let item = item(input, 0);
        let materialised = self.ask(|rules, store| {
            rules.call_materialise(store, "limits", &item, &[], &consume, false, false, now_ms)
        });
        let materialisation = materialised.expect("no error");
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
            grant_count: limit.grant_count.map(i64::from),
            was_pending: limit.was_pending,
            opened: limit.opened,
            reset: limit.reset,
            window_start_ms: limit.starts_at_ms.map(|start_ms| start_ms as i64),
            ends_at_ms: limit.ends_at_ms,
            retry_after_ms: materialisation.retry_after_ms,
        }
    }

    fn report(&mut self, shards: &[ShardInput], now_ms: u64) -> ReportView {
        let items: Vec<String> = (0..).zip(shards).map(|(id, input)| item(input, id)).collect();
        let survey = self.ask(|rules, store| rules.call_survey(store, &items, 0, &[], now_ms));
        let report = survey.expect("no error");
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
            grant_count: input.grant_count,
            tokens_milli: input.tokens_milli,
        };
        let siblings: Vec<Sibling> = siblings.iter().map(sibling).collect();
        let grant = self.ask(|rules, store| rules.call_plan_grant(store, shard, share_milli, &siblings));
        (grant.tokens_milli, grant.donor)
    }
}

#[test]
fn a_slot_that_no_count_has_is_not_joined() {
    let subject =
        Subject { table: "limits".into(), namespace: "ns".into(), entity: "e".into(), resource: "r".into() };
    let join = |shard, count| {
        Wasm::new()
            .ask(|rules, store| rules.call_plan_join(store, &subject, shard, count, &[], &[], &[], false, 1))
    };
    assert!(join(31, 32).is_ok());
    for error in [join(32, 32).unwrap_err(), join(0, 33).unwrap_err()] {
        assert_eq!(error.code, ErrorCode::InvalidRequest, "{}", error.message);
    }
}

#[test]
fn every_vector_holds_exactly() {
    assert_eq!(support::run_all(&mut Wasm::new()), support::ALL);
}
