//! Writes, executed on the model's table.

use onewindow::{
    Amount, Reply, Settle, Settlement, Step,
    internals::{
        decode_item,
        propagate::{self, Opened},
        refill,
    },
};
use onewindow_model::store::{Item, Request, Store, json};
use serde_json::{Value as Json, json};

use crate::{Tally, cases, items::with_key};

fn item(json: &Json) -> Item {
    json::item(json).expect("an item")
}

#[test]
fn propagation() {
    let mut tally = Tally::default();
    for case in cases("propagation") {
        let opened = Opened {
            limit: "session".into(),
            length_seconds: case.input["reset_after_seconds_rsa"].as_i64().unwrap(),
            start_ms: case.input["new_ws_ms"].as_i64().unwrap(),
        };
        let subject = onewindow::Subject::new("t", "nsfixed0001", "user-1", "gpt-4");
        let writes = propagate::writes(&subject, 1, 2, &[opened]);
        let call = onewindow::internals::encode("t", &writes).unwrap();
        let request = Request::parse(call.operation, &call.body).unwrap();
        let key = request.writes()[0].key.clone();
        let mut store = Store::default();
        if !case.input["item"].is_null() {
            store.insert(key.clone(), item(&with_key(&case.input["item"], 0)));
        }
        let (_, landed) = store.execute(&request);
        let ours = landed.first().map(|landed| (*landed.after).clone());
        let theirs =
            (!case.output["item_after"].is_null()).then(|| item(&with_key(&case.output["item_after"], 0)));
        assert_eq!(theirs.is_some(), case.output["lands"].as_bool().unwrap());
        tally.compare(&case, &ours, &theirs, None);
    }
    tally.expect(&[]);
}

/// The peer compares what was consumed with what is left, and may leave the refill to the next use.
const WORTH_IT: &str = "section 6.10: whatever a consumed item can be raised by is written";

const ONLY_RAISES: &str =
    "section 6.10: what is above its ceiling is left to the next materialisation to clamp";

#[test]
fn aggregator_refill() {
    let mut tally = Tally::default();
    for case in cases("aggregator_refill") {
        let image = |json: &Json| (!json.is_null()).then(|| decode_item(&json.to_string()).unwrap());
        let old = image(&case.input["old_image"]);
        let new = image(&case.input["new_image"]).unwrap();
        let write = refill::write(old.as_ref(), &new, case.input["now_ms"].as_i64().unwrap()).unwrap();
        let ours = write.map(|write| {
            let call = onewindow::internals::encode("t", &[write]).unwrap();
            let request = Request::parse(call.operation, &call.body).unwrap();
            let mut store = Store::default();
            store.insert(request.writes()[0].key.clone(), item(&case.input["new_image"]));
            !store.execute(&request).1.is_empty()
        });
        let theirs = case.output["condition_holds_on_new_image"].as_bool();
        // Ours always lands on the image it was planned from.
        assert_ne!(ours, Some(false), "case {}", case.number);
        let above = new.limits.iter().any(|limit| {
            let share = limit.capacity_milli.div_euclid(new.shard_count.into());
            limit.reset_after_seconds.is_none() && limit.refill_amount_milli > 0 && limit.tokens_milli > share
        });
        let reason = match theirs {
            None => Some(WORTH_IT),
            Some(_) => above.then_some(ONLY_RAISES),
        };
        tally.compare(&case, &ours, &theirs, reason);
    }
    tally.expect(&[(WORTH_IT, 17), (ONLY_RAISES, 7)]);
}

/// A lease of what an item's shard would be credited, or debited in addition.
fn lease(
    shard: &onewindow::internals::Shard,
    delta_milli: &serde_json::Map<String, Json>,
    now_ms: i64,
) -> String {
    let leased = |(name, delta): (&String, &Json)| {
        let state = shard.limit(name).expect("a limit of the item");
        let is_quota = state.reset_after_seconds.is_some();
        let window = state.window_start_ms.filter(|_| is_quota).map(|start_ms| {
            // In force for as long as the case lasts: its end is not what is compared.
            let mut window = json!({ "s": start_ms, "e": now_ms + 1 });
            if let Some(applied_ms) = state.window_applied_ms {
                window["a"] = json!(applied_ms);
            }
            window
        });
        let size = if is_quota { state.grant_count_or(shard.shard_count) } else { shard.shard_count.into() };
        let topped_up = state.topped_up_milli.filter(|_| is_quota).unwrap_or(0);
        let ceiling = state.capacity_milli.div_euclid(size) + topped_up;
        let mut limit = json!({
            "l": name,
            "t": -delta.as_i64().unwrap().min(0),
            "q": i64::try_from(state.capacity_milli).unwrap(),
            "c": i64::try_from(ceiling).unwrap(),
        });
        if let Some(window) = window {
            limit["w"] = window;
        }
        limit
    };
    let limits: Vec<Json> = delta_milli.iter().map(leased).collect();
    json!({ "n": "nsfixed0001", "e": "user-1", "r": "gpt-4", "p": [{ "s": 0, "l": limits }] }).to_string()
}

#[test]
fn adjust_request() {
    let mut tally = Tally::default();
    for case in cases("adjust_request") {
        let now_ms = case.input["now_ms"].as_i64().unwrap();
        let clock = u64::try_from(now_ms).unwrap();
        let delta_milli = case.input["delta_milli"].as_object().unwrap();
        let shard = decode_item(&case.input["item"].to_string()).unwrap();
        let actual = delta_milli.iter().map(|(name, delta)| {
            let tokens = delta.as_i64().unwrap().max(0) / 1000;
            Amount::new(name, u64::try_from(tokens).unwrap())
        });
        let mut machine = Settle::new("t", &lease(&shard, delta_milli, now_ms), actual.collect());
        let mut step = machine.advance(clock, &[]);
        if case.input["trim"] == true
            && let Step::Perform(_) = step
        {
            // Its variant for a shard that is too full follows on a refusal.
            let body = json!({ "__type": "ConditionalCheckFailedException", "Item": case.input["item"] });
            step = machine.advance(clock, &[Reply::Http { status: 400, body: body.to_string() }]);
        }
        let ours = match step {
            Step::Perform(calls) => {
                let request = Request::parse(calls[0].operation, &calls[0].body).unwrap();
                let mut store = Store::default();
                store.insert(request.writes()[0].key.clone(), item(&case.input["item"]));
                Some(!store.execute(&request).1.is_empty())
            }
            Step::Done(settlement) => {
                assert_eq!(settlement, Settlement::Settled, "case {}", case.number);
                None
            }
        };
        tally.compare(&case, &ours, &case.output["condition_holds_on_item"].as_bool(), None);
    }
    tally.expect(&[]);
}
