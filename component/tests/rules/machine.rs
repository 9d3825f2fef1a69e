//! Section 6: the outcome of a refused image, doubling, rounds, hints, and questions.

use onewindow::{
    Acquire, AcquireRequest, Amount, Hint, KnownRejection, Limit, LimitStatus, MAX_LIMITS, Outcome, Reply,
    Resend, Step,
};

use crate::kit::*;

const START: i64 = NOW - 10_000;

/// Whether the step is one locked update.
#[track_caller]
fn assert_locked_write(step: Step) {
    let write = &sent(&only(step))[0];
    assert_eq!(write.kind, "Update");
    assert!(write.changes[0].starts_with("SET rf = "), "{:#?}", write.changes);
}

// ---- 6.1: the order of the classification ----

#[test]
fn f18_a_refusal_without_an_item_means_there_is_none() {
    let (_, step) = after_refusal(request(1), None);
    let call = only(step);
    assert_eq!((call.operation, sent(&call)[0].kind.as_str()), ("TransactWriteItems", "Put"));
}

#[test]
fn section_6_disabled_comes_before_everything_that_is_due() {
    let item = Item::shard(0, 1, 0, NOW - LENGTH).flag("disabled").num("ttl", 5).num("b_wcu_tk", 0);
    let (_, step) = after_refusal(request(1), Some(&item));
    assert_eq!(done(step).outcome, Outcome::Disabled);
    // And before the limit that is missing.
    let (_, step) = after_refusal(request(1), Some(&Item::bare(0).flag("disabled")));
    assert_eq!(done(step).outcome, Outcome::Disabled);
}

#[test]
fn f25_an_expired_ttl_is_materialised_and_renewed() {
    let at = |seconds| Item::live(50_000).num("ttl", seconds);
    let (_, step) = after_refusal(request(1), Some(&at(NOW / 1000)));
    let write = &sent(&only(step))[0];
    write.assert_change(&format!("SET ttl = {}", NOW / 1000 + 420));
    // One second more is not expired: whatever refused it has passed.
    let (_, step) = after_refusal(request(1), Some(&at(NOW / 1000 + 1)));
    sent(&only(step))[0].assert_condition("b_wcu_tk >= 1000");
    // Both: the window is over, too.
    let both = Item::shard(0, 1, 0, NOW - LENGTH).num("ttl", 5);
    let (_, step) = after_refusal(request(1), Some(&both));
    let write = &sent(&only(step))[0];
    write.assert_change(&format!("SET b_q_ws = {NOW}"));
    write.assert_change(&format!("SET ttl = {}", NOW / 1000 + 420));
}

#[test]
fn f25_a_permanent_item_loses_its_ttl() {
    let permanent = AcquireRequest { permanent: true, ..request(1) };
    let (_, step) = after_refusal(permanent, Some(&Item::live(50_000).num("ttl", 5)));
    sent(&only(step))[0].assert_change("REMOVE ttl");
}

#[test]
fn section_6_valid_until_is_exclusive() {
    for (vu, is_due) in [(0, true), (NOW, true), (NOW + 1, false)] {
        let (_, step) = after_refusal(request(1), Some(&Item::live(50_000).num("vu", vu)));
        let write = sent(&only(step)).remove(0);
        assert_eq!(write.changes[0].starts_with("SET rf"), is_due, "vu {vu}");
    }
}

#[test]
fn section_6_ended_and_pending_windows_are_materialised() {
    assert_locked_write(after_refusal(request(1), Some(&Item::shard(0, 1, 0, NOW - LENGTH))).1);
    let pending = Item::live(0).num("b_q_wa", START - 1);
    assert_locked_write(after_refusal(request(1), Some(&pending)).1);
}

#[test]
fn section_6_a_refill_that_would_satisfy_it_is_materialised() {
    let mut both = request(1);
    both.limits.push(drip());
    both.consume.push(Amount::new("d", 1));
    assert_locked_write(after_refusal(both.clone(), Some(&Item::live(5000).with_drip(0))).1);
    let (_, step) = after_refusal(both, Some(&Item::live(5000).with_drip(-1)));
    assert_eq!(retry_after(&done(step)), 2, "a thousandth is missing after a second");
}

#[test]
fn section_6_a_short_write_budget_doubles() {
    let tired = Item::live(50_000).num("b_wcu_tk", 0).num("rf", NOW);
    let (_, step) = after_refusal(request(1), Some(&tired));
    let write = &sent(&only(step))[0];
    assert_eq!(write.pk, subject().bucket_pk(0));
    assert_eq!(write.changes, ["SET shard_count = 2"]);
    assert_eq!(
        write.conditions,
        [
            "attribute_exists(PK)",
            "(attribute_not_exists(shard_count) OR shard_count <= 1)",
            "(attribute_exists(b_q_gc) OR attribute_not_exists(b_q_tk))"
        ]
    );
    // Half of the budget has refilled meanwhile: a locked write.
    assert_locked_write(after_refusal(request(1), Some(&tired.clone().num("rf", NOW - 500))).1);
    // A rejected request is no reason to double.
    let (_, step) = after_refusal(request(60), Some(&tired));
    retry_after(&done(step));
}

#[test]
fn section_6_an_item_without_a_write_budget_is_no_reason_to_double() {
    let item = ["tk", "cp", "ra", "rp", "tc"]
        .iter()
        .fold(Item::live(50_000), |item, field| item.without(&format!("b_wcu_{field}")));
    assert_locked_write(after_refusal(request(1), Some(&item)).1);
}

#[test]
fn f23_a_named_limit_that_is_missing_is_seeded() {
    let (_, step) = after_refusal(request(1), Some(&Item::bare(0).with_drip(0)));
    let write = &sent(&only(step))[0];
    write.assert_condition("attribute_not_exists(b_q_tk)");
    write.assert_change("SET b_q_tk = 99000");
    write.assert_change(&format!("SET b_q_ws = {NOW}"));
    write.assert_change(&format!("SET vu = {}", NOW + LENGTH));
    write.assert_condition("attribute_not_exists(vu)");
}

#[test]
fn f23_a_quota_that_never_started_opens() {
    let item = Item::live(100_000).without("b_q_ws").without("b_q_wa").without("vu");
    let (_, step) = after_refusal(request(1), Some(&item));
    let write = &sent(&only(step))[0];
    write.assert_condition("attribute_not_exists(b_q_ws)");
    write.assert_condition("attribute_not_exists(b_q_wa)");
    write.assert_change(&format!("SET b_q_ws = {NOW}"));
}

#[test]
fn section_6_everything_else_is_rejected_with_no_second_request() {
    let (_, step) = after_refusal(request(2), Some(&Item::live(1999)));
    assert_eq!(retry_after(&done(step)), 50_000);
}

#[test]
fn section_7_a_cascade_or_a_schedule_is_a_clear_error() {
    for item in [
        Item::live(50_000).flag("cascade"),
        Item::live(50_000).num("vu", 0).text("sched", "0 0 * * *"),
        Item::live(50_000).num("vu", 0).text("b_q_rsched", "0 0 * * *"),
    ] {
        let (_, step) = after_refusal(request(1), Some(&item));
        let Outcome::Failed(error) = done(step).outcome else { panic!() };
        assert_eq!(error.code.as_str(), "unsupported");
    }
    // The marker for "none of its own" is none.
    assert_locked_write(
        after_refusal(request(1), Some(&Item::live(50_000).num("vu", 0).text("sched", "-"))).1,
    );
}

// ---- 6.3: rounds ----

#[test]
fn section_6_contended_after_four_rounds() {
    let due = Item::live(50_000).num("vu", 0);
    let (mut machine, _) = started(request(1));
    for _ in 0..3 {
        assert_locked_write(next(&mut machine, refused(Some(&due))));
        only(next(&mut machine, refused(Some(&due)))); // and back to the fast write
    }
    assert_locked_write(next(&mut machine, refused(Some(&due))));
    let decision = done(next(&mut machine, refused(Some(&due))));
    assert_eq!(decision.outcome, Outcome::Contended { retry_after_ms: 100 });
}

#[test]
fn section_6_a_survey_may_follow_the_fourth_round() {
    let due = Item::shard(0, 2, 50_000, START).num("vu", 0);
    let (mut machine, _) = started(drawn(60, 0, 2));
    for _ in 0..3 {
        only(next(&mut machine, refused(Some(&due.clone().num("b_q_gc", 1).num("b_q_tk", 90_000)))));
        only(next(&mut machine, refused(Some(&due))));
    }
    let items = [Item::shard(0, 2, 0, START), Item::shard(1, 2, 0, START)];
    let survey = only(next(&mut machine, refused(Some(&items[0]))));
    assert_eq!(survey.operation, "BatchGetItem");
    assert_eq!(retry_after(&done(next(&mut machine, found(&items)))), 50_000);
}

#[test]
fn section_6_admitted_only_by_a_write_that_landed() {
    let due = Item::live(50_000).num("vu", 0);
    for answer in [committed(), found(&[]), refused(None), error("ThrottlingException")] {
        let (mut machine, _) = started(request(1));
        only(next(&mut machine, refused(Some(&due))));
        match next(&mut machine, answer.clone()) {
            Step::Done(decision) => assert!(!decision.outcome.is_admitted(), "{answer:?}"),
            Step::Perform(_) => {}
        }
    }
}

#[test]
fn section_6_no_step_after_the_decision() {
    let (mut machine, step) = after_refusal(request(2), Some(&Item::live(1000)));
    done(step);
    let Outcome::Failed(error) = done(machine.advance(NOW as u64, &[])).outcome else { panic!() };
    assert_eq!(error.code.as_str(), "other");
}

// ---- 6.9: doubling ----

/// A shard whose write budget is spent.
fn tired(shard: u32, count: u32) -> Item {
    Item::shard(shard, count, 3000, START).num("b_wcu_tk", 0).num("rf", NOW)
}

#[test]
fn section_6_9_draws_among_the_new_shards_and_raises_the_old_ones_afterwards() {
    let (mut machine, step) = after_refusal(drawn(1, 2, 4), Some(&tired(2, 4)));
    let write = &sent(&only(step))[0];
    assert_eq!(write.pk, subject().bucket_pk(0));
    write.assert_condition("shard_count = 4");
    let call = only(next(&mut machine, landed(&Item::shard(0, 8, 3000, START).num("b_q_gc", 4))));
    let drawn: u32 = sent(&call)[0].pk.rsplit('#').next().unwrap().parse().unwrap();
    assert!((4..8).contains(&drawn), "shard {drawn}");
    let decision = done(next(&mut machine, landed(&Item::shard(drawn, 8, 3000, START))));
    let raises: Vec<_> = decision.follow_ups.iter().map(|call| sent(call).remove(0)).collect();
    assert_eq!(
        raises.iter().map(|raise| raise.pk.clone()).collect::<Vec<_>>(),
        [1, 2, 3].map(|shard| { subject().bucket_pk(shard) })
    );
    for raise in raises {
        assert_eq!(raise.changes, ["SET shard_count = 8"]);
        raise.assert_condition("shard_count < 8");
        raise.assert_condition("(attribute_exists(b_q_gc) OR attribute_not_exists(b_q_tk))");
    }
    assert_eq!(decision.hint.shard_count, 8);
}

#[test]
fn section_6_9_is_refused_at_32() {
    let full =
        |count| AcquireRequest { limits: vec![Limit::session("q", 100_000, 60)], ..drawn(1, 0, count) };
    let item = |count| tired(0, count).num("b_q_cp", 100_000_000);
    assert_locked_write(after_refusal(full(32), Some(&item(32))).1);
    let (_, step) = after_refusal(full(16), Some(&item(16)));
    sent(&only(step))[0].assert_change("SET shard_count = 32");
}

#[test]
fn f5_is_refused_where_a_share_would_fall_below_one_token() {
    let item = |cp| tired(0, 4).num("b_q_cp", cp);
    let (_, step) = after_refusal(drawn(1, 0, 4), Some(&item(8000)));
    sent(&only(step))[0].assert_change("SET shard_count = 8");
    assert_locked_write(after_refusal(drawn(1, 0, 4), Some(&item(7999))).1);
    // A dripping limit sets no such bound.
    let mut drips = drawn(1, 0, 4);
    (drips.limits, drips.consume) = (vec![drip()], vec![Amount::new("d", 1)]);
    let item = Item::bare(0).num("shard_count", 4).limit("d", 2000, 4000, 4000, 1000).num("b_wcu_tk", 0);
    let (_, step) = after_refusal(drips, Some(&item.num("rf", NOW)));
    sent(&only(step))[0].assert_change("SET shard_count = 8");
}

#[test]
fn section_6_9_once_a_request() {
    let (mut machine, step) = after_refusal(request(1), Some(&tired(0, 1)));
    only(step);
    let call = only(next(&mut machine, landed(&Item::shard(0, 2, 3000, START).num("b_q_gc", 1))));
    assert_eq!(sent(&call)[0].pk, subject().bucket_pk(1));
    assert_locked_write(next(&mut machine, refused(Some(&tired(1, 2)))));
}

/// Whether an acquire that drew `item`, one of `count` shards, doubles the count; else it sends a locked write.
fn doubles(count: u32, item: &Item) -> bool {
    let request = AcquireRequest { limits: vec![Limit::session("q", 100_000, 60)], ..drawn(1, 0, count) };
    let (_, step) = after_refusal(request, Some(item));
    let doubles = sent(&only(step.clone()))[0].changes == [format!("SET shard_count = {}", count * 2)];
    if !doubles {
        assert_locked_write(step);
    }
    doubles
}

#[test]
fn section_6_9_a_budget_that_comes_back_by_less_than_half_doubles_too() {
    let spent = |ms| tired(2, 4).num("rf", NOW - ms);
    assert!(doubles(4, &spent(499)));
    assert!(!doubles(4, &spent(500)));
    // What is left of one write counts.
    assert!(doubles(4, &spent(499).num("b_wcu_tk", 999)));
    assert!(!doubles(4, &spent(500).num("b_wcu_tk", 999)));
    assert!(!doubles(4, &spent(499).num("b_wcu_tk", 1000).num("vu", 0)), "then it is not the budget");
    // However small the budget is: one write is the least that is of use.
    let small = |ms| spent(ms).num("b_wcu_cp", 1000);
    assert!(doubles(4, &small(0).num("b_wcu_tk", 600)));
    assert!(!doubles(4, &small(1000)));
}

#[test]
fn section_6_9_an_older_shard_is_outgrown_only_where_it_has_no_write_left() {
    // It holds what an earlier doubling left it, so a spent remainder proves little.
    for (shard, count, spent) in [(0, 1, true), (0, 2, false), (1, 2, true), (1, 4, false), (2, 4, true)] {
        assert_eq!(doubles(count, &tired(shard, count).num("rf", NOW - 1)), spent, "{shard} of {count}");
        assert!(doubles(count, &tired(shard, count)), "{shard} of {count}");
    }
}

#[test]
fn section_6_9_a_window_that_ended_comes_first() {
    let ended = Item::shard(0, 1, 0, NOW - LENGTH).num("rf", NOW - 100).num("b_wcu_tk", 0);
    assert!(!doubles(1, &ended));
}

#[test]
fn section_6_9_a_grant_without_a_size_gets_one_first() {
    let old = tired(0, 2).without("b_q_gc").num("b_q_tk", 60_000);
    let (mut machine, step) = after_refusal(drawn(1, 0, 2), Some(&old));
    only(step);
    let write = &sent(&only(next(&mut machine, refused(Some(&old)))))[0];
    assert_eq!(write.changes, ["SET shard_count = 4", "SET b_q_gc = 1"], "60 of 100 was sized at one");
    write.assert_condition("shard_count = 2");
    write.assert_condition("attribute_not_exists(b_q_gc)");
    write.assert_condition("b_q_tk = 60000");
}

#[test]
fn section_6_9_a_doubling_that_keeps_losing_comes_to_an_end() {
    // Its balance moves each time, so the size can never be pinned.
    let mut old = tired(0, 2).without("b_q_gc");
    let (mut machine, step) = after_refusal(drawn(1, 0, 2), Some(&old));
    let mut step = step;
    for round in 0..12 {
        match step {
            Step::Done(_) => return,
            Step::Perform(_) => {
                old = old.num("b_q_tk", 3000 - round);
                step = next(&mut machine, refused(Some(&old)));
            }
        }
    }
    panic!("still going: {step:?}");
}

#[test]
fn section_6_9_somebody_else_doubled_first() {
    let (mut machine, step) = after_refusal(request(1), Some(&tired(0, 1)));
    only(step);
    let call = only(next(&mut machine, refused(Some(&Item::shard(0, 2, 3000, START)))));
    assert_eq!(sent(&call)[0].pk, subject().bucket_pk(1));
}

#[test]
fn section_6_9_a_shard_0_that_knows_fewer_shards_is_not_what_doubles() {
    // Behind, its grant without a size: a join raises it. And a count that no doubling writes.
    let behind = Item::shard(0, 1, 3000, START).without("b_q_gc");
    for item in [behind, Item::shard(0, 3, 3000, START)] {
        let (mut machine, step) = after_refusal(drawn(1, 1, 2), Some(&tired(1, 2)));
        only(step);
        let write = sent(&only(next(&mut machine, refused(Some(&item))))).remove(0);
        assert_eq!(write.pk, subject().bucket_pk(1));
        write.assert_condition("b_wcu_tk >= 1000");
    }
}

#[test]
fn section_6_9_does_not_bring_a_lost_shard_0_back_to_life() {
    // An update makes the item it does not find: a stub without balances.
    let (mut machine, step) = after_refusal(drawn(1, 1, 2), Some(&tired(1, 2)));
    let write = &sent(&only(step))[0];
    write.assert_condition("attribute_exists(PK)");
    let call = only(next(&mut machine, refused(None)));
    assert_eq!(sent(&call)[0].pk, subject().bucket_pk(0));
}

// ---- F3: questions ----

#[test]
fn f3_a_question_is_a_read_and_nothing_else() {
    let mut machine = Acquire::new(request(0));
    let call = only(machine.advance(NOW as u64, &[]));
    assert_eq!((call.operation, call.resend), ("BatchGetItem", Resend::Idempotent));
    let decision = done(next(&mut machine, found(&[Item::live(7000)])));
    assert!(decision.outcome.is_admitted());
    assert_eq!(decision.limits[0].available, 7);
    assert_eq!(decision.limits[0].resets_at_ms, Some((NOW + 50_000) as u64));
    assert!(decision.follow_ups.is_empty());
}

#[test]
fn f3_a_question_about_nothing_at_all_is_answered_too() {
    let decision = played(request(0), vec![found(&[])]);
    assert!(decision.outcome.is_admitted());
    assert_eq!((decision.limits[0].available, decision.limits[0].resets_at_ms), (100, None));
}

#[test]
fn r15_a_question_waits_while_the_limit_is_in_debt() {
    assert_eq!(retry_after(&played(request(0), vec![found(&[Item::live(-1)])])), 50_000);
    assert!(played(request(0), vec![found(&[Item::live(0)])]).outcome.is_admitted());
}

#[test]
fn r15_a_question_does_not_wait_where_a_live_stamp_admits_everything() {
    for stamp in ["bypass", "b_q_soft"] {
        let item = |until| Item::live(-5000).num(stamp, until);
        assert!(played(request(0), vec![found(&[item(NOW + 1)])]).outcome.is_admitted(), "{stamp}");
        assert_eq!(retry_after(&played(request(0), vec![found(&[item(NOW)])])), 50_000, "{stamp}");
    }
}

#[test]
fn section_6_a_live_stamp_waives_the_balance_and_nothing_else() {
    for stamp in ["bypass", "b_q_soft"] {
        let item = Item::live(0).num("vu", 0).num(stamp, NOW + 1);
        assert_locked_write(after_refusal(request(5), Some(&item)).1);
        let (_, step) = after_refusal(request(5), Some(&item.num(stamp, NOW)));
        retry_after(&done(step));
    }
}

#[test]
fn section_6_a_live_stamp_is_no_reason_for_a_materialisation() {
    // Not short: whatever refused the write has passed, and it is tried again.
    for stamp in ["bypass", "b_q_soft"] {
        let stamped = |until| after_refusal(request(5), Some(&Item::live(0).num(stamp, until))).1;
        sent(&only(stamped(NOW + 1)))[0].assert_condition("b_wcu_tk >= 1000");
        assert_eq!(retry_after(&done(stamped(NOW))), 50_000, "{stamp}");
    }
}

#[test]
fn section_6_one_write_is_budget_enough() {
    let with = |wcu| Item::live(50_000).num("b_wcu_tk", wcu).num("rf", NOW);
    let (_, step) = after_refusal(request(1), Some(&with(1000)));
    sent(&only(step))[0].assert_condition("b_wcu_tk >= 1000");
    let (_, step) = after_refusal(request(1), Some(&with(999)));
    sent(&only(step))[0].assert_change("SET shard_count = 2");
}

// ---- F6: hints ----

fn blocked_hint(until_ms: i64) -> Hint {
    let status =
        LimitStatus { name: "q".into(), capacity: 100, available: 3, resets_at_ms: Some(until_ms as u64) };
    let rejections = vec![KnownRejection { status, above_milli: 3000, until_ms: until_ms as u64 }];
    Hint { key: subject().hint_key(), shard_count: 1, rejections }
}

#[test]
fn f6_a_rejection_is_remembered_until_its_instant_and_not_a_moment_longer() {
    let decision = done(after_refusal(request(5), Some(&Item::live(3000))).1);
    let hint = decision.hint;
    let until = NOW as u64 + 50_000;
    assert_eq!(hint.reject(&request(5), NOW as u64).map(|it| retry_after(&it)), Some(50_000));
    assert_eq!(hint.reject(&request(4), until - 1).map(|it| retry_after(&it)), Some(1));
    assert_eq!(hint.reject(&request(5), until), None);
    assert_eq!(hint.reject(&request(3), NOW as u64), None, "what is left may be had");
    let remembered = hint.reject(&request(5), NOW as u64).unwrap();
    assert_eq!(remembered.limits[0].resets_at_ms, Some(until));
    assert!(remembered.follow_ups.is_empty());
}

#[test]
fn f6_a_remembered_rejection_brings_no_hint_that_would_never_grow_old() {
    let remembered = blocked_hint(NOW + 50_000).reject(&request(5), NOW as u64).unwrap();
    assert_eq!(remembered.hint, Hint::default());
    assert_eq!(remembered.hint.key, "", "nothing to remember");
}

#[test]
fn f6_never_for_another_limit_resource_or_entity() {
    let hint = blocked_hint(NOW + 5);
    assert!(hint.reject(&request(5), NOW as u64).is_some());
    let mut other = request(5);
    other.subject.resource = "r2".into();
    assert_eq!(hint.reject(&other, NOW as u64), None);
    let mut other = request(5);
    other.subject.entity = "e2".into();
    assert_eq!(hint.reject(&other, NOW as u64), None);
    let mut other = request(5);
    other.subject.table = "limits2".into();
    assert_eq!(hint.reject(&other, NOW as u64), None);
    let mut other = request(5);
    (other.consume, other.limits) = (vec![Amount::new("q2", 5)], vec![Limit::session("q2", 100, 60)]);
    assert_eq!(hint.reject(&other, NOW as u64), None);
    let mut unsound = request(5);
    unsound.consume.push(Amount::new("wcu", 1));
    assert_eq!(hint.reject(&unsound, NOW as u64), None, "the machine answers what is wrong with it");
}

#[test]
fn f6_a_drip_is_remembered_for_the_amount_that_was_asked() {
    let mut asks = request(0);
    (asks.limits, asks.consume) = (vec![drip()], vec![Amount::new("d", 10)]);
    let item = Item::bare(0).with_drip(0).num("rf", NOW);
    let hint = done(after_refusal(asks.clone(), Some(&item)).1).hint;
    let wait = |tokens, now| {
        let asks = AcquireRequest { consume: vec![Amount::new("d", tokens)], ..asks.clone() };
        hint.reject(&asks, now).map(|it| retry_after(&it))
    };
    assert_eq!(wait(10, NOW as u64), Some(10_001));
    assert_eq!(wait(9, NOW as u64), None, "less fits sooner");
    assert_eq!(wait(11, NOW as u64 + 10_001), None);
}

#[test]
fn f6_f17_what_never_fits_is_not_answered_with_a_wait() {
    let hint = blocked_hint(NOW + 50_000);
    for tokens in [101, u64::MAX] {
        assert_eq!(hint.reject(&request(tokens), NOW as u64), None, "the machine refuses it without a call");
    }
    // Nor where only the item knows the capacity.
    let learned = AcquireRequest { limits: Vec::new(), ..request(101) };
    assert_eq!(hint.reject(&learned, NOW as u64), None);
}

#[test]
fn f6_f17_the_configuration_decides_what_fits_before_what_is_remembered() {
    let hint = blocked_hint(NOW + 50_000);
    let raised = |tokens| AcquireRequest { limits: vec![Limit::session("q", 200, 60)], ..request(tokens) };
    assert_eq!(hint.reject(&raised(150), NOW as u64).map(|it| retry_after(&it)), Some(50_000));
    assert_eq!(hint.reject(&raised(201), NOW as u64), None);
}

#[test]
fn f6_a_remembered_rejection_lasts_until_the_first_shard_comes_back() {
    // The windows are staggered by a lost propagation: shard 0 is full again long before shard 1.
    let items = [Item::shard(0, 2, 0, NOW - 50_000), Item::shard(1, 2, 0, START)];
    let (mut machine, step) = after_refusal(drawn(5, 0, 2), Some(&items[0]));
    only(step);
    let decision = done(next(&mut machine, found(&items)));
    assert_eq!(retry_after(&decision), 50_000, "the latest is reported (R13)");
    let first = NOW as u64 + 10_000;
    let hint = decision.hint;
    assert_eq!(hint.reject(&request(5), first), None, "but from here on the table is asked");
    let remembered = hint.reject(&request(5), first - 1).unwrap();
    assert_eq!(retry_after(&remembered), 40_001, "and the reported instant stays the same");
}

#[test]
fn f6_a_hint_about_another_subject_or_with_an_illegal_count_is_not_used() {
    for (key, count) in [("else", 8), (subject().hint_key().as_str(), 3), (subject().hint_key().as_str(), 64)]
    {
        let hint = Some(Hint { key: key.into(), shard_count: count, rejections: Vec::new() });
        let (_, call) = started(AcquireRequest { hint, seed: 12_345, ..request(1) });
        assert_eq!(sent(&call)[0].pk, subject().bucket_pk(0), "{key} {count}");
    }
}

// ---- F16, F17 ----

#[test]
fn f16_a_rejected_request_debits_nothing() {
    let (mut machine, step) = after_refusal(request(5), Some(&Item::live(2000)));
    assert!(done(step).follow_ups.is_empty());
    let _ = machine.advance(NOW as u64, &[]);
    // The next one is a fast write of its own.
    let (_, call) = started(request(1));
    sent(&call)[0].assert_change("ADD b_q_tk -1000");
}

#[test]
fn f17_amounts_at_every_edge() {
    for tokens in [1, 25, 26, 100] {
        let (_, call) = started(request(tokens));
        sent(&call)[0].assert_change(&format!("ADD b_q_tk -{}", tokens * 1000));
    }
    for tokens in [101, (1 << 63) - 1, 1 << 63, u64::MAX] {
        let decision = done(Acquire::new(request(tokens)).advance(NOW as u64, &[]));
        assert_eq!(decision.outcome, Outcome::NeverFits { limit: "q".into() }, "{tokens}");
    }
}

#[test]
fn f17_where_only_the_item_knows_the_capacity() {
    let learned = |tokens| AcquireRequest { limits: Vec::new(), ..request(tokens) };
    for tokens in [101, i64::MAX as u64, u64::MAX] {
        let decision = played(learned(tokens), vec![found(&[Item::live(5000)])]);
        assert_eq!(decision.outcome, Outcome::NeverFits { limit: "q".into() }, "{tokens}");
    }
    let (mut machine, _) = started(learned(100));
    let write = sent(&only(next(&mut machine, found(&[Item::live(5000)])))).remove(0);
    write.assert_change("ADD b_q_tk -100000");
}

#[test]
fn f8_the_largest_quota_is_exact() {
    let most = onewindow::MAX_TOKENS;
    let request = AcquireRequest { limits: vec![Limit::session("q", most, 60)], ..request(most - 1) };
    let (mut machine, call) = started(request);
    assert!(call.body.contains("\"-999999999999999000\""), "{}", call.body);
    let item = Item::live(1000).num("b_q_cp", 1_000_000_000_000_000_000_i64);
    let decision = done(next(&mut machine, landed(&item)));
    assert_eq!((decision.limits[0].capacity, decision.limits[0].available), (most, 1));
}

#[test]
fn f4_capacity_one() {
    let one = |tokens| AcquireRequest { limits: vec![Limit::session("q", 1, 60)], ..request(tokens) };
    let (_, step) = after_refusal(one(1), None);
    sent(&only(step))[0].assert_stores("b_q_tk = 0");
    let spent = Item::live(0).num("b_q_cp", 1000);
    assert_eq!(retry_after(&done(after_refusal(one(1), Some(&spent)).1)), 50_000);
}

#[test]
fn f7_names_with_points_dashes_slashes_and_colons() {
    let name = "tokens.v2-beta";
    let subject = onewindow::Subject::new("limits", "ns", "team:a@b.example", "openai/gpt-4:8k");
    let request = AcquireRequest {
        subject,
        consume: vec![Amount::new(name, 1)],
        limits: vec![Limit::session(name, 100, 60)],
        ..AcquireRequest::default()
    };
    let (_, call) = started(request);
    let write = &sent(&call)[0];
    assert_eq!(write.pk, "ns/BUCKET#team:a@b.example#openai/gpt-4:8k#0");
    write.assert_change("ADD b_tokens.v2-beta_tk -1000");
}

// ---- F14, F26: what is reported ----

#[test]
fn f26_a_full_quota_has_no_instant() {
    let over = Item::shard(0, 1, 0, NOW - LENGTH);
    let decision = played(request(0), vec![found(&[over])]);
    assert_eq!((decision.limits[0].available, decision.limits[0].resets_at_ms), (100, None));
}

#[test]
fn f26_an_admission_that_opened_reports_the_new_end() {
    let over = Item::shard(0, 1, 0, NOW - LENGTH);
    let (mut machine, step) = after_refusal(request(1), Some(&over));
    only(step);
    let decision = done(next(&mut machine, landed(&over)));
    assert_eq!(decision.limits[0].resets_at_ms, Some((NOW + LENGTH) as u64));
    assert_eq!(decision.limits[0].available, 99);
}

#[test]
fn section_6_a_seed_that_is_drawn_badly_draws_every_shard() {
    // Counters, and numbers whose low bits carry nothing.
    for shift in [0, 16, 32, 40] {
        let mut drawn: Vec<_> = (0..256_u64)
            .map(|n| started(AcquireRequest { seed: n << shift, ..hinted(1, 32) }).1)
            .map(|call| sent(&call)[0].pk.clone())
            .collect();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn.len(), 32, "shifted by {shift}");
    }
}

// ---- misuse, clocks, sizes ----

#[test]
fn section_6_the_wrong_number_of_replies_is_an_error() {
    let (mut machine, _) = started(request(1));
    let decision = done(machine.advance(NOW as u64, &[]));
    assert!(matches!(decision.outcome, Outcome::Failed(_)));
    let (mut machine, _) = started(request(1));
    let decision = done(machine.advance(NOW as u64, &[committed(), committed()]));
    assert!(matches!(decision.outcome, Outcome::Failed(_)));
    let decision = done(Acquire::new(request(1)).advance(NOW as u64, &[Reply::Failed("x".into())]));
    assert!(matches!(decision.outcome, Outcome::Failed(_)));
}

#[test]
fn section_6_a_clock_beyond_the_year_9999_is_refused() {
    for now in [253_402_300_800_000, u64::MAX] {
        assert!(matches!(done(Acquire::new(request(1)).advance(now, &[])).outcome, Outcome::Failed(_)));
    }
    only(Acquire::new(request(1)).advance(0, &[]));
}

#[test]
fn section_6_a_clock_that_steps_back_between_two_steps_is_judged_by_its_last_reading() {
    // Ended at the first reading, live again at the second: nothing is opened.
    let item = Item::shard(0, 1, 5000, NOW - LENGTH);
    let (mut machine, _) = started(request(1));
    let call = only(machine.advance(NOW as u64 - 1000, &[refused(Some(&item))]));
    let write = &sent(&call)[0];
    write.assert_condition(&format!("b_q_ws > {}", NOW - 1000 - LENGTH));
    assert!(!write.changes[0].starts_with("SET rf"));
}

#[test]
fn section_6_bad_requests_say_what_is_wrong() {
    let wrong = |change: fn(&mut AcquireRequest)| {
        let mut bad = request(1);
        change(&mut bad);
        let Outcome::Failed(error) = done(Acquire::new(bad).advance(NOW as u64, &[])).outcome else {
            panic!()
        };
        assert_eq!(error.code.as_str(), "invalid-request", "{error}");
    };
    wrong(|it| it.consume.clear());
    wrong(|it| it.consume.push(Amount::new("q", 1)));
    wrong(|it| it.consume[0].limit = "wcu".into());
    wrong(|it| it.consume[0].limit = "1q".into());
    wrong(|it| it.consume[0].limit = "q#".into());
    wrong(|it| it.consume[0].limit = "q".repeat(65));
    wrong(|it| it.subject.entity = "a#b".into());
    wrong(|it| it.subject.resource = "/r".into());
    wrong(|it| it.limits.push(quota()));
    wrong(|it| it.limits = vec![Limit::session("q", 0, 60)]);
    wrong(|it| it.limits = vec![Limit::session("q", 100, 0)]);
    wrong(|it| it.limits = vec![Limit::session("q", onewindow::MAX_TOKENS + 1, 60)]);
    wrong(|it| it.limits = vec![Limit::session("q", 1, onewindow::MAX_SECONDS + 1)]);
    wrong(|it| it.limits = vec![Limit::drip("q", 1, 0, 1)]);
    wrong(|it| it.limits = (0..=MAX_LIMITS).map(|n| Limit::session(&format!("l{n}"), 1, 1)).collect());
}

#[test]
fn section_6_the_largest_request_fits_an_expression() {
    // DynamoDB: 4 KB an expression, 300 operators and functions.
    for authoritative in [false, true] {
        let name = |n| format!("l{n}");
        let request = AcquireRequest {
            subject: subject(),
            consume: (0..MAX_LIMITS).map(|n| Amount::new(&name(n), 1 + n as u64)).collect(),
            limits: (0..MAX_LIMITS).map(|n| Limit::session(&name(n), 100, 60 + n as u64)).collect(),
            authoritative,
            ..AcquireRequest::default()
        };
        let (mut machine, fast) = started(request.clone());
        assert_fits(&fast);
        assert_fits(&only(next(&mut machine, refused(None))));
        // Everything is over, and everything was stamped otherwise.
        let item = (0..MAX_LIMITS).fold(Item::bare(0).num("vu", 0), |item, n| {
            item.limit(&name(n), 3000, 90_000, 5, 7)
                .num(&format!("b_l{n}_rsa"), 30)
                .num(&format!("b_l{n}_ws"), n)
                .num(&format!("b_l{n}_wa"), n)
                .num(&format!("b_l{n}_tu"), n)
                .num(&format!("b_l{n}_gc"), 7)
        });
        let (_, step) = after_refusal(request.clone(), Some(&item));
        assert_fits(&only(step));
        // A slot whose five candidates hold them all, uncounted and unmarked, and are behind.
        let full = |shard: u32| {
            let item = Item::bare(shard).num("shard_count", 2);
            (0..MAX_LIMITS).fold(item, |item, n| {
                item.limit(&name(n), 30_000, 100_000, 0, 1000)
                    .num(&format!("b_l{n}_rsa"), 60 + n)
                    .num(&format!("b_l{n}_ws"), START - n as i64)
            })
        };
        let slot_31 = AcquireRequest { seed: seed_for(31, 32), hint: hinted(1, 32).hint, ..request };
        let (mut machine, step) = after_refusal(slot_31, None);
        only(step);
        let siblings = [0, 1, 3, 7, 15].map(full);
        let call = only(next(&mut machine, found(&siblings)));
        assert!(call.body.contains("_gc"));
        assert_fits(&call);
    }
}

/// Every expression of a call is one that the table accepts.
#[track_caller]
fn assert_fits(call: &onewindow::Call) {
    for text in crate::properties::expressions(call) {
        assert!(text.len() <= 4096, "{} bytes: {text}", text.len());
        let operators = crate::properties::operators(&text);
        assert!(operators <= 300, "{operators} operators: {text}");
    }
}
