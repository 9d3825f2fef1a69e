//! Traces that once broke something. Each is replayed on the code as it is.

use std::time::Duration;

use onewindow_model::{
    ablation::Ablation,
    catalog,
    explore::{Limits, exhaustive, replay},
    setting::Setting,
    trace,
};

/// Replays a trace; what it breaks, step by step.
fn broken(world: &str, events: &str) -> Option<String> {
    let setting = catalog::named(world).expect("a world of that name");
    let events = trace::decode(events).expect("a trace");
    replay(&setting, &events).map(|found| trace::explain(&setting, &found))
}

#[test]
fn an_admission_whose_reply_comes_after_the_windows_end_names_no_instant_that_has_passed() {
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

/// R10: a credit of the old window landed between an opener's read and its write. The reset read
/// the same balance that it was to set: it raised nothing, and did not pin what it had read.
#[test]
fn a_credit_does_not_stack_on_a_reset_that_raises_nothing() {
    let events = "T S1.0 P0.250 L1 L1 T S2.0 S0.0 A1.0 L0 S0.0 L0 L2 L1 T T S1.0 L2 L1 A0.0 T L2 T L0 L2 S0.0 L2 L1 \
                  S1.1 L0 S0.0 L1 L0";
    assert_eq!(broken("storm-old-items", events), None);
}

/// R13, R14: a level of a cascade had decided, and its window ended while another level, or a credit,
/// was on its way.
#[test]
fn a_cascades_answer_names_no_instant_that_has_passed() {
    for (world, events) in [
        ("cascade-boundary", "S0.0 L0 L0 S1.0 L1 L1 T L1"),
        ("cascade-boundary", "S0.0 L0 T L0 L0"),
        ("cascade-parent-boundary", "S0.0 L0 S1.0 L1 L1 T L1"),
        ("cascade-parent-boundary", "S0.0 L0 S1.0 L1 L1 L0 T L0"),
    ] {
        assert_eq!(broken(world, events), None, "{world}");
    }
}

/// I9: an operator had stamped one of two shards with another parent. A client that comes back to the other
/// shard with the parent of the entity's record needs one write to learn of it.
#[test]
fn a_shard_that_is_not_yet_stamped_costs_a_write_more() {
    let events = "S1.1 S0.0 L1 L1.1 L0 L0 L1 L1 L1.1 L0 L1 L1 L0 L0.1 S1.1 L0 L1.1 L0 L1.1 L1 L1 L1.1 M1 L1";
    assert_eq!(broken("storm-cascade-three", events), None);
}

/// Each clause, the invariant that breaks without it, the world, and the trace.
///
/// The README lists the clauses that have no trace, with the reason for each.
const ABLATIONS: [(&str, &str, &str, &str); 27] = [
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
        "P0.250 S2.0 S1.0 L2 L1 T S0.0 S2.0 L2 T L2 L2 L0 T E0 S1.0 L2 L1 L0 L0 T L1 T S1.0 T L1 L0 L2 S1.0 L0 L1 L1 L2 \
         S2.1 L2",
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
    ("fast-balance", "I1", "join-live", "S0.0 L0 S1.0 L1 S2.0 L2"),
    ("restore", "I1", "old-items", "S0.0 L0 L0 S0.0 L0 S1.0 L1 L1 L1"),
    (
        "unpropagated-doublings",
        "I1",
        "doubling-unpropagated",
        "S0.0 S1.0 L1 L1 L1 L0 S0.0 L0 L0 L0 S0.0 L0 S1.0 L1 L1 L1 L0 L0",
    ),
    ("shard-survey", "R9", "four-shards", "S0.0 L0"),
    ("credit-window", "I1", "settle-doubling", "S0.0 L0 A0.0 T S1.0 L1 L1 L0"),
    ("raise-guard", "I1", "settle-doubling", "S0.0 L0 A0.0 T S1.0 L1 L0 S0.0 L1 L0 S1.0 L1"),
    ("latest-start", "I1", "doublings", "S2.0 S1.0 S0.0 L2 L0 L0 L0 T L1 L1 S1.0 L1 T S1.0 L1 T T L1 L0 L0"),
    (
        "doubling-pin",
        "I1",
        "doublings",
        "S2.0 L2 S0.0 L0 S1.0 L1 L1 L1 L1 L1 S1.0 L1 L1 L1 L1 L1 S1.3 L1 L1 L1 L0 T T T T L0 L0 S0.0 L0 L0 S0.0 L0 \
         S1.2 L1 L1 S1.3 L1 L1",
    ),
    (
        "raise-floor",
        "I1",
        "doublings-to-eight",
        "S2.0 L2 S0.0 L0 L0 L0 L0 L0 S1.0 L1 L1 L1 L1 L1 S1.5 L1 L1 L1 F0 T S0.1 L0 L0 S0.1 L0 S1.5 L1 L1 S1.4 L1 L1 \
         S1.6 L1 L1 L1 S1.7 L1 L1 L1 S1.0 L1 L1 S1.2 L1 L1 S1.3 L1 L1 L1",
    ),
    (
        "grant-count",
        "I1",
        "doublings-of-old-items",
        "S2.0 L2 S2.0 L2 S2.0 L2 S0.0 L0 L0 L0 L0 L0 L0 S0.2 L0 S1.1 L1 S1.1 L1 S1.1 L1 S1.1 L1",
    ),
    ("refusal-credit", "K2", "cascade-parent-boundary", "S0.0 L0 S1.0 L1 L1 L1"),
    ("parent-gate", "K1", "cascade-unknown", "S0.0 L0"),
    ("owner-record", "K4", "cascade-restamp", "S0.0 L0 S1.0 L1 L1 L1 L1"),
];

#[test]
fn without_its_clause_each_trace_breaks_an_invariant_and_with_it_none() {
    for (clause, invariant, world, events) in ABLATIONS {
        let ablation = Ablation::ALL
            .into_iter()
            .find(|ablation| ablation.name() == clause)
            .expect("a clause of that name");
        let setting = catalog::named(world).expect("a world of that name");
        let events = trace::decode(events).expect("a trace");
        let without = Setting { ablation, ..setting.clone() };
        let found = replay(&without, &events).unwrap_or_else(|| panic!("{clause}: nothing breaks"));
        assert_eq!(found.violation.invariant, invariant, "{clause}:\n{}", trace::explain(&without, &found));
        if let Some(found) = replay(&setting, &events) {
            panic!("{clause} is there, and yet:\n{}", trace::explain(&setting, &found));
        }
    }
}

#[test]
fn a_small_world_is_explored_to_its_end() {
    let limits = Limits { worlds: u64::MAX, time: Duration::MAX };
    for (world, at_least) in [
        ("join", 20_000),
        ("doubling-restored", 12_000),
        ("doubling-unpropagated", 16_000),
        ("cascade-three", 10_000),
    ] {
        let report = exhaustive(&catalog::named(world).expect("a world"), limits);
        assert!(report.exhaustive && report.counterexample.is_none(), "{world}: {report:?}");
        assert!(report.worlds > at_least, "{world}: {} worlds", report.worlds);
    }
}
