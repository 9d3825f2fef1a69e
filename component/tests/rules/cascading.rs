//! Section 7: an acquire on an entity that debits a parent as well debits both or neither.

use onewindow::{
    AcquireRequest, Call, Cascade, CascadeDecision, ErrorCode, Hint, Limit, Outcome, Reply, Step, Subject,
};
use serde_json::json;

use crate::kit::*;

/// A request of one level.
fn level(entity: &str, tokens: u64) -> AcquireRequest {
    AcquireRequest { subject: Subject::new("limits", "ns", entity, "r"), ..request(tokens) }
}

/// An item of an entity, in a live window, with `tokens` of `q`.
fn item_of(entity: &str, tokens: i64) -> Item {
    Item::live(tokens)
        .text("PK", &Subject::new("limits", "ns", entity, "r").bucket_pk(0))
        .text("entity_id", entity)
}

/// Stamped as debiting `parent` too.
fn under(item: Item, parent: &str) -> Item {
    item.flag("cascade").text("parent_id", parent)
}

/// The record of an entity that debits `parent` too.
fn record(entity: &str, parent: &str) -> Item {
    Item::default()
        .text("PK", &format!("ns/ENTITY#{entity}"))
        .text("SK", "#META")
        .flag("cascade")
        .text("parent_id", parent)
        .num("pgen", 3)
        .text("pinc", "i-1")
}

#[track_caller]
fn calls(step: Step<CascadeDecision>) -> Vec<Call> {
    match step {
        Step::Perform(calls) => calls,
        Step::Done(decision) => panic!("decided: {decision:#?}"),
    }
}

#[track_caller]
fn decided(step: Step<CascadeDecision>) -> CascadeDecision {
    match step {
        Step::Done(decision) => decision,
        Step::Perform(calls) => panic!("{calls:#?}"),
    }
}

fn begun(levels: Vec<AcquireRequest>) -> (Cascade, Vec<Call>) {
    let mut machine = Cascade::new(levels);
    let first = calls(machine.advance(NOW as u64, &[]));
    (machine, first)
}

fn go(machine: &mut Cascade, replies: &[Reply]) -> Step<CascadeDecision> {
    machine.advance(NOW as u64, replies)
}

fn pks(calls: &[Call]) -> Vec<String> {
    calls.iter().flat_map(sent).map(|write| write.pk).collect()
}

/// No configuration on any level.
fn unconfigured() -> Reply {
    found(&[])
}

#[test]
fn section_7_the_steady_state_is_one_round_trip_side_by_side() {
    let (mut machine, first) = begun(vec![level("e", 2), level("p", 2), level("g", 2)]);
    assert_eq!(pks(&first), ["ns/BUCKET#e#r#0", "ns/BUCKET#p#r#0", "ns/BUCKET#g#r#0"]);
    for (call, parent) in first.iter().zip([Some("p"), Some("g"), None]) {
        let write = &sent(call)[0];
        assert_eq!(call.operation, "UpdateItem");
        write.assert_condition(&format!("(b_q_tk >= 2000 OR b_q_soft > {NOW} OR bypass > {NOW})"));
        match parent {
            Some(parent) => {
                write.assert_condition("cascade = true");
                write.assert_condition(&format!("parent_id = {parent}"));
                write.assert_no_condition_on("cascade <>");
            }
            None => {
                write.assert_condition("(attribute_not_exists(cascade) OR cascade <> true)");
                write.assert_no_condition_on("parent_id");
            }
        }
    }
    let replies = [under(item_of("e", 50_000), "p"), under(item_of("p", 60_000), "g"), item_of("g", 70_000)];
    let decision = decided(go(&mut machine, &replies.each_ref().map(landed)));
    assert!(decision.outcome.is_admitted());
    let told: Vec<_> =
        decision.levels.iter().map(|it| (it.entity.as_str(), it.limits[0].available)).collect();
    assert_eq!(told, [("e", 50), ("p", 60), ("g", 70)]);
    let leases: Vec<_> =
        decision.levels.iter().map(|it| it.lease.clone().unwrap().subject("limits")).collect();
    assert_eq!(leases[2], Subject::new("limits", "ns", "g", "r"));
}

#[test]
fn section_7_a_chain_that_is_not_known_is_found_from_the_items() {
    let (mut machine, first) = begun(vec![level("e", 1)]);
    sent(&first[0])[0].assert_condition("(attribute_not_exists(cascade) OR cascade <> true)");
    let second = calls(go(&mut machine, &[refused(Some(&under(item_of("e", 50_000), "p")))]));
    // The entity again, gated by its parent, while the parent's configuration is read.
    assert_eq!(second.len(), 2);
    sent(&second[0])[0].assert_condition("parent_id = p");
    assert_eq!(asked(&second[1]).0[0], "ns/ENTITY#p");
    let configured = Item::default()
        .text("PK", "ns/RESOURCE#r")
        .text("SK", "#CONFIG")
        .num("w_q_cp", 100)
        .num("w_q_rsa", 60);
    let replies = [landed(&under(item_of("e", 49_000), "p")), found(&[configured])];
    let third = calls(go(&mut machine, &replies));
    assert_eq!(pks(&third), ["ns/BUCKET#p#r#0"]);
    sent(&third[0])[0].assert_condition("b_q_cp = 100000"); // read from the table by this very request (R15)
    let decision = decided(go(&mut machine, &[landed(&item_of("p", 9_000))]));
    assert!(decision.outcome.is_admitted());
    assert_eq!(decision.levels.len(), 2);
}

#[test]
fn section_7_a_parent_that_refuses_is_named_and_the_child_is_credited() {
    let (mut machine, _) = begun(vec![level("e", 2), level("p", 2)]);
    let replies = [landed(&under(item_of("e", 50_000), "p")), refused(Some(&item_of("p", 1_000)))];
    let back = calls(go(&mut machine, &replies));
    assert_eq!(pks(&back), ["ns/BUCKET#e#r#0"]);
    sent(&back[0])[0].assert_change("ADD b_q_tk 2000");
    sent(&back[0])[0].assert_change("ADD b_q_tc -2000");
    let decision = decided(go(&mut machine, &[landed(&item_of("e", 52_000))]));
    assert!(matches!(decision.outcome, Outcome::Rejected { retry_after_ms: 50_000 }), "{decision:#?}");
    assert_eq!((decision.decided_by, decision.levels[1].entity.as_str()), (1, "p"));
    assert!(decision.levels.iter().all(|level| level.lease.is_none()));
}

#[test]
fn section_7_where_a_child_refuses_the_parent_is_credited() {
    let (mut machine, _) = begun(vec![level("e", 2), level("p", 2)]);
    let replies = [refused(Some(&under(item_of("e", 1_000), "p"))), landed(&item_of("p", 50_000))];
    let back = calls(go(&mut machine, &replies));
    assert_eq!(pks(&back), ["ns/BUCKET#p#r#0"]);
    let decision = decided(go(&mut machine, &[landed(&item_of("p", 52_000))]));
    assert_eq!((decision.decided_by, decision.outcome.is_admitted()), (0, false));
}

#[test]
fn r13_what_a_level_decided_is_brought_up_to_date_when_the_answer_is_given() {
    let (mut machine, _) = begun(vec![level("e", 2), level("p", 2)]);
    // The child's window ends 10 s after the parent's.
    let later = |tokens| under(item_of("e", tokens), "p").num("b_q_ws", NOW);
    let replies = [landed(&later(50_000)), refused(Some(&item_of("p", 1_000)))];
    calls(go(&mut machine, &replies));
    // The credit's reply arrives after the parent's window is over.
    let end = (NOW + 50_000) as u64;
    let decision = decided(machine.advance(end + 5, &[landed(&later(52_000))]));
    assert!(matches!(decision.outcome, Outcome::Rejected { retry_after_ms: 1 }), "{decision:#?}");
    let told = |level: usize| &decision.levels[level].limits[0];
    assert_eq!((told(1).resets_at_ms, told(1).available), (None, 100));
    assert_eq!((told(0).resets_at_ms, told(0).available), (Some(end + 10_000), 50));
}

#[test]
fn r14_a_late_answer_reports_a_shorter_wait() {
    let (mut machine, _) = begun(vec![level("e", 2), level("p", 2)]);
    let replies = [landed(&under(item_of("e", 50_000), "p")), refused(Some(&item_of("p", 1_000)))];
    calls(go(&mut machine, &replies));
    let now = (NOW + 700) as u64;
    let decision = decided(machine.advance(now, &[landed(&item_of("e", 52_000))]));
    assert!(matches!(decision.outcome, Outcome::Rejected { retry_after_ms: 49_300 }), "{decision:#?}");
}

#[test]
fn section_7_a_level_that_did_not_admit_is_not_credited() {
    let (mut machine, _) = begun(vec![level("e", 2), level("p", 2)]);
    let both = [refused(Some(&under(item_of("e", 1_000), "p"))), refused(Some(&item_of("p", 0)))];
    let decision = decided(go(&mut machine, &both));
    assert_eq!((decision.decided_by, decision.levels.len()), (0, 2));
}

#[test]
fn section_7_of_two_that_refuse_the_longer_wait_is_reported() {
    let (mut machine, _) = begun(vec![level("e", 2), level("p", 2)]);
    let later = item_of("p", 0).num("b_q_ws", NOW).num("b_q_wa", NOW);
    let both = [refused(Some(&under(item_of("e", 1_000), "p"))), refused(Some(&later))];
    let decision = decided(go(&mut machine, &both));
    assert_eq!(decision.decided_by, 1);
    assert!(matches!(decision.outcome, Outcome::Rejected { retry_after_ms: 60_000 }), "{decision:#?}");
}

#[test]
fn section_7_every_limit_of_a_level_is_credited() {
    let both = |entity| {
        let mut both = level(entity, 2);
        both.limits.push(drip());
        both.consume.push(onewindow::Amount::new("d", 3));
        both
    };
    let (mut machine, _) = begun(vec![both("e"), both("p")]);
    let took = under(item_of("e", 50_000).with_drip(20_000), "p");
    let replies = [landed(&took), refused(Some(&item_of("p", 1_000).with_drip(20_000)))];
    let back = calls(go(&mut machine, &replies));
    sent(&back[0])[0].assert_change("ADD b_q_tk 2000");
    sent(&back[0])[0].assert_change("ADD b_d_tk 3000");
}

#[test]
fn r15_a_parent_that_the_table_does_not_configure_keeps_what_its_items_say() {
    // What is the truth for the entity, and forever, is neither for those above it.
    let own = AcquireRequest { authoritative: true, permanent: true, ..level("e", 1) };
    let (mut machine, _) = begun(vec![own]);
    let second = calls(go(&mut machine, &[refused(Some(&under(item_of("e", 50_000), "p")))]));
    sent(&second[0])[0].assert_condition("b_q_cp = 100000");
    let replies = [landed(&under(item_of("e", 49_000), "p")), unconfigured()];
    let third = calls(go(&mut machine, &replies));
    sent(&third[0])[0].assert_no_condition_on("b_q_cp");
    let due = item_of("p", 50_000).num("vu", 0);
    let materialisation = calls(go(&mut machine, &[refused(Some(&due))]));
    sent(&materialisation[0])[0].assert_change(&format!("SET ttl = {}", NOW / 1000 + 420));
}

#[test]
fn section_7_where_the_table_fails_on_one_level_the_other_is_credited() {
    let (mut machine, _) = begun(vec![level("e", 2), level("p", 2)]);
    let replies = [landed(&under(item_of("e", 50_000), "p")), Reply::Failed("reset".into())];
    // After the answer: the time for it may be over already.
    let decision = decided(go(&mut machine, &replies));
    assert!(matches!(decision.outcome, Outcome::Unavailable(_)));
    assert_eq!(pks(&decision.follow_ups), ["ns/BUCKET#e#r#0"]);
    assert_eq!(decision.decided_by, 1);
}

#[test]
fn section_7_a_level_goes_its_own_way_while_the_other_waits() {
    let (mut machine, _) = begun(vec![level("e", 2), level("p", 2)]);
    // The parent's window is over: it opens one, in a locked write of its own.
    let ended = Item::shard(0, 1, 0, NOW - LENGTH).text("PK", "ns/BUCKET#p#r#0");
    let replies = [landed(&under(item_of("e", 50_000), "p")), refused(Some(&ended))];
    let materialisation = calls(go(&mut machine, &replies));
    assert_eq!(pks(&materialisation), ["ns/BUCKET#p#r#0"]);
    let opened = item_of("p", 98_000).num("b_q_ws", NOW).num("b_q_wa", NOW);
    let decision = decided(go(&mut machine, &[landed(&opened)]));
    assert!(decision.outcome.is_admitted());
    let resets: Vec<_> = decision.levels.iter().map(|level| level.limits[0].resets_at_ms).collect();
    assert_eq!(resets, [Some((NOW + 50_000) as u64), Some((NOW + LENGTH) as u64)]);
}

#[test]
fn section_7_a_chain_that_changed_restarts_and_the_orphaned_debit_is_credited() {
    let (mut machine, _) = begun(vec![level("e", 2), level("old", 2)]);
    let replies = [refused(Some(&under(item_of("e", 50_000), "new"))), landed(&item_of("old", 50_000))];
    let again = calls(go(&mut machine, &replies));
    assert_eq!(sent(&again[0])[0].pk, "ns/BUCKET#e#r#0");
    assert_eq!(asked(&again[1]).0[0], "ns/ENTITY#new");
    let replies = [landed(&under(item_of("e", 48_000), "new")), unconfigured()];
    let third = calls(go(&mut machine, &replies));
    // Nothing is configured for the parent: then what the caller brought holds for it, too.
    assert_eq!(pks(&third), ["ns/BUCKET#new#r#0"]);
    let back = calls(go(&mut machine, &[landed(&item_of("new", 50_000))]));
    assert_eq!(pks(&back), ["ns/BUCKET#old#r#0"]);
    sent(&back[0])[0].assert_change("ADD b_q_tk 2000");
    let decision = decided(go(&mut machine, &[landed(&item_of("old", 52_000))]));
    assert!(decision.outcome.is_admitted());
    let chain: Vec<_> = decision.levels.iter().map(|level| level.entity.as_str()).collect();
    assert_eq!(chain, ["e", "new"]);
}

#[test]
fn section_7_the_follow_ups_of_an_abandoned_sequence_are_sent_after_the_answer() {
    // The entity's bucket is doubled, and the new shard turns out to debit a parent.
    let subject = level("e", 1).subject;
    let hint = Hint { key: subject.hint_key(), shard_count: 2, rejections: Vec::new() };
    let (mut machine, first) = begun(vec![AcquireRequest { hint: Some(hint), ..level("e", 1) }]);
    let on = |pk: &str, count| item_of("e", 20_000).text("PK", pk).num("shard_count", count).num("rf", NOW);
    let drawn = on(&pks(&first)[0], 2).num("b_wcu_tk", 0);
    calls(go(&mut machine, &[refused(Some(&drawn))]));
    let retried = calls(go(&mut machine, &[landed(&on(&subject.bucket_pk(0), 4))]));
    let made = under(on(&pks(&retried)[0], 4), "p");
    let again = calls(go(&mut machine, &[refused(Some(&made))]));
    assert_eq!(again.len(), 2);
    let replies = [landed(&under(on(&pks(&again[..1])[0], 4), "p")), unconfigured()];
    calls(go(&mut machine, &replies));
    let decision = decided(go(&mut machine, &[landed(&item_of("p", 50_000))]));
    assert!(decision.outcome.is_admitted());
    assert_eq!(pks(&decision.follow_ups), [subject.bucket_pk(1)]);
    sent(&decision.follow_ups[0])[0].assert_change("SET shard_count = 4");
}

#[test]
fn section_7_what_a_level_let_go_had_begun_is_finished_after_the_answer() {
    // The former parent's bucket was doubled, and its new shard is on the way.
    let subject = level("old", 1).subject;
    let hint = Hint { key: subject.hint_key(), shard_count: 2, rejections: Vec::new() };
    let old = AcquireRequest { hint: Some(hint), ..level("old", 1) };
    let (mut machine, first) = begun(vec![level("e", 1), old]);
    let on = |pk: &str, count| item_of("old", 20_000).text("PK", pk).num("shard_count", count).num("rf", NOW);
    let due = under(item_of("e", 20_000), "old").num("vu", 0);
    let drawn = on(&pks(&first)[1], 2).num("b_wcu_tk", 0);
    calls(go(&mut machine, &[refused(Some(&due)), refused(Some(&drawn))]));
    let doubled = landed(&on(&subject.bucket_pk(0), 4));
    let third = calls(go(&mut machine, &[refused(Some(&due)), doubled]));
    let made = on(&pks(&third)[1], 4).num("vu", 0);
    let moved = under(item_of("e", 20_000), "new");
    calls(go(&mut machine, &[refused(Some(&moved)), refused(Some(&made))]));
    calls(go(&mut machine, &[landed(&moved), unconfigured()]));
    let decision = decided(go(&mut machine, &[landed(&item_of("new", 50_000))]));
    assert!(decision.outcome.is_admitted());
    assert_eq!(pks(&decision.follow_ups), [subject.bucket_pk(1)]);
}

#[test]
fn section_7_an_entity_that_no_longer_cascades_is_debited_alone() {
    let (mut machine, _) = begun(vec![level("e", 2), level("p", 2)]);
    let replies = [refused(Some(&item_of("e", 50_000))), landed(&item_of("p", 50_000))];
    let again = calls(go(&mut machine, &replies));
    assert_eq!(pks(&again), ["ns/BUCKET#e#r#0"]);
    let back = calls(go(&mut machine, &[landed(&item_of("e", 48_000))]));
    assert_eq!(pks(&back), ["ns/BUCKET#p#r#0"]);
    let decision = decided(go(&mut machine, &[landed(&item_of("p", 52_000))]));
    assert_eq!((decision.outcome.is_admitted(), decision.levels.len()), (true, 1));
}

#[test]
fn section_7_a_created_shard_carries_the_owner_stamps_of_an_unchanged_record() {
    let (mut machine, _) = begun(vec![level("e", 2), level("p", 2)]);
    let replies = [refused(None), landed(&item_of("p", 98_000))];
    let read = calls(go(&mut machine, &replies));
    assert!(asked(&read[0]).0.contains(&"ns/ENTITY#e".to_owned()));
    let create = calls(go(&mut machine, &[found(&[record("e", "p")])]));
    let writes = sent(&create[0]);
    for stamp in ["cascade = true", "parent_id = p", "pgen = 3", "pinc = i-1"] {
        writes[0].assert_stores(stamp);
        let check = writes.last().unwrap();
        assert_eq!((check.kind.as_str(), check.pk.as_str()), ("ConditionCheck", "ns/ENTITY#e"));
        check.assert_condition(stamp);
    }
    assert!(decided(go(&mut machine, &[committed()])).outcome.is_admitted());
}

#[test]
fn section_7_a_new_entity_is_found_to_cascade_from_its_record() {
    let (mut machine, _) = begun(vec![level("e", 2)]);
    let create = calls(go(&mut machine, &[refused(None)]));
    assert_eq!(create[0].operation, "TransactWriteItems");
    let reasons = sent(&create[0]);
    let last = reasons.len() - 1;
    let record = record("e", "p");
    let cancelled: Vec<_> = (0..=last)
        .map(|index| if index == last { ("ConditionalCheckFailed", Some(&record)) } else { ("None", None) })
        .collect();
    let again = calls(go(&mut machine, &[crate::kit::cancelled(&cancelled)]));
    sent(&again[0])[0].assert_condition("parent_id = p");
    assert_eq!(asked(&again[1]).0[0], "ns/ENTITY#p");
}

#[test]
fn section_7_a_parent_is_debited_only_what_its_limits_name() {
    let both = AcquireRequest {
        consume: vec![onewindow::Amount::new("q", 2), onewindow::Amount::new("d", 1)],
        limits: vec![quota(), drip()],
        ..level("e", 2)
    };
    let parent = AcquireRequest {
        limits: vec![drip()],
        ..AcquireRequest { subject: level("p", 1).subject, ..both.clone() }
    };
    let none = AcquireRequest {
        limits: vec![Limit::drip("x", 1, 1, 1)],
        ..AcquireRequest { subject: level("g", 1).subject, ..both.clone() }
    };
    let (_, first) = begun(vec![both.clone(), parent]);
    sent(&first[1])[0].assert_no_change_of("b_q");
    sent(&first[1])[0].assert_change("ADD b_d_tk -1000");
    let (mut machine, first) = begun(vec![both, none]);
    assert_eq!(first.len(), 1);
    let item = under(item_of("e", 50_000).with_drip(10_000), "g");
    let decision = decided(go(&mut machine, &[landed(&item)]));
    assert!(decision.outcome.is_admitted());
    assert!(decision.levels[1].lease.is_none());
}

#[test]
fn section_7_a_parent_that_is_switched_off_switches_off_its_children() {
    let (mut machine, _) = begun(vec![level("e", 1)]);
    let second = go(&mut machine, &[refused(Some(&under(item_of("e", 50_000), "p")))]);
    assert_eq!(calls(second).len(), 2);
    let off = Item::default().text("PK", "ns/ENTITY#p").text("SK", "#CONFIG#_default_").flag("disabled");
    let back = calls(go(&mut machine, &[landed(&under(item_of("e", 49_000), "p")), found(&[off])]));
    assert_eq!(pks(&back), ["ns/BUCKET#e#r#0"]);
    let decision = decided(go(&mut machine, &[landed(&item_of("e", 50_000))]));
    assert_eq!((decision.outcome, decision.decided_by), (Outcome::Disabled, 1));
}

#[test]
fn section_7_a_chain_that_leads_back_is_refused() {
    let (mut machine, _) = begun(vec![level("e", 1), level("p", 1)]);
    let replies =
        [landed(&under(item_of("e", 50_000), "p")), refused(Some(&under(item_of("p", 50_000), "e")))];
    let back = calls(go(&mut machine, &replies));
    assert_eq!(pks(&back), ["ns/BUCKET#e#r#0"]);
    let decision = decided(go(&mut machine, &[landed(&item_of("e", 51_000))]));
    match decision.outcome {
        Outcome::Failed(error) => assert_eq!(error.code, ErrorCode::Unsupported),
        other => panic!("{other:?}"),
    }
}

#[test]
fn section_7_a_chain_may_be_eight_entities_long() {
    let (mut machine, first) = begun((0..8).map(|n| level(&format!("e{n}"), 1)).collect());
    assert_eq!(first.len(), 8);
    let replies: Vec<_> = (0..8)
        .map(|n| match n {
            7 => refused(Some(&under(item_of("e7", 50_000), "e8"))),
            _ => landed(&under(item_of(&format!("e{n}"), 50_000), &format!("e{}", n + 1))),
        })
        .collect();
    let back = calls(go(&mut machine, &replies));
    assert_eq!(back.len(), 7);
    let given: Vec<_> = (0..7).map(|n| landed(&item_of(&format!("e{n}"), 51_000))).collect();
    match decided(go(&mut machine, &given)).outcome {
        Outcome::Failed(error) => assert!(error.message.contains("longer than 8"), "{error}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn section_7_items_that_never_agree_end_as_contended() {
    let (mut machine, mut asked) = begun(vec![level("e", 1)]);
    let mut steps = 0; // each asks the entity once
    let decision = loop {
        steps += 1;
        assert!(steps < 60, "no end");
        let parent = format!("p{steps}");
        let replies: Vec<_> = asked
            .iter()
            .map(|call| match call.operation {
                "BatchGetItem" => unconfigured(),
                _ if sent(call)[0].pk.contains("#e#") => refused(Some(&under(item_of("e", 50_000), &parent))),
                _ => landed(&item_of("p", 50_000).text("PK", &sent(call)[0].pk)),
            })
            .collect();
        match go(&mut machine, &replies) {
            Step::Perform(calls) => asked = calls,
            Step::Done(decision) => break decision,
        }
    };
    assert!(matches!(decision.outcome, Outcome::Contended { .. }), "{decision:#?}");
    assert_eq!(steps, 13, "restarted twelve times");
}

#[test]
fn section_7_without_a_cascade_such_an_item_is_refused_as_before() {
    let (_, step) = after_refusal(request(1), Some(&under(Item::live(50_000), "p")));
    match done(step).outcome {
        Outcome::Failed(error) => assert_eq!(error.code, ErrorCode::Unsupported),
        other => panic!("{other:?}"),
    }
    let (_, step) = after_refusal(request(1), Some(&Item::live(50_000).flag("cascade")));
    assert!(matches!(done(step).outcome, Outcome::Failed(_)));
}

/// It ends in an error of this code.
#[track_caller]
fn assert_failed(step: Step<CascadeDecision>, code: ErrorCode) {
    match decided(step).outcome {
        Outcome::Failed(error) => assert_eq!(error.code, code, "{error}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn section_7_misuse_is_answered() {
    let (mut machine, _) = begun(vec![level("e", 1)]);
    assert_failed(go(&mut machine, &[]), ErrorCode::Other);
    assert_failed(go(&mut machine, &[]), ErrorCode::Other);
    let mut machine = Cascade::new(vec![level("e", 1)]);
    assert_failed(go(&mut machine, &[committed()]), ErrorCode::Other);
    let mut machine = Cascade::new(vec![AcquireRequest { subject: Subject::default(), ..level("e", 1) }]);
    assert_failed(machine.advance(1, &[http(200, &json!({}))]), ErrorCode::Other);
    // After a decision.
    let (mut machine, _) = begun(vec![level("e", 1)]);
    assert!(decided(go(&mut machine, &[landed(&item_of("e", 50_000))])).outcome.is_admitted());
    assert_failed(go(&mut machine, &[]), ErrorCode::Other);
    // While a level is credited.
    for replies in [0, 2] {
        let (mut machine, _) = begun(vec![level("e", 2), level("p", 2)]);
        let both = [landed(&under(item_of("e", 50_000), "p")), refused(Some(&item_of("p", 1_000)))];
        assert_eq!(calls(go(&mut machine, &both)).len(), 1);
        assert_failed(go(&mut machine, &vec![committed(); replies]), ErrorCode::Other);
    }
}

#[test]
fn section_7_an_invalid_chain_is_refused_before_any_call() {
    let refused = |levels| assert_failed(go(&mut Cascade::new(levels), &[]), ErrorCode::InvalidRequest);
    refused(Vec::new());
    refused((0..9).map(|index| level(&format!("e{index}"), 1)).collect());
    refused(vec![AcquireRequest { subject: Subject::default(), ..level("e", 1) }]);
    let elsewhere = Subject { table: "limits2".into(), ..level("p", 1).subject };
    refused(vec![level("e", 1), AcquireRequest { subject: elsewhere, ..level("p", 1) }]);
}
