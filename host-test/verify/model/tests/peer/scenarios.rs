//! Recorded scenarios of the peer: every state it left behind is read and served. The host's tests
//! repeat its calls over HTTP.

use std::{collections::BTreeMap, fs, path::Path};

use onewindow::{
    Outcome,
    internals::{decode_item, preview},
};
use onewindow_model::store::{Item, Store, json};
use serde_json::Value as Json;

use crate::{
    acquiring::{drive, number, stored},
    items::{PK, limit},
};

/// A scenario's events, by its name.
fn scenarios() -> BTreeMap<String, Vec<Json>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../component/tests/scenarios");
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let scenarios: BTreeMap<_, _> = files
        .map(|file| {
            let path = file.expect("a file").path();
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let text = fs::read_to_string(&path).expect("text");
            (name, text.lines().map(|line| serde_json::from_str(line).expect("an event")).collect())
        })
        .collect();
    assert_eq!(scenarios.len(), 33);
    scenarios
}

fn limits(events: &[Json]) -> Vec<onewindow::Limit> {
    let note = events.iter().find(|event| event["limits"].is_array()).expect("limits in force");
    note["limits"].as_array().unwrap().iter().map(limit).collect()
}

/// The items of user-1's bucket in a dump.
fn dump(event: &Json) -> BTreeMap<u32, Item> {
    let items = event["bucket_items"].as_array().unwrap().iter();
    items
        .filter_map(|json| {
            let shard = json["PK"]["S"].as_str()?.strip_prefix(PK)?.parse().ok()?;
            Some((shard, json::item(json).expect("an item")))
        })
        .collect()
}

fn store(items: &BTreeMap<u32, Item>) -> Store {
    let mut store = Store::default();
    for (shard, item) in items {
        store.insert((format!("{PK}{shard}"), "#STATE".into()), item.clone());
    }
    store
}

fn shard_count(items: &BTreeMap<u32, Item>) -> u32 {
    let counts = items.values().filter_map(|item| number(item, "shard_count"));
    counts.max().and_then(|count| u32::try_from(count).ok()).unwrap_or(1)
}

#[test]
fn every_state_it_left_is_read_and_served() {
    let mut states = 0;
    for (name, events) in scenarios() {
        let limits = limits(&events);
        for event in events.iter().filter(|event| event["kind"] == "table") {
            let now_ms = event["clock_ms"].as_u64().unwrap();
            let items = dump(event);
            let json = event["bucket_items"].as_array().unwrap().iter();
            let shards: Vec<_> = json
                .filter(|item| item["PK"]["S"].as_str().is_some_and(|pk| pk.starts_with(PK)))
                .map(|item| decode_item(&item.to_string()).unwrap_or_else(|error| panic!("{name}: {error}")))
                .collect();
            let count = shard_count(&items);
            let clock = i64::try_from(now_ms).unwrap();
            preview::report(&shards, count, &limits, clock).unwrap_or_else(|error| panic!("{name}: {error}"));
            let cascades = shards.iter().any(|shard| shard.cascade);
            for shard in 0..count {
                let mut store = store(&items);
                let consume = serde_json::json!({ "session": 1 });
                let outcome = drive(&mut store, &consume, limits.clone(), (shard, count), now_ms);
                let served = matches!(outcome, Outcome::Admitted(_) | Outcome::Rejected { .. });
                assert!(served != cascades, "{name}, shard {shard}: {outcome:?}");
                assert!(!cascades || stored(&store) == items, "{name}: refused, and yet written");
            }
            states += 1;
        }
    }
    assert!(states >= 60, "{states}");
}
