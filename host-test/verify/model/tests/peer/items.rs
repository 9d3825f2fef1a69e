//! The peer's spellings of items and states, as ours.

use std::sync::Arc;

use onewindow::{
    Limit,
    internals::{LimitState, Shard, decode_item},
};
use serde_json::{Value as Json, json};

/// Whose items the cases are about.
pub(crate) const PK: &str = "nsfixed0001/BUCKET#user-1#gpt-4#";

/// An item of a case, with the key it may lack.
pub(crate) fn with_key(item: &Json, shard: u32) -> Json {
    let mut item = item.clone();
    let attributes = item.as_object_mut().expect("an item");
    attributes.entry("PK").or_insert(json!({ "S": format!("{PK}{shard}") }));
    attributes.entry("SK").or_insert(json!({ "S": "#STATE" }));
    item
}

pub(crate) fn shard(item: &Json, id: u32) -> Shard {
    decode_item(&with_key(item, id).to_string()).expect("a sound item")
}

/// A state of one limit, spelled out.
pub(crate) fn state(state: &Json, name: &str) -> Shard {
    let number = |field: &str| state[field].as_i64();
    let wide = |field: &str| number(field).map(i128::from);
    let must = |field: &str| number(field).unwrap_or_else(|| panic!("{field} in {state}"));
    let soft = state["soft"].as_bool().unwrap_or(false).then_some(i64::MAX);
    let bypass = state["bypass"].as_bool().unwrap_or(false).then_some(i64::MAX);
    let limit = LimitState {
        name: Arc::from(name),
        tokens_milli: must("tokens_milli_tk").into(),
        capacity_milli: must("capacity_milli_cp").into(),
        refill_amount_milli: must("refill_amount_milli_ra").into(),
        refill_period_ms: must("refill_period_ms_rp"),
        consumed_milli: wide("total_consumed_milli_tc"),
        reset_after_seconds: number("reset_after_seconds_rsa"),
        window_start_ms: number("window_start_ms_ws"),
        window_applied_ms: number("window_applied_ms_wa"),
        consumed_mark_milli: wide("window_consumed_mark_milli_wtc"),
        grant_count: number("grant_count_gc"),
        topped_up_milli: wide("topped_up_milli_tu"),
        soft_until_ms: soft,
    };
    Shard {
        shard_count: state["shard_count"].as_u64().and_then(|count| u32::try_from(count).ok()).unwrap_or(1),
        last_refill_ms: must("last_refill_ms_rf"),
        bypass_until_ms: bypass,
        limits: vec![limit],
        ..Shard::default()
    }
}

pub(crate) fn limit(limit: &Json) -> Limit {
    let whole = |field: &str| limit[field].as_u64().unwrap_or_else(|| panic!("{field} in {limit}"));
    let name = limit["name"].as_str().expect("a name");
    match limit["reset_after_seconds"].as_u64() {
        Some(seconds) => Limit::session(name, whole("capacity"), seconds),
        None => Limit::drip(name, whole("capacity"), whole("refill_amount"), whole("refill_period_seconds")),
    }
}

/// Whole tokens, rounded down.
pub(crate) fn tokens(milli: i128) -> i64 {
    i64::try_from(milli.div_euclid(1000)).expect("within 64 bits")
}
