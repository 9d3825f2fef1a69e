//! Traces that once broke something. Each is replayed on the code as it is.

use std::time::Duration;

use onewindow_model::{
    ablation::Ablation,
    explore::{Limits, exhaustive, replay},
    setting::Setting,
    settings, story,
};

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

/// R10: a credit of the old window landed between an opener's read and its write. The reset found
/// the very balance it was to set, so that it raised nothing, and was not held to what it read.
#[test]
fn a_credit_does_not_stack_on_a_reset_that_raises_nothing() {
    let events = "T S1.0 P0.250 L1 L1 T S2.0 S0.0 A1.0 L0 S0.0 L0 L2 L1 T T S1.0 L2 L1 A0.0 T L2 T L0 L2 S0.0 L2 L1 \
                  S1.1 L0 S0.0 L1 L0";
    assert_eq!(broken("storm-old-items", events), None);
}

/// Each clause of the rules that was left out, and a trace that breaks without it.
///
/// Four clauses are not here. `raise-guard` (R10) and `valid-until-pin` (R11) keep a credit, or the
/// `vu = 0` that follows one, from being overtaken; the model has no settlements yet.
/// `fast-valid-until` (R11) and `propagation-force` (R2) are what writers go by that do not look at
/// the window itself, and what asks for the clamp after a credit; for the rest of our own fast
/// writes the look at the window is enough.
const ABLATIONS: [(&str, &str, &str, &str); 14] = [
    ("propagation-floor", "I4", "skew", "S0.0 L0 L0 S1.0 L1 L1 L1 F0"),
    ("propagation-guard", "liveness", "join", "S0.0 L0 L0 S1.0 L1 F0 L1"),
    ("propagation-mark", "I1", "old-writers", "S0.0 L0 L0 S0.0 L0 L0 F0 L0 O1 L0 L0"),
    ("applied-marker", "I1", "old-writers", "S1.0 L1 L1 S1.1 O1 L1 L1"),
    ("lock", "I1", "storm-old", "O1 P0.250 S1.0 T R1 P0.250 P1.250 L1"),
    ("window-pins", "I4", "storm-2", "T S2.0 S0.0 L2 T T T L2 S2.1 F0 L2 L0 L0 F0 L2"),
    ("count-pin", "I1", "late-doubling", "S0.0 L0 S1.0 L1 T L1 L1 L1 L1 L0 S0.0 L0"),
    ("strictly-forward", "I4", "old-writers", "S0.0 L0 L0 S0.0 L0 P1.400 L0 L0"),
    ("create", "I10", "gather", "S2.0 L2 l2 L2"),
    (
        "candidate-conditions",
        "I1",
        "storm-old-items",
        "T S2.0 P0.250 r2 S1.0 L1 S2.0 L1 r2 S0.0 T S2.0 L0 L2 L2 L0 T S1.0 T L2 S0.0 L2 L0 L1 L1 L2",
    ),
    (
        "candidate-raise",
        "I1",
        "storm-old-items",
        "S1.0 P0.250 r1 S1.0 R1 T L1 T L1 T S0.0 L1 E0 L0 T T L0 T L1 S0.0 L1 S1.1 L1 S2.0 S1.0 L0 L0 L2 L1",
    ),
    (
        "move",
        "I1",
        "storm-old-items",
        "T P0.250 S1.0 L1 S2.0 r1 S0.0 L0 S1.0 r2 S2.0 L2 L2 L1 L1 L1 L2 L2 L1 L1 L2",
    ),
    ("fast-gate", "I1", "old-wide", "S0.1 L0 L0 F0 P0.0 S1.0 L1 S1.0 L1 S1.0 L1 S0.1 L0"),
    ("decrease-guard", "I1", "old-writers", "S0.0 L0 L0 S0.0 L0 L0 F0 L0 L0 O1 L0"),
];

#[test]
fn without_its_clause_each_trace_breaks_an_invariant_and_with_it_none() {
    for (clause, invariant, world, events) in ABLATIONS {
        let ablation = Ablation::ALL
            .into_iter()
            .find(|ablation| ablation.name() == clause)
            .expect("a clause of that name");
        let setting = settings::named(world).expect("a world of that name");
        let events = story::decode(events).expect("a trace");
        let without = Setting { ablation, ..setting.clone() };
        let found = replay(&without, &events).unwrap_or_else(|| panic!("{clause}: nothing breaks"));
        assert_eq!(found.violation.invariant, invariant, "{clause}:\n{}", story::tell(&without, &found));
        if let Some(found) = replay(&setting, &events) {
            panic!("{clause} is there, and yet:\n{}", story::tell(&setting, &found));
        }
    }
}

#[test]
fn a_small_world_is_explored_to_its_end() {
    let limits = Limits { worlds: u64::MAX, time: Duration::MAX };
    let report = exhaustive(&settings::named("join").expect("a world"), limits);
    assert!(report.exhaustive && report.counterexample.is_none(), "{report:?}");
    assert!(report.worlds > 20_000, "{} worlds", report.worlds);
}
