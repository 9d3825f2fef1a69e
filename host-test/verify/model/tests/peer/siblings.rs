//! What a shard that is being created reads of a sibling (R8).

use onewindow::internals::join;
use serde_json::json;

use crate::{
    Tally, cases,
    items::{limit, shard},
};

const STAGGERED: &str = "R8: a grant for a start less than one length earlier is a grant of this window";
const OWN_CAPACITY: &str = "R15: an unmarked grant has the size of the item's own capacity";
const LATER: &str = "R8, I5: a marker later than its window marks no grant";

#[test]
fn quota_sibling() {
    let mut tally = Tally::default();
    for case in cases("quota_sibling") {
        let id = case.input["shard_id"].as_u64().and_then(|id| u32::try_from(id).ok()).unwrap();
        let limit = limit(&case.input["limit"]);
        let now_ms = case.input["now_ms"].as_i64().unwrap();
        let item = (!case.input["item"].is_null()).then(|| shard(&case.input["item"], id));
        let length_ms = case.input["limit"]["reset_after_seconds"].as_i64().unwrap() * 1000;
        let ours = item.as_ref().and_then(|shard| {
            let start_ms = join::joined_start_ms(&limit.name, std::slice::from_ref(shard), length_ms, now_ms);
            let sibling = join::as_sibling(shard, &limit.name, start_ms.unwrap_or(now_ms), length_ms)?;
            Some(json!({
                "shard_id": sibling.shard,
                "current": sibling.current,
                "grant_count_gc": i64::try_from(sibling.grant_count).unwrap(),
                "tokens_milli_tk": i64::try_from(sibling.tokens_milli).unwrap(),
            }))
        });
        let state = item.as_ref().and_then(|shard| shard.limit(&limit.name));
        let reason = state.and_then(|state| {
            if state.grant_count.is_none()
                && case.input["capacity_milli"] != json!(state.capacity_milli as i64)
            {
                return Some(OWN_CAPACITY);
            }
            let (start, marker) = (state.window_start_ms?, state.window_applied_ms?);
            if marker > start {
                Some(LATER)
            } else {
                (marker < start && start - length_ms < marker).then_some(STAGGERED)
            }
        });
        tally.compare(&case, &ours.unwrap_or_default(), &case.output["sibling"], reason);
    }
    tally.expect(&[(LATER, 8), (STAGGERED, 13), (OWN_CAPACITY, 1)]);
}
