//! Section 8: configuration as the table stores it.

use onewindow::{
    ErrorCode, Limit, Outcome, Reply,
    config::{Configuration, Level, call, namespace_call, namespace_id, resolve},
    internals::materialise::lifetime_seconds,
};
use serde_json::{Value, json};

use crate::kit::{Item, asked, found, http, started, subject};

/// A level's item.
fn level(pk: &str, sk: &str) -> Item {
    Item::default().text("PK", pk).text("SK", sk)
}

fn entity() -> Item {
    level("ns/ENTITY#e", "#CONFIG#r")
}

fn entity_default() -> Item {
    level("ns/ENTITY#e", "#CONFIG#_default_")
}

fn resource() -> Item {
    level("ns/RESOURCE#r", "#CONFIG")
}

fn system() -> Item {
    level("ns/SYSTEM#", "#CONFIG")
}

fn with_window(item: Item, capacity: u64) -> Item {
    item.num("w_session_cp", capacity)
        .num("w_session_ra", 0)
        .num("w_session_rp", 1)
        .num("w_session_rsa", 18_000)
}

fn with_drip(item: Item, capacity: u64) -> Item {
    item.num("l_rpm_cp", capacity).num("l_rpm_ra", 60).num("l_rpm_rp", 60)
}

fn resolved(items: &[Item]) -> Configuration {
    resolve(&subject(), &found(items)).expect("a configuration")
}

fn refused(item: Item) -> (ErrorCode, String) {
    match resolve(&subject(), &found(&[item])) {
        Err(Outcome::Failed(error)) => (error.code, error.message),
        other => panic!("{other:?}"),
    }
}

#[test]
fn section_8_four_levels_are_read_in_one_batch() {
    let (keys, consistent) = asked(&call(&subject()));
    assert_eq!(keys, ["ns/ENTITY#e", "ns/ENTITY#e", "ns/RESOURCE#r", "ns/SYSTEM#"]);
    assert!(!consistent);
}

#[test]
fn section_8_the_first_level_that_defines_a_limit_wins_as_a_whole() {
    let all = [
        with_window(system(), 1),
        with_drip(resource(), 2),
        with_window(entity_default(), 3),
        with_drip(with_window(entity(), 4), 5),
    ];
    let limits = |count: usize| resolved(&all[..count]);
    assert_eq!(limits(1).limits, [Limit::session("session", 1, 18_000)]);
    assert_eq!(limits(1).level, Some(Level::System));
    assert_eq!(limits(2).limits, [Limit::drip("rpm", 2, 60, 60)]);
    assert_eq!(limits(2).level, Some(Level::Resource));
    assert!(!limits(2).is_permanent());
    assert_eq!(limits(3).level, Some(Level::EntityDefault));
    assert_eq!(limits(4).limits, [Limit::drip("rpm", 5, 60, 60), Limit::session("session", 4, 18_000)]);
    assert_eq!(limits(4).level, Some(Level::Entity));
    assert!(limits(3).is_permanent() && limits(4).is_permanent());
    assert_eq!(resolved(&[]), Configuration::default());
    assert_eq!(resolved(&[system().num("on_unavailable", 1)]).level, None);
}

#[test]
fn section_8_disabled_is_a_walk_of_its_own() {
    let said = |item: Item, value: Value| item.raw("disabled", value);
    let (yes, no) = (json!({"BOOL": true}), json!({"BOOL": false}));
    for item in [entity(), entity_default(), resource(), system()] {
        assert!(resolved(&[said(item.clone(), yes.clone())]).disabled);
        assert!(!resolved(&[said(item, no.clone())]).disabled);
    }
    // A level without limits decides too: an entity is let into a resource that is switched off.
    let exempt = [said(entity(), no), said(with_drip(resource(), 1), yes.clone())];
    assert!(!resolved(&exempt).disabled);
    assert_eq!(resolved(&exempt).level, Some(Level::Resource));
    let waived = [said(entity(), json!({"S": "bypass"})), said(system(), yes)];
    assert!(!resolved(&waived).disabled);
    for odd in [json!({"N": "1"}), json!({"S": "true"})] {
        let (code, message) = refused(said(resource(), odd));
        assert_eq!(code, ErrorCode::CorruptItem);
        assert!(message.contains("disabled of ns/RESOURCE#r #CONFIG"), "{message}");
    }
}

#[test]
fn section_8_a_name_may_hold_what_separates_fields() {
    let item = resource().num("w_a_cp_b.c-d_cp", 7).num("w_a_cp_b.c-d_rsa", 60);
    assert_eq!(resolved(&[item]).limits, [Limit::session("a_cp_b.c-d", 7, 60)]);
}

#[test]
fn section_8_what_is_no_limit_is_somebody_elses() {
    let item = with_drip(resource(), 7).num("b_q_cp", 1).num("l__cp", 1).num("_cp", 1);
    assert_eq!(resolved(&[item]).limits, [Limit::drip("rpm", 7, 60, 60)]);
}

#[test]
fn section_8_a_level_may_define_twelve_limits() {
    let item = (0..12)
        .fold(resource(), |item, n| item.num(&format!("w_a{n:02}_cp"), 1).num(&format!("w_a{n:02}_rsa"), 1));
    let names: Vec<_> = resolved(&[item]).limits.into_iter().map(|limit| limit.name).collect();
    assert_eq!(names, (0..12).map(|n| format!("a{n:02}")).collect::<Vec<_>>());
}

#[test]
fn section_8_an_item_outlives_its_slowest_recovery_seven_times() {
    // A window of a minute; a drip that fills in two.
    let limits = [crate::kit::quota(), Limit::drip("d", 60, 30, 60)];
    assert_eq!(lifetime_seconds(&limits, 7), 840);
    assert_eq!(lifetime_seconds(&limits[..1], 7), 420);
    assert_eq!(lifetime_seconds(&[], 7), 0);
}

#[test]
fn section_8_a_window_under_the_old_prefix_is_one() {
    let item = with_drip(resource(), 7).num("l_rpm_ra", 0).num("l_rpm_rsa", 60);
    assert_eq!(resolved(&[item]).limits, [Limit::session("rpm", 7, 60)]);
}

#[test]
fn section_8_a_corrupt_item_is_refused_by_name() {
    for (item, named) in [
        (
            with_window(resource(), 1).num("l_session_cp", 1).num("l_session_ra", 1).num("l_session_rp", 1),
            "session",
        ),
        (with_window(resource(), 1).without("w_session_rsa"), "w_session_rsa"),
        (with_window(resource(), 0), "session"),
        (with_drip(resource(), 1).num("l_rpm_ra", 0), "rpm"),
        (with_drip(resource(), 1).without("l_rpm_rp"), "rpm"),
        (with_drip(resource(), 1).num("l_rpm_rp", "1.5"), "l_rpm_rp"),
        (with_drip(resource(), 1).num("l_rpm_cp", -1), "l_rpm_cp"),
        (with_drip(resource(), 1).text("l_rpm_cp", "many"), "l_rpm_cp"),
        (resource().num("l_wcu_cp", 1).num("l_wcu_ra", 1).num("l_wcu_rp", 1), "wcu"),
        (
            (0..13).fold(resource(), |item, n| {
                item.num(&format!("w_a{n}_cp"), 1).num(&format!("w_a{n}_rsa"), 1)
            }),
            "13",
        ),
    ] {
        let (code, message) = refused(item);
        assert_eq!(code, ErrorCode::CorruptItem, "{message}");
        assert!(message.contains(named) && message.contains("nothing was written"), "{message}");
    }
}

#[test]
fn section_8_a_corrupt_level_is_refused_even_where_another_wins() {
    // Dropped, it would not be enforced once the level above is removed.
    let items = [with_drip(entity(), 1), with_window(resource(), 1).without("w_session_rsa")];
    assert!(resolve(&subject(), &found(&items)).is_err());
}

#[test]
fn section_7_a_configured_calendar_is_refused() {
    let (code, _) = refused(with_drip(resource(), 1).text("l_rpm_sched", "1|0 9 * * *"));
    assert_eq!(code, ErrorCode::Unsupported);
    assert_eq!(resolved(&[with_drip(resource(), 1).text("l_rpm_rsched", "-")]).limits.len(), 1);
}

#[test]
fn section_8_a_table_that_does_not_answer_configures_nothing() {
    for (reply, expected) in [
        (Reply::Failed("reset".into()), "Unavailable(\"the table did not answer: reset"),
        (http(500, &json!({})), "Unavailable(\"the table answered with status 500"),
        (http(200, &json!({})), "Unavailable(\"the table answered something other"),
        (http(400, &json!({"__type": "AccessDeniedException"})), "Misconfigured"),
        (
            http(200, &json!({"Responses": {}, "UnprocessedKeys": {"limits": {"Keys": []}}})),
            "Unavailable(\"the table left",
        ),
    ] {
        let outcome = resolve(&subject(), &reply).expect_err("no configuration");
        assert!(format!("{outcome:?}").starts_with(expected), "{outcome:?}");
    }
}

#[test]
fn section_8_a_namespace_is_found_by_name() {
    let (keys, _) = asked(&namespace_call("limits", "default").unwrap());
    assert_eq!(keys, ["_/SYSTEM#"]);
    let record = level("_/SYSTEM#", "#NAMESPACE#default").text("namespace_id", "a1b2");
    assert_eq!(namespace_id("default", &found(&[record.clone().text("status", "active")])).unwrap(), "a1b2");
    for (items, says) in [
        (vec![], "not registered"),
        (vec![record.clone().text("status", "deleted")], "deleted"),
        (vec![record.clone().text("status", "purging")], "deleted"),
        (vec![record.without("namespace_id")], "no id"),
    ] {
        let outcome = namespace_id("default", &found(&items)).expect_err("no id");
        assert!(format!("{outcome:?}").contains(says), "{outcome:?}");
    }
    for name in ["", "_", "a#b"] {
        assert!(namespace_call("limits", name).is_err());
    }
}

#[test]
fn r15_an_item_with_another_capacity_differs_from_the_configuration() {
    let configured = |capacity| resolved(&[with_window(resource(), capacity)]);
    let (mut machine, _) = started(crate::kit::request(1));
    let onewindow::Step::Done(mut decision) = machine.advance(0, &[Reply::Failed("x".into())]) else {
        panic!()
    };
    assert!(!configured(5).differs_from(&decision));
    decision.limits.push(onewindow::LimitStatus {
        name: "session".into(),
        capacity: 5,
        available: 0,
        resets_at_ms: None,
    });
    assert!(!configured(5).differs_from(&decision));
    assert!(configured(6).differs_from(&decision));
}

#[test]
fn section_1_a_namespace_id_is_any_that_the_registry_draws() {
    let check = |namespace| onewindow::Subject::new("limits", namespace, "user-1", "gpt-4").check();
    for legal in ["default", "a1b2", "_1iu3sahZJk", "0-_9", "__"] {
        assert_eq!(check(legal), Ok(()), "{legal}");
    }
    for illegal in ["", "-1iu3sahZJk", "a#b", "a/b"] {
        assert!(check(illegal).is_err(), "{illegal}");
    }
}
