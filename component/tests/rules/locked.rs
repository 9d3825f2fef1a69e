//! R5 record and pin, R6 rf forward, R10 additive, R11 the gates, R12 ceilings, R15 whose parameters.

use onewindow::{
    AcquireRequest, Amount, Limit, Outcome,
    internals::{
        Owner,
        balance::{Rate, quota_ceiling, share},
        materialise::{Materialisation, Settings},
        refill,
    },
};

use crate::kit::*;

/// The locked write that debits `tokens` of `q`.
fn locked(item: &Item, tokens: u64) -> Sent {
    let debits = [debit("q", tokens, &[quota()])];
    spelled(&materialised(item, NOW).write(&subject(), &Owner::default(), &debits))
}

// ---- R5 ----

#[test]
fn r5_an_opening_write_to_the_letter() {
    let start = NOW - LENGTH;
    let item = Item::shard(2, 4, 7000, start).num("b_q_tu", 3000).num("b_q_gc", 2).num("rf", start + 5);
    let write = locked(&item, 1);
    assert_eq!(
        write.conditions,
        [
            format!("rf = {}", start + 5),
            "(attribute_not_exists(disabled) OR disabled <> true)".into(),
            "(attribute_not_exists(cascade) OR cascade <> true)".into(),
            format!("vu = {NOW}"),
            "(attribute_not_exists(shard_count) OR shard_count <= 4)".into(),
            format!("b_q_ws = {start}"),
            format!("b_q_wa = {start}"),
            "b_q_tk <= 7000".into(),
        ]
    );
    assert_eq!(
        write.changes,
        [
            format!("SET rf = {NOW}"),
            format!("SET vu = {}", NOW + LENGTH),
            format!("SET ttl = {}", NOW / 1000 + 7 * 60),
            format!("SET b_q_ws = {NOW}"),
            format!("SET b_q_wa = {NOW}"),
            "SET b_q_gc = 4".into(),
            "ADD b_q_tk 17000".into(),
            "ADD b_q_tc 1000".into(),
            "REMOVE b_q_tu".into(),
        ]
    );
}

#[test]
fn r5_pins_absence_as_it_pins_values() {
    let item = Item::shard(0, 1, 0, NOW - LENGTH).without("b_q_ws").without("b_q_wa").without("vu");
    let write = locked(&item, 1);
    write.assert_condition("attribute_not_exists(b_q_ws)");
    write.assert_condition("attribute_not_exists(b_q_wa)");
    write.assert_condition("attribute_not_exists(vu)");
}

#[test]
fn r5_records_the_start_that_was_read_on_every_quota_of_the_item() {
    // Live and applied by `rf`, older than the marker; the other quota is the one asked for.
    let item = Item::shard(0, 1, 0, NOW - LENGTH)
        .limit("old", 4000, 10_000, 0, 1000)
        .num("b_old_rsa", 18_000)
        .num("b_old_ws", NOW - 5000);
    let write = locked(&item, 1);
    write.assert_change(&format!("SET b_old_wa = {}", NOW - 5000));
    write.assert_condition(&format!("b_old_ws = {}", NOW - 5000));
    write.assert_condition("attribute_not_exists(b_old_wa)");
    write.assert_no_change_of("b_old_tk");
    write.assert_no_change_of("b_old_ws");
    write.assert_no_change_of("b_old_gc");
}

#[test]
fn r5_a_live_applied_quota_keeps_its_grant_and_its_top_up() {
    let item = Item::live(50_000).num("shard_count", 2).num("b_q_gc", 1).num("b_q_tu", 1000).num("vu", 0);
    let write = locked(&item, 1);
    write.assert_no_change_of("b_q_gc");
    write.assert_no_change_of("b_q_tu");
    write.assert_no_condition_on("shard_count");
}

#[test]
fn r5_a_roll_stamps_and_pins_like_an_opening() {
    let item = Item::shard(1, 4, 0, NOW - 10_000).num("b_q_wa", NOW - 80_000).num("vu", 0).num("b_q_tu", 1);
    let write = locked(&item, 1);
    write.assert_change(&format!("SET b_q_wa = {}", NOW - 10_000));
    write.assert_change("REMOVE b_q_tu");
    write.assert_no_change_of("b_q_ws");
    write.assert_condition(&format!("b_q_ws = {}", NOW - 10_000));
    write.assert_condition(&format!("b_q_wa = {}", NOW - 80_000));
    write.assert_condition("(attribute_not_exists(shard_count) OR shard_count <= 4)");
    write.assert_condition("vu = 0");
}

// ---- R6 ----

#[test]
fn r6_strictly_forward_under_a_clock_that_runs_behind() {
    let rf = |stored, now| materialised(&Item::live(0).num("rf", stored), now).last_refill_ms;
    assert_eq!(rf(NOW - 1, NOW), NOW);
    assert_eq!(rf(NOW, NOW), NOW + 1, "the same millisecond is not forward");
    assert_eq!(rf(NOW + 5000, NOW), NOW + 5001);
}

#[test]
fn r6_covers_every_start_it_carries() {
    let ahead = Item::shard(0, 1, 0, NOW + 7000);
    assert_eq!(materialised(&ahead, NOW).last_refill_ms, NOW + 7000);
    // One that was left behind without a length is not carried.
    let leftover = Item::live(0).limit("x", 1000, 1000, 1000, 1000).num("b_x_ws", NOW + 9000);
    assert_eq!(materialised(&leftover, NOW).last_refill_ms, NOW);
}

#[test]
fn r6_time_that_runs_backward_refills_nothing() {
    let rate = Rate { amount_milli: 60_000, period_ms: 60_000 };
    assert_eq!(rate.refill(500, -1, 1, 60_000), Ok(500));
    assert_eq!(rate.refill(500, i64::MIN, 1, 60_000), Ok(500));
    assert_eq!(rate.refill(500, 1, 1, 60_000), Ok(501));
}

// ---- R10 ----

#[test]
fn r10_a_raise_requires_the_balance_that_was_read() {
    let write = locked(&Item::shard(0, 1, -300_000, NOW - LENGTH), 4);
    write.assert_condition("b_q_tk <= -300000");
    write.assert_change("ADD b_q_tk 396000");
    write.assert_no_condition_on("b_q_tk >=");
}

#[test]
fn r10_a_raise_that_nets_to_a_decrease_is_conditioned_on_both() {
    // 98 left of 100: the reset adds 2, and 50 are debited.
    let write = locked(&Item::shard(0, 1, 98_000, NOW - LENGTH), 50);
    write.assert_condition("b_q_tk <= 98000");
    write.assert_condition("b_q_tk >= 48000");
    write.assert_change("ADD b_q_tk -48000");
}

#[test]
fn r10_a_reset_to_less_needs_the_decrease_to_be_there() {
    // An old writer's leftover above the share: 40 on a shard of 25.
    let write = locked(&Item::shard(1, 4, 40_000, NOW - LENGTH), 1);
    write.assert_change("ADD b_q_tk -16000");
    write.assert_condition("b_q_tk >= 16000");
    write.assert_condition("b_q_tk <= 40000");
}

#[test]
fn r10_a_reset_to_what_it_read_requires_the_balance_that_was_read() {
    // A credit of the window that ended, landing in between, would stack on the new one.
    let write = locked(&Item::shard(0, 1, 100_000, NOW - LENGTH), 1);
    write.assert_change("ADD b_q_tk -1000");
    write.assert_condition("b_q_tk <= 100000");
}

#[test]
fn r10_a_balance_that_does_not_move_is_not_written() {
    let item = Item::shard(0, 1, 100_000, NOW - LENGTH);
    let write = spelled(&materialised(&item, NOW).write(&subject(), &Owner::default(), &[]));
    write.assert_no_change_of("b_q_tk");
    write.assert_no_change_of("b_q_tc");
}

#[test]
fn r10_what_does_not_raise_a_balance_lets_credits_land_in_between() {
    // Only `vu` is due. `w` is not asked for, and nothing happens to it.
    let item = Item::live(50_000)
        .num("vu", 0)
        .limit("w", 5000, 10_000, 0, 1000)
        .num("b_w_rsa", 60)
        .num("b_w_ws", NOW - 1000)
        .num("b_w_wa", NOW - 1000)
        .num("b_w_gc", 1);
    let write = locked(&item, 1);
    assert_eq!(
        write.conditions,
        [
            format!("rf = {}", NOW - 1000),
            "(attribute_not_exists(disabled) OR disabled <> true)".into(),
            "(attribute_not_exists(cascade) OR cascade <> true)".into(),
            "vu = 0".into(),
            format!("b_q_ws = {}", NOW - 10_000),
            format!("b_q_wa = {}", NOW - 10_000),
            "b_q_tk >= 1000".into(),
            format!("b_w_ws = {}", NOW - 1000),
            format!("b_w_wa = {}", NOW - 1000),
        ]
    );
    write.assert_no_change_of("b_w");
}

#[test]
fn r10_a_balance_moves_by_no_more_than_the_table_can_add() {
    let debt = |beyond: i128| 100_000 - 10_i128.pow(37) - beyond;
    let opened = |tokens: i128| {
        let item = Item::shard(0, 1, 0, NOW - LENGTH).num("b_q_tk", tokens).read();
        Materialisation::of(&item, &settings(&[quota()], NOW))
            .map(|materialisation| materialisation.limit("q").unwrap().after.tokens_milli)
    };
    assert_eq!(opened(debt(0)), Ok(100_000));
    assert_eq!(opened(debt(1)).unwrap_err().code.as_str(), "overflow");
}

#[test]
fn r10_the_shard_after_a_materialisation_is_what_its_write_leaves() {
    let item = Item::shard(2, 4, 7000, NOW - LENGTH).num("b_q_tc", 500).with_drip(1000).num("ttl", 5);
    let materialisation = materialised(&item.without("b_d_tc").num("b_wcu_tk", 0), NOW);
    let after = materialisation.after(&[debit("q", 1, &[quota()])]);
    let (q, d) = (after.limit("q").unwrap(), after.limit("d").unwrap());
    assert_eq!((q.tokens_milli, q.consumed_milli, q.window_start_ms), (24_000, Some(1500), Some(NOW)));
    assert_eq!((d.tokens_milli, d.consumed_milli), (1250, None), "not debited: no count of its own");
    assert_eq!((after.id, after.shard_count, after.last_refill_ms), (2, 4, NOW));
    assert_eq!(after.valid_until_ms, Some(NOW + LENGTH));
    assert_eq!(after.ttl_seconds, Some(NOW / 1000 + 7 * 60));
    assert_eq!((after.pk.as_str(), after.limits.len()), (subject().bucket_pk(2).as_str(), 2));
    assert_eq!(after.wcu.unwrap().tokens_milli, 1_000_000);
}

#[test]
fn r10_a_lower_capacity_requires_no_floor_that_a_debtor_cannot_meet() {
    // F2: 60 of 100 used, then the capacity is 10: 50 in debt, and still writable.
    let limits = [Limit::session("q", 10, 60)];
    let settings =
        Settings { limits: &limits, authoritative: true, permanent: true, parent: None, now_ms: NOW };
    let materialisation = Materialisation::of(&Item::live(40_000).read(), &settings).unwrap();
    assert_eq!(materialisation.limit("q").unwrap().after.tokens_milli, -50_000);
    let write = spelled(&materialisation.write(&subject(), &Owner::default(), &[]));
    write.assert_change("ADD b_q_tk -90000");
    write.assert_condition("b_q_tk >= 40000");
    write.assert_change("SET b_q_cp = 10000");
    write.assert_condition("b_q_cp = 100000");
}

// ---- R11 ----

#[test]
fn r11_the_fast_write_to_the_letter() {
    let (_, call) = started(request(3));
    let write = &sent(&call)[0];
    assert_eq!(
        write.changes,
        ["ADD b_q_tk -3000", "ADD b_q_tc 3000", "ADD b_wcu_tk -1000", "ADD b_wcu_tc 1000"]
    );
    assert_eq!(
        write.conditions,
        [
            format!("(b_q_tk >= 3000 OR b_q_soft > {NOW} OR bypass > {NOW})"),
            format!("b_q_ws > {}", NOW - LENGTH),
            "(b_q_wa >= b_q_ws OR attribute_not_exists(b_q_wa))".into(),
            "(b_q_wa >= b_q_ws OR rf >= b_q_ws)".into(),
            "attribute_exists(b_q_rsa)".into(),
            "b_wcu_tk >= 1000".into(),
            format!("(attribute_not_exists(ttl) OR ttl > {})", NOW / 1000),
            format!("(attribute_not_exists(vu) OR vu > {NOW})"),
            "(attribute_not_exists(disabled) OR disabled <> true)".into(),
            "(attribute_not_exists(cascade) OR cascade <> true)".into(),
        ]
    );
    assert!(call.body.contains("\"ReturnValues\":\"ALL_NEW\""));
    assert!(call.body.contains("\"ReturnValuesOnConditionCheckFailure\":\"ALL_OLD\""));
}

#[test]
fn r11_a_drip_has_no_window_to_gate() {
    let mut request = request(1);
    (request.consume, request.limits) = (vec![Amount::new("d", 2)], vec![drip()]);
    let (_, call) = started(request);
    let write = &sent(&call)[0];
    write.assert_condition(&format!("(b_d_tk >= 2000 OR b_d_soft > {NOW} OR bypass > {NOW})"));
    write.assert_condition("attribute_exists(b_d_tk)");
    write.assert_condition("attribute_not_exists(b_d_rsa)"); // an old configuration may not know better
    write.assert_no_condition_on("b_d_w");
}

#[test]
fn r11_valid_until_is_the_earliest_end_of_any_quota() {
    let item = Item::live(0)
        .limit("w", 5000, 10_000, 0, 1000)
        .num("b_w_rsa", 20)
        .num("b_w_ws", NOW - 1000)
        .num("b_w_wa", NOW - 1000)
        .with_drip(0);
    assert_eq!(materialised(&item, NOW).valid_until_ms, Some(NOW + 19_000), "`w` is not even configured");
}

#[test]
fn r11_valid_until_is_removed_where_nothing_has_a_boundary() {
    let item = Item::bare(0).with_drip(0).num("vu", NOW + 5);
    let materialisation = Materialisation::of(&item.read(), &settings(&[drip()], NOW)).unwrap();
    assert_eq!(materialisation.valid_until_ms, None);
    let write = spelled(&materialisation.write(&subject(), &Owner::default(), &[]));
    write.assert_change("REMOVE vu");
    write.assert_condition(&format!("vu = {}", NOW + 5));
}

#[test]
fn r11_the_gate_alone_refuses_items_whose_valid_until_was_dropped() {
    // What the table checks and what we read off its image must agree: each is due.
    let dropped = Item::live(100_000).without("vu");
    for (why, item) in [
        ("ended", dropped.clone().num("b_q_ws", NOW - LENGTH).num("b_q_wa", NOW - LENGTH)),
        ("pending", dropped.clone().num("b_q_wa", NOW - 10_001)),
        ("pending by rf", dropped.clone().without("b_q_wa").num("rf", NOW - 10_001)),
        ("no start", dropped.clone().without("b_q_ws")),
        ("no length", dropped.without("b_q_rsa")),
    ] {
        let (_, step) = after_refusal(request(1), Some(&item));
        let changes = &sent(&only(step))[0].changes;
        assert!(changes[0].starts_with("SET rf = "), "{why}: a locked write, not {changes:?}");
    }
}

// ---- R12 ----

#[test]
fn r12_shares_floor() {
    assert_eq!(share(100_000, 3), 33_333);
    assert_eq!(share(31, 32), 0);
    assert_eq!(share(-1, 32), -1, "toward minus infinity");
    assert_eq!(share(100, 0), 100, "never by zero");
    assert_eq!(share(100, -4), 100);
}

#[test]
fn r12_the_drip_divides_by_the_count_first() {
    // 7 a period over 4 shards is 1, not 7/4: 10 periods give 10, not 17.
    let rate = Rate { amount_milli: 7, period_ms: 1000 };
    assert_eq!(rate.refill(0, 10_000, 4, 1000), Ok(10));
    assert_eq!(rate.refill(0, 1999, 4, 1000), Ok(1), "and the period last, floored");
}

#[test]
fn r12_clamps_even_with_no_time_and_leaves_debt_alone() {
    let rate = Rate { amount_milli: 60_000, period_ms: 60_000 };
    assert_eq!(rate.refill(99_000, 0, 4, 15_000), Ok(15_000));
    assert_eq!(rate.refill(-99_000, 0, 4, 15_000), Ok(-99_000));
    let item = Item::bare(1).num("shard_count", 4).with_drip(99_000).num("rf", NOW + 1);
    let materialisation = Materialisation::of(&item.read(), &settings(&[drip()], NOW)).unwrap();
    assert_eq!(materialisation.limit("d").unwrap().after.tokens_milli, 15_000);
}

#[test]
fn r12_a_quotas_ceiling_is_its_grants_share_and_the_top_up() {
    assert_eq!(quota_ceiling(100_000, 4, 3000), Ok(28_000));
    let over = Item::shard(1, 4, 90_000, NOW - 10_000).num("b_q_gc", 2).num("b_q_tu", 3000);
    assert_eq!(materialised(&over, NOW).limit("q").unwrap().after.tokens_milli, 53_000);
    let uncounted = over.without("b_q_gc");
    assert_eq!(materialised(&uncounted, NOW).limit("q").unwrap().after.tokens_milli, 28_000);
    let zero = Item::shard(1, 4, 90_000, NOW - 10_000).num("b_q_gc", 0);
    assert_eq!(
        materialised(&zero, NOW).limit("q").unwrap().after.tokens_milli,
        25_000,
        "below 1: the stored count"
    );
}

#[test]
fn r12_the_write_budget_is_never_divided() {
    let item = Item::shard(1, 32, 0, NOW - 10_000).num("b_wcu_tk", 0);
    let materialisation = materialised(&item, NOW);
    assert_eq!(materialisation.wcu.unwrap().after.tokens_milli, 1_000_000, "a second at a thousand a second");
}

// ---- R15 ----

#[test]
fn r15_unnamed_limits_never_gate() {
    // `d` is deep in debt and nobody asks for it.
    let mut request = request(1);
    request.limits.push(drip());
    let (_, call) = started(request.clone());
    sent(&call)[0].assert_no_condition_on("b_d");
    let due = Item::shard(0, 1, 0, NOW - LENGTH).with_drip(-500_000);
    let (_, step) = after_refusal(request, Some(&due));
    let write = &sent(&only(step))[0];
    write.assert_change("ADD b_d_tk 1000");
    write.assert_condition("b_d_tk <= -500000"); // R10: a raise, though nothing is reset
    write.assert_no_change_of("b_d_tc");
    write.assert_no_condition_on("b_d_tk >=");
}

#[test]
fn r15_amount_zero_waits_while_the_limit_is_in_debt() {
    let mut mixed = request(1);
    mixed.limits.push(drip());
    mixed.consume.push(Amount::new("d", 0));
    let (_, call) = started(mixed.clone());
    let write = &sent(&call)[0];
    write.assert_condition(&format!("(b_d_tk >= 0 OR b_d_soft > {NOW} OR bypass > {NOW})"));
    write.assert_no_change_of("b_d");
    let in_debt = Item::live(50_000).with_drip(-5000);
    let (_, step) = after_refusal(mixed.clone(), Some(&in_debt));
    assert_eq!(retry_after(&done(step)), 4001, "one second has dripped in already");
    let level = Item::live(50_000).with_drip(-1000);
    let (_, step) = after_refusal(mixed, Some(&level));
    only(step); // Materialised it is 0: enough.
}

#[test]
fn r15_a_limit_nobody_knows_is_an_error_before_any_write() {
    let mut unknown = request(1);
    unknown.consume.push(Amount::new("nobody", 1));
    let (mut machine, call) = started(unknown);
    assert_eq!(call.operation, "BatchGetItem");
    let decision = done(next(&mut machine, found(&[Item::live(100_000)])));
    let Outcome::Failed(error) = decision.outcome else { panic!("{:?}", decision.outcome) };
    assert_eq!(error.code.as_str(), "unknown-limit");
}

#[test]
fn r15_a_limit_that_only_the_item_knows_is_learned() {
    // Off shard 0, and the drawn one.
    for (shard, count, read) in [(0, 1, vec![0]), (3, 4, vec![0, 3])] {
        let (mut machine, call) = started(AcquireRequest { limits: Vec::new(), ..drawn(1, shard, count) });
        let read: Vec<_> = read.into_iter().map(|shard| subject().bucket_pk(shard)).collect();
        assert_eq!(asked(&call), (read, false));
        let call = only(next(&mut machine, found(&[Item::live(100_000)])));
        sent(&call)[0].assert_condition(&format!("b_q_ws > {}", NOW - LENGTH));
    }
}

#[test]
fn r15_what_a_read_left_out_is_not_unknown() {
    let mut learned = request(1);
    learned.limits.clear();
    let (mut machine, _) = started(learned);
    let again = only(next(&mut machine, found_some(&[])));
    assert_eq!(again.operation, "BatchGetItem");
    only(next(&mut machine, found(&[Item::live(100_000)])));
}

#[test]
fn r15_parameters_of_an_item_are_its_own_under_an_old_configuration() {
    let mut old = request(1);
    old.limits = vec![Limit::session("q", 500, 60)];
    let item = Item::shard(0, 1, 0, NOW - LENGTH);
    let (_, step) = after_refusal(old, Some(&item));
    let write = &sent(&only(step))[0];
    write.assert_no_change_of("b_q_cp");
    write.assert_change("ADD b_q_tk 99000");
}

#[test]
fn r15_an_authoritative_configuration_is_stamped_and_gates_the_fast_write() {
    let mut truth = request(1);
    (truth.limits, truth.authoritative) = (vec![Limit::session("q", 50, 60)], true);
    let (_, call) = started(truth.clone());
    sent(&call)[0].assert_condition("b_q_cp = 50000");
    sent(&call)[0].assert_condition("b_q_rsa = 60");
    let (_, step) = after_refusal(truth, Some(&Item::live(80_000)));
    let write = &sent(&only(step))[0];
    write.assert_change("SET b_q_cp = 50000");
    write.assert_condition("b_q_cp = 100000");
    write.assert_change("ADD b_q_tk -51000");
}

#[test]
fn r15_a_drip_is_stamped_and_clamped() {
    let mut truth = request(0);
    (truth.limits, truth.authoritative) = (vec![Limit::drip("d", 30, 10, 5)], true);
    truth.consume = vec![Amount::new("d", 1)];
    let (_, call) = started(truth.clone());
    for wanted in ["b_d_cp = 30000", "b_d_ra = 10000", "b_d_rp = 5000", "attribute_not_exists(b_d_rsa)"] {
        sent(&call)[0].assert_condition(wanted);
    }
    let (_, step) = after_refusal(truth, Some(&Item::bare(0).with_drip(60_000)));
    let write = &sent(&only(step))[0];
    write.assert_change("ADD b_d_tk -31000");
    write.assert_change("SET b_d_ra = 10000");
    write.assert_change("SET b_d_rp = 5000");
}

#[test]
fn r15_an_item_that_agrees_with_an_authoritative_configuration_is_not_due() {
    // Nothing is to be stamped: whatever refused the write has passed, and it is tried again.
    let truth = |limit: Limit, name| AcquireRequest {
        consume: vec![Amount::new(name, 1)],
        limits: vec![limit],
        authoritative: true,
        ..request(1)
    };
    for (request, item) in
        [(truth(quota(), "q"), Item::live(50_000)), (truth(drip(), "d"), Item::bare(0).with_drip(50_000))]
    {
        let (_, step) = after_refusal(request, Some(&item));
        sent(&only(step))[0].assert_condition("b_wcu_tk >= 1000");
    }
}

#[test]
fn r15_a_limit_that_changes_its_kind_is_pinned_as_a_quota_is() {
    let changed = |limit: Limit, item: &Item| {
        let limits = [limit];
        let settings =
            Settings { limits: &limits, authoritative: true, permanent: true, parent: None, now_ms: NOW };
        spelled(&Materialisation::of(&item.read(), &settings).unwrap().write(
            &subject(),
            &Owner::default(),
            &[],
        ))
    };
    let to_quota = changed(Limit::session("d", 60, 60), &Item::bare(0).with_drip(0));
    to_quota.assert_condition("attribute_not_exists(b_d_ws)");
    to_quota.assert_condition("attribute_not_exists(b_d_wa)");
    to_quota.assert_change(&format!("SET b_d_ws = {NOW}"));
    let to_drip = changed(Limit::drip("q", 100, 100, 60), &Item::live(50_000));
    to_drip.assert_condition(&format!("b_q_ws = {}", NOW - 10_000));
    to_drip.assert_condition(&format!("b_q_wa = {}", NOW - 10_000));
    to_drip.assert_change("REMOVE b_q_rsa");
}

#[test]
fn r15_a_raised_capacity_counts_only_what_was_admitted() {
    // F16: 60 of 100 used; raised to 150, 90 are left, not 150.
    let limits = [Limit::session("q", 150, 60)];
    let settings =
        Settings { limits: &limits, authoritative: true, permanent: true, parent: None, now_ms: NOW };
    let materialisation = Materialisation::of(&Item::live(40_000).read(), &settings).unwrap();
    assert_eq!(materialisation.limit("q").unwrap().after.tokens_milli, 90_000);
}

#[test]
fn r15_a_rise_is_sized_by_the_share_and_a_reduction_by_the_grant() {
    // Shard 0 of four was granted everything, and has funded slots that were created since.
    let donor = Item::shard(0, 4, 40_000, NOW - 10_000).num("b_q_gc", 1);
    let with = |capacity| {
        let limits = [Limit::session("q", capacity, 60)];
        let settings =
            Settings { limits: &limits, authoritative: true, permanent: true, parent: None, now_ms: NOW };
        Materialisation::of(&donor.read(), &settings).unwrap().limit("q").unwrap().after.tokens_milli
    };
    assert_eq!(with(180), 60_000, "a quarter of the 80 more: the others add their own");
    assert_eq!(with(80), 20_000, "all of the 20 less: the slots that do not exist yet hold none");
}

/// A host that still thinks the quota is a token bucket.
fn behind_the_times() -> AcquireRequest {
    AcquireRequest { limits: vec![Limit::drip("q", 100, 100, 60)], ..drawn(1, 1, 2) }
}

#[test]
fn r15_an_old_configuration_does_not_turn_a_quota_into_a_drip() {
    let pending = Item::shard(1, 2, 0, NOW - 10_000).num("b_q_wa", NOW - 80_000).num("vu", 0);
    let (mut machine, step) = after_refusal(behind_the_times(), Some(&pending));
    let write = &sent(&only(step))[0];
    write.assert_no_change_of("rsa");
    write.assert_change(&format!("SET b_q_wa = {}", NOW - 10_000));
    // And the lease knows its window, or a credit could land in the next one.
    let decision = done(next(&mut machine, landed(&pending)));
    let Outcome::Admitted(lease) = decision.outcome else { panic!("{:?}", decision.outcome) };
    assert!(lease.encode().contains(&format!("\"w\":{{\"s\":{}", NOW - 10_000)), "{}", lease.encode());
}

#[test]
fn r15_an_old_configuration_makes_no_shard_of_its_own_kind() {
    // The slot is created as the siblings have it: a quota, funded by its donor.
    let (mut machine, step) = after_refusal(behind_the_times(), None);
    only(step);
    let donor = Item::shard(0, 2, 30_000, NOW - 10_000).num("b_q_gc", 1);
    let call = only(next(&mut machine, found(&[donor])));
    let writes = sent(&call);
    writes[0].assert_stores("b_q_rsa = 60");
    writes[0].assert_stores("b_q_tk = 29000");
    writes[1].assert_change("ADD b_q_tk -30000");
}

// ---- 6.10 ----

#[test]
fn r5_the_stream_consumers_refill_rolls_and_pins_but_never_opens() {
    let pending = Item::shard(1, 4, 0, NOW - 10_000).num("b_q_wa", NOW - 80_000).num("b_q_tc", 5000);
    let pending = pending.num("b_q_wtc", 3000).num("vu", 0).num("ttl", 5);
    let write = spelled(&refill::write(None, &pending.read(), NOW).unwrap().unwrap());
    assert_eq!(
        write.conditions,
        [
            format!("rf = {}", NOW - 1000),
            "vu = 0".into(),
            "(attribute_not_exists(shard_count) OR shard_count <= 4)".into(),
            format!("b_q_ws = {}", NOW - 10_000),
            format!("b_q_wa = {}", NOW - 80_000),
            "b_q_tk <= 0".into(),
        ]
    );
    write.assert_change("ADD b_q_tk 23000");
    write.assert_change(&format!("SET vu = {}", NOW + 50_000));
    write.assert_no_change_of("ttl");
    // Pending and ended: left to the next use.
    let overtaken = pending.clone().num("b_q_ws", NOW - LENGTH);
    assert_eq!(refill::write(None, &overtaken.read(), NOW), Ok(None));
    // Ended: the drip beside it is refilled, the window is not opened.
    let ended = Item::shard(0, 1, 0, NOW - LENGTH).num("b_q_tc", 1000).with_drip(0).num("vu", NOW);
    let write = spelled(&refill::write(None, &ended.read(), NOW).unwrap().unwrap());
    write.assert_change("ADD b_d_tk 1000");
    write.assert_no_change_of("b_q_tk");
    write.assert_no_change_of("b_q_ws");
    write.assert_no_change_of("vu");
    // Nothing consumed: no answer, or each refill would call for the next.
    let same = pending.read();
    assert_eq!(refill::write(Some(&same), &same, NOW), Ok(None));
}

#[test]
fn section_6_10_skips_an_item_with_a_window_that_is_pending_and_over() {
    // Whatever dripped in beside it: the next use sets everything right at once.
    let item = Item::shard(0, 1, 0, NOW - LENGTH).num("b_q_tc", 1000).with_drip(0);
    let written = |item: &Item| refill::write(None, &item.read(), NOW).unwrap().is_some();
    assert!(written(&item), "over, and applied");
    let overtaken = item.num("b_q_wa", NOW - LENGTH - 1);
    assert!(!written(&overtaken));
    // It is over at its end, and not before.
    assert!(written(&overtaken.num("b_q_ws", NOW - LENGTH + 1)));
}

#[test]
fn section_6_10_writes_where_something_is_raised_and_records_what_it_read() {
    let written = |item: &Item| refill::write(None, &item.read(), NOW).unwrap();
    let full = Item::live(50_000).num("b_q_tc", 1000).with_drip(60_000);
    assert_eq!(written(&full), None, "nothing dripped in");
    let less = full.num("b_d_tk", 59_999);
    spelled(&written(&less).unwrap()).assert_change("ADD b_d_tk 1");
    // Over, and older than the marker: by `rf` it was applied, and `rf` is about to move.
    let over = less.num("b_q_ws", NOW - LENGTH).without("b_q_wa");
    spelled(&written(&over).unwrap()).assert_change(&format!("SET b_q_wa = {}", NOW - LENGTH));
}

#[test]
fn section_6_10_moves_valid_until_only_off_an_expired_instant_and_to_a_boundary_ahead() {
    let refilled = |vu: i64, start: i64| {
        let item = Item::shard(0, 1, 0, start).num("b_q_tc", 1000).with_drip(0).num("vu", vu);
        spelled(&refill::write(None, &item.read(), NOW).unwrap().expect("a drip"))
    };
    let start = NOW - 10_000;
    refilled(NOW, start).assert_change(&format!("SET vu = {}", start + LENGTH));
    refilled(NOW + 1, start).assert_no_change_of("vu");
    // The window is over: its end is no boundary ahead.
    refilled(NOW - 5, NOW - LENGTH).assert_no_change_of("vu");
}

#[test]
fn r4_a_grant_sized_at_more_shards_proves_the_count() {
    // Made by a writer that knew of 8 shards, seeded by one that knew of 16.
    let item = Item::shard(5, 8, 0, NOW - 10_000).num("b_q_gc", 16).num("b_q_ws", NOW - 1);
    let write = spelled(&materialised(&item, NOW).write(&subject(), &Owner::default(), &[]));
    write.assert_change("ADD b_q_tk 6250");
    write.assert_change("SET shard_count = 16");
    write.assert_no_change_of("b_q_gc");
}
