//! Whole acquires, on the model's table.

use std::collections::BTreeMap;

use onewindow::{Acquire, AcquireRequest, Amount, Call, Hint, Limit, Outcome, Step, Subject};
use onewindow_model::store::{Item, Request, Store, Value, json};
use serde_json::Value as Json;

use crate::{
    Case, Tally, cases,
    items::{PK, limit, with_key},
};

fn subject() -> Subject {
    Subject::new("t", "nsfixed0001", "user-1", "gpt-4")
}

fn key(shard: u32) -> (String, String) {
    (format!("{PK}{shard}"), "#STATE".into())
}

fn items(json: &Json) -> BTreeMap<u32, Item> {
    let entries = json.as_object().expect("items").iter();
    entries
        .map(|(shard, item)| {
            let shard = shard.parse().expect("a shard");
            (shard, json::item(&with_key(item, shard)).expect("an item"))
        })
        .collect()
}

/// The outcome of a case's acquire, and the items after its follow-ups.
struct Run {
    outcome: Outcome,
    items: BTreeMap<u32, Item>,
}

fn run(case: &Case) -> Run {
    let input = &case.input;
    let whole = |field: &str| input[field].as_u64().expect("a number");
    let narrow = |field: &str| u32::try_from(whole(field)).expect("a shard");
    let mut store = Store::default();
    for (shard, item) in items(&input["items"]) {
        store.insert(key(shard), item);
    }
    let limits = input["limits"].as_array().expect("limits").iter().map(limit).collect();
    let draw = (narrow("forced_shard"), narrow("known_shard_count"));
    let outcome = drive(&mut store, &input["consume"], limits, draw, whole("now_ms"));
    Run { outcome, items: stored(&store) }
}

/// The items of a store, by shard.
pub(crate) fn stored(store: &Store) -> BTreeMap<u32, Item> {
    let shards = store.items().filter_map(|(key, item)| {
        let shard = key.0.strip_prefix(PK)?.parse().ok()?;
        Some((shard, (**item).clone()))
    });
    shards.collect()
}

/// Runs an acquire that draws `shard` of `count` to its decision, and its follow-ups.
pub(crate) fn drive(
    store: &mut Store,
    consume: &Json,
    limits: Vec<Limit>,
    (shard, count): (u32, u32),
    now_ms: u64,
) -> Outcome {
    let consume = consume.as_object().expect("amounts").iter();
    let request = AcquireRequest {
        subject: subject(),
        consume: consume.map(|(name, tokens)| Amount::new(name, tokens.as_u64().unwrap())).collect(),
        limits,
        hint: Some(Hint { key: subject().hint_key(), shard_count: count, rejections: Vec::new() }),
        ..AcquireRequest::default()
    };
    let forced = format!("\"{PK}{shard}\"");
    let drawn = (0..4096).find_map(|seed| {
        let mut machine = Acquire::new(AcquireRequest { seed, ..request.clone() });
        let step = machine.advance(now_ms, &[]);
        match &step {
            Step::Perform(calls)
                if calls[0].operation == "UpdateItem" && !calls[0].body.contains(&forced) =>
            {
                None
            }
            _ => Some((machine, step)),
        }
    });
    let (mut machine, mut step) = drawn.expect("a seed that draws the shard");
    let mut execute = |call: &Call| {
        let request = Request::parse(call.operation, &call.body).expect("the model reads it");
        store.execute(&request).0
    };
    let decision = loop {
        match step {
            Step::Perform(calls) => {
                step = machine.advance(now_ms, &[execute(&calls[0])]);
            }
            Step::Done(decision) => break decision,
        }
    };
    for call in &decision.follow_ups {
        execute(call);
    }
    decision.outcome
}

const QUESTION: &str = "F3: a request of no tokens reads all shards and writes nothing";
const NEVER: &str = "R9: an amount above the capacity never fits";
const GATHERED: &str = "R9: a sharded entity is rejected only after a survey of all shards";
const LEFTOVER: &str = "section 2: a window start without a length is a leftover";
const PROPAGATED: &str = "R7: a client that creates a shard and opens a window with it propagates it";
const FORWARD: &str = "R6: rf strictly forward";

/// Why ours may decide otherwise.
fn outcome_reason(input: &Json, theirs: &str) -> Option<&'static str> {
    let amount = |name: &str| input["consume"][name].as_u64().unwrap_or(0);
    let limits = input["limits"].as_array().unwrap();
    let names =
        limits.iter().map(|limit| (limit["name"].as_str().unwrap(), limit["capacity"].as_u64().unwrap()));
    match () {
        () if names.clone().all(|(name, _)| amount(name) == 0) => Some(QUESTION),
        () if names.clone().any(|(name, capacity)| amount(name) > capacity) => Some(NEVER),
        () if is_sharded(input) && theirs == "rejected" => Some(GATHERED),
        () => None,
    }
}

fn is_sharded(input: &Json) -> bool {
    let stored = items(&input["items"]).into_values().filter_map(|item| number(&item, "shard_count"));
    stored.chain(input["known_shard_count"].as_i64().map(i128::from)).any(|count| count > 1)
}

pub(crate) fn number(item: &Item, name: &str) -> Option<i128> {
    match item.get(name) {
        Some(Value::Number(number)) => Some(*number),
        _ => None,
    }
}

/// Why ours may leave other items behind.
fn items_reason(input: &Json) -> Option<&'static str> {
    let before = items(&input["items"]);
    let now_ms = i128::from(input["now_ms"].as_i64().unwrap());
    let drawn = u32::try_from(input["forced_shard"].as_u64().unwrap()).unwrap();
    let leftover =
        |item: &Item| number(item, "b_session_ws").is_some() && number(item, "b_session_rsa").is_none();
    let short = |item: &Item| {
        let wanted = i128::from(input["consume"]["rpm"].as_u64().unwrap_or(0)) * 1000;
        number(item, "b_rpm_tk") < Some(wanted)
    };
    match before.get(&drawn) {
        _ if before.values().any(leftover) => Some(LEFTOVER),
        None if is_sharded(input) => Some(PROPAGATED),
        Some(item) if is_sharded(input) && short(item) => Some(GATHERED),
        _ => before.values().any(|item| number(item, "rf") >= Some(now_ms)).then_some(FORWARD),
    }
}

/// A created shard as the cases show it: without the attributes that are not about its balances.
pub(crate) fn shown(mut item: Item) -> Item {
    let hidden = ["cascade", "entity_id", "resource"];
    item.retain(|name, _| !name.starts_with("GSI") && !hidden.contains(&name.as_str()));
    item
}

#[test]
fn acquire_on_items() {
    let mut outcomes = Tally::default();
    let mut after = Tally::default();
    for case in cases("acquire_on_items") {
        let run = run(&case);
        let theirs = case.output["outcome"].as_str().unwrap();
        let ours = match &run.outcome {
            Outcome::Admitted(_) => "admitted",
            Outcome::Rejected { .. } => "rejected",
            other => &format!("{other:?}"),
        };
        let reason = outcome_reason(&case.input, theirs);
        outcomes.compare(&case, &ours, &theirs, reason);
        if let (Outcome::Rejected { retry_after_ms }, "rejected", None) = (&run.outcome, theirs, reason) {
            let seconds = case.output["retry_after_seconds"].as_f64().unwrap();
            outcomes.compare(&case, retry_after_ms, &((seconds * 1000.0).round() as u64), None);
        }
        if reason.is_none() && ours == theirs {
            let ours: BTreeMap<u32, Item> =
                run.items.into_iter().map(|(shard, item)| (shard, shown(item))).collect();
            let theirs: BTreeMap<u32, Item> = items(&case.output["items_after"])
                .into_iter()
                .map(|(shard, item)| (shard, shown(item)))
                .collect();
            let reason = items_reason(&case.input);
            after.compare(&case, &ours, &theirs, reason);
            if reason == Some(FORWARD) {
                let without = |items: BTreeMap<u32, Item>| {
                    items
                        .into_iter()
                        .map(|(shard, mut item)| (shard, item.remove("rf").map(|_| item)))
                        .collect()
                };
                let (ours, theirs): (BTreeMap<_, _>, BTreeMap<_, _>) = (without(ours), without(theirs));
                after.compare(&case, &ours, &theirs, None);
            }
        }
    }
    outcomes.expect(&[(QUESTION, 3), (GATHERED, 27), (NEVER, 13)]);
    after.expect(&[(FORWARD, 7), (PROPAGATED, 1), (GATHERED, 1), (LEFTOVER, 2)]);
}
