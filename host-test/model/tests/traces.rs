//! Traces that once broke something. Each is replayed on the code as it is.

use onewindow_model::{explore::replay, settings, story};

/// Plays a trace; what it breaks, as a story.
fn broken(world: &str, events: &str) -> Option<String> {
    let setting = settings::named(world).expect("a world of that name");
    let events = story::decode(events).expect("a trace");
    replay(&setting, &events).map(|found| story::tell(&setting, &found))
}

#[test]
fn an_admission_whose_reply_comes_after_the_windows_end_tells_no_instant_that_has_passed() {
    for (world, events) in [
        ("boundary", "S0.0 L0 T T L0"),
        ("join", "S0.0 L0 T L0"),
        ("join-live", "T S0.0 L0 T L0"),
        ("shard-0-missing", "S0.0 L0 L0 T L0"),
        ("skew", "S0.0 S1.0 L1 L0 L0 L1 L1 L1 F0 L1 L1 T L1"),
    ] {
        assert_eq!(broken(world, events), None, "{world}");
    }
}

#[test]
fn a_doubling_does_not_bring_a_dropped_item_back_as_a_count_alone() {
    assert_eq!(broken("storm-old-items", "S2.0 R2 S0.0 P0.250 L0 E0 L0"), None);
}
