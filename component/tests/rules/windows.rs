//! R1 open, R2 propagate, R3 pending, R4 roll, R13 the reset instant.

use onewindow::{
    Limit,
    internals::{
        LimitState,
        materialise::Materialisation,
        preview,
        propagate::{self, Opened},
        window::{Window, reported_reset_ms, roll_target_milli},
    },
};

use crate::kit::*;

fn state(ws: Option<i64>, wa: Option<i64>) -> LimitState {
    LimitState {
        reset_after_seconds: Some(60),
        window_start_ms: ws,
        window_applied_ms: wa,
        ..LimitState::default()
    }
}

// ---- R1 ----

#[test]
fn r1_a_window_is_half_open() {
    let at = |now| Window::of(&state(Some(1000), Some(1000)), LENGTH, 0, now);
    let live = Window::Live { start_ms: 1000, end_ms: 61_000, applied: true };
    assert_eq!(at(1000), live);
    assert_eq!(at(60_999), live);
    assert_eq!(at(61_000), Window::Ended { start_ms: 1000, end_ms: 61_000 });
}

#[test]
fn r1_an_ended_window_opens_at_now_with_the_full_share() {
    let start = NOW - LENGTH; // It ends at this very instant.
    let materialisation = materialised(&Item::shard(0, 4, -7000, start), NOW);
    let after = &materialisation.limit("q").unwrap().after;
    assert_eq!(after.window_start_ms, Some(NOW), "idle-restarting: never the old end");
    assert_eq!((after.tokens_milli, after.grant_count), (25_000, Some(4)), "debt is forgiven, in full");
    assert_eq!(materialisation.opened(), [Opened { limit: "q".into(), length_seconds: 60, start_ms: NOW }]);
}

#[test]
fn r1_a_live_window_stays_put_one_millisecond_before_its_end() {
    let materialisation = materialised(&Item::live(0), NOW - 10_000 + LENGTH - 1);
    assert!(materialisation.opened().is_empty());
    let after = &materialisation.limit("q").unwrap().after;
    assert_eq!((after.window_start_ms, after.tokens_milli), (Some(NOW - 10_000), 0));
}

#[test]
fn r1_a_limit_with_no_start_opens() {
    let item = Item::live(0).without("b_q_ws").without("b_q_wa");
    assert_eq!(materialised(&item, NOW).opened().len(), 1);
}

#[test]
fn r1_a_start_without_a_length_is_a_leftover() {
    let item = Item::live(3000).without("b_q_rsa");
    let materialisation = materialised(&item, NOW);
    assert_eq!(materialisation.limit("q").unwrap().after.window_start_ms, Some(NOW));
}

#[test]
fn r1_the_configured_length_decides_and_is_stamped() {
    // Stored: an hour, of which two minutes have passed. Configured: a minute.
    let item = Item::live(0).num("b_q_rsa", 3600).num("b_q_ws", NOW - 120_000).num("b_q_wa", NOW - 120_000);
    let item = item.num("vu", NOW - 120_000 + 3_600_000);
    let materialisation = materialised(&item, NOW);
    assert_eq!(materialisation.limit("q").unwrap().after.reset_after_seconds, Some(60));
    let write = spelled(&materialisation.write(&subject(), &Default::default(), &[]));
    write.assert_change("SET b_q_rsa = 60");
    write.assert_change(&format!("SET vu = {}", NOW + LENGTH));
}

#[test]
fn r1_a_changed_length_is_stamped_on_the_item_after_a_fast_write() {
    let item = Item::live(99_000).num("b_q_rsa", 3600).num("vu", NOW - 10_000 + 3_600_000);
    let (mut machine, _) = started(request(1));
    let decision = done(next(&mut machine, landed(&item)));
    assert_eq!(decision.limits[0].resets_at_ms, Some((NOW - 10_000 + LENGTH) as u64));
    let write = &sent(&decision.follow_ups[0])[0];
    write.assert_change("SET b_q_rsa = 60");
    write.assert_change(&format!("SET vu = {}", NOW - 10_000 + LENGTH));
    write.assert_no_change_of("b_q_tk");
}

#[test]
fn r1_a_restamp_opens_nothing_that_it_could_not_propagate() {
    // An old writer dropped `vu`, so the fast write landed beside another quota that is over.
    let item = Item::live(99_000)
        .num("b_q_rsa", 3600)
        .without("vu")
        .limit("w", 0, 10_000, 0, 1000)
        .num("b_w_rsa", 60)
        .num("b_w_ws", NOW - LENGTH)
        .num("b_w_wa", NOW - LENGTH);
    let (mut machine, _) = started(request(1));
    let decision = done(next(&mut machine, landed(&item)));
    assert!(decision.outcome.is_admitted());
    assert!(decision.follow_ups.is_empty());
}

#[test]
fn r1_a_rejection_writes_nothing() {
    // Ended, so a debit would open it; but the other limit is in debt.
    let item = Item::shard(0, 1, 0, NOW - LENGTH).with_drip(-60_000).num("vu", NOW);
    let mut both = request(1);
    both.limits.push(drip());
    both.consume.push(onewindow::Amount::new("d", 1));
    let (_, step) = after_refusal(both, Some(&item));
    let decision = done(step);
    assert!(retry_after(&decision) > 0);
    assert!(decision.follow_ups.is_empty());
    assert_eq!(decision.limits[0].resets_at_ms, None, "not anchored, so nothing to report (F26)");
}

// ---- R2 ----

#[test]
fn r2_one_write_for_each_sibling_and_window() {
    let opened = [
        Opened { limit: "q".into(), length_seconds: 60, start_ms: NOW },
        Opened { limit: "w".into(), length_seconds: 18_000, start_ms: NOW },
    ];
    let writes = propagate::writes(&subject(), 1, 4, &opened);
    let pks: Vec<_> = writes.iter().map(|write| write.pk.as_str()).collect();
    let pk = |shard| subject().bucket_pk(shard);
    assert_eq!(pks, [pk(0), pk(0), pk(2), pk(2), pk(3), pk(3)]);
    assert!(propagate::writes(&subject(), 0, 1, &opened).is_empty(), "one shard: no cost");
}

#[test]
fn r2_changes_and_condition_to_the_letter() {
    let opened = [Opened { limit: "q".into(), length_seconds: 60, start_ms: NOW }];
    let write = spelled(&propagate::writes(&subject(), 0, 2, &opened)[0]);
    assert_eq!(
        write.changes,
        [
            format!("SET b_q_ws = {NOW}"),
            "SET b_q_rsa = 60".into(),
            "SET vu = 0".into(),
            "SET b_q_wtc = if_not_exists(b_q_tc, 0)".into()
        ],
        "and never tokens (I7)"
    );
    assert_eq!(
        write.conditions,
        [
            format!("(attribute_exists(b_q_wa) OR rf < {NOW})"),
            format!("(attribute_not_exists(b_q_ws) OR b_q_ws <= {})", NOW - LENGTH),
        ]
    );
}

#[test]
fn r2_only_after_the_openers_write_has_landed() {
    let ended = Item::shard(1, 4, 0, NOW - LENGTH);
    let (mut machine, step) = after_refusal(drawn(1, 1, 4), Some(&ended));
    let locked = only(step);
    assert_eq!(locked.operation, "UpdateItem");
    let decision = done(next(&mut machine, landed(&ended)));
    assert!(decision.outcome.is_admitted());
    let told: Vec<_> = decision.follow_ups.iter().map(|call| sent(call)[0].pk.clone()).collect();
    assert_eq!(told, [0, 2, 3].map(|shard| subject().bucket_pk(shard)));

    // A lost race propagates nothing.
    let (mut machine, step) = after_refusal(drawn(1, 1, 4), Some(&ended));
    only(step);
    only(next(&mut machine, refused(Some(&ended))));
    let decision = done(next(&mut machine, error("AccessDeniedException")));
    assert!(decision.follow_ups.is_empty());
}

#[test]
fn r2_a_roll_is_not_propagated() {
    let item = Item::shard(1, 4, 0, NOW - 10_000).num("b_q_wa", NOW - 80_000).num("vu", 0);
    let (mut machine, step) = after_refusal(drawn(1, 1, 4), Some(&item));
    only(step);
    let decision = done(next(&mut machine, landed(&item)));
    assert!(decision.outcome.is_admitted());
    assert!(decision.follow_ups.is_empty());
}

// ---- R3 ----

#[test]
fn r3_pending_is_strictly_greater() {
    let applied = |ws, wa, rf| match Window::of(&state(Some(ws), wa), LENGTH, rf, NOW) {
        Window::Live { applied, .. } => applied,
        other => panic!("{other:?}"),
    };
    assert!(applied(NOW, Some(NOW), 0));
    assert!(!applied(NOW, Some(NOW - 1), i64::MAX), "`rf` decides nothing where there is a marker");
    assert!(applied(NOW, None, NOW), "without the marker, `rf` decides");
    assert!(!applied(NOW, None, NOW - 1));
}

// ---- R4 ----

#[test]
fn r4_the_target_is_the_share_less_what_was_spent_since_the_mark() {
    let target = |tc: Option<i128>, wtc: Option<i128>| {
        let limit = LimitState { consumed_milli: tc, consumed_mark_milli: wtc, ..LimitState::default() };
        roll_target_milli(&limit, 25_000)
    };
    assert_eq!(target(Some(50_000), Some(47_000)), 22_000);
    assert_eq!(target(Some(47_000), Some(47_000)), 25_000);
    assert_eq!(target(Some(40_000), Some(47_000)), 25_000, "a settled credit never lifts it above");
    assert_eq!(target(Some(90_000), Some(47_000)), -18_000, "an old writer spent more than the share");
    assert_eq!(target(None, Some(47_000)), 25_000);
    assert_eq!(target(Some(47_000), None), 25_000);
    assert_eq!(target(Some(i128::MAX), Some(i128::MIN)), i128::from(25_000) - i128::MAX);
}

#[test]
fn r4_the_old_balance_does_not_count_and_the_current_count_does() {
    let pending = |tokens| {
        Item::shard(1, 4, tokens, NOW - 10_000)
            .num("b_q_wa", NOW - 80_000)
            .num("b_q_gc", 1)
            .num("b_q_tc", 9000)
            .num("b_q_wtc", 8000)
            .num("b_q_tu", 5000)
    };
    for tokens in [-500_000, 0, 99_000] {
        let materialisation = materialised(&pending(tokens), NOW);
        let after = &materialisation.limit("q").unwrap().after;
        assert_eq!((after.tokens_milli, after.grant_count), (24_000, Some(4)), "read {tokens}");
        assert_eq!(after.window_start_ms, Some(NOW - 10_000), "a roll keeps the start");
        assert_eq!(after.topped_up_milli, None);
        assert!(materialisation.opened().is_empty());
    }
}

#[test]
fn r4_a_pending_window_that_has_ended_is_opened_instead() {
    let item = Item::shard(1, 4, 0, NOW - LENGTH).num("b_q_wa", NOW - 2 * LENGTH).num("b_q_wtc", 0);
    let item = item.num("b_q_tc", 20_000);
    let materialisation = materialised(&item, NOW);
    assert_eq!(materialisation.opened().len(), 1);
    assert_eq!(
        materialisation.limit("q").unwrap().after.tokens_milli,
        25_000,
        "the full share, unconditionally"
    );
}

// ---- R13 ----

#[test]
fn r13_the_latest_live_end_over_all_shards() {
    let shards = [
        Item::shard(0, 4, 0, NOW - 30_000).read(),
        Item::shard(1, 4, 0, NOW - 29_000).read(),
        Item::shard(2, 4, 0, NOW - 90_000).read(), // ended: counts as restored
        Item::shard(3, 4, 0, NOW - 28_500).num("b_q_wa", NOW - 90_000).read(), // pending: so does this
    ];
    let report = preview::report(&shards, 4, &[quota()], NOW).unwrap();
    let status = &report.limits[0].status;
    assert_eq!(status.resets_at_ms, Some((NOW - 28_500 + LENGTH) as u64));
    assert_eq!(status.available, 50);
}

#[test]
fn r13_is_none_where_no_window_is_live() {
    let at_its_end = [Item::shard(0, 1, 0, NOW - LENGTH).read()];
    let report = preview::report(&at_its_end, 1, &[quota()], NOW).unwrap();
    assert_eq!((report.limits[0].status.resets_at_ms, report.limits[0].status.available), (None, 100));
    let report = preview::report(&at_its_end, 1, &[quota()], NOW - 1).unwrap();
    assert_eq!(
        (report.limits[0].status.resets_at_ms, report.limits[0].status.available),
        (Some(NOW as u64), 0)
    );
}

#[test]
fn r13_an_admission_answered_late_reports_no_instant_that_has_passed() {
    let (mut machine, _) = started(request(1));
    let late = (NOW - 10_000 + LENGTH) as u64;
    let decision = done(machine.advance(late, &[landed(&Item::live(50_000))]));
    assert!(decision.outcome.is_admitted());
    assert_eq!(decision.limits[0].resets_at_ms, None);
}

#[test]
fn r13_f15_a_start_in_the_future_never_reports_more_than_one_length() {
    assert_eq!(reported_reset_ms(NOW + 9 * LENGTH, LENGTH, NOW), (NOW + LENGTH) as u64);
    assert_eq!(reported_reset_ms(NOW + LENGTH, LENGTH, NOW), (NOW + LENGTH) as u64);
    assert_eq!(reported_reset_ms(NOW + LENGTH - 1, LENGTH, NOW), (NOW + LENGTH - 1) as u64);
    let ahead = Item::shard(0, 1, 0, NOW + 9 * LENGTH);
    let (_, step) = after_refusal(request(1), Some(&ahead));
    let decision = done(step);
    assert_eq!(retry_after(&decision), LENGTH as u64);
    assert_eq!(decision.limits[0].resets_at_ms, Some((NOW + LENGTH) as u64));
}

#[test]
fn r13_f13_two_windows_on_one_item_have_their_own_instants() {
    let item = Item::live(0)
        .limit("w", 5000, 10_000, 0, 1000)
        .num("b_w_rsa", 18_000)
        .num("b_w_ws", NOW - 3_600_000)
        .num("b_w_wa", NOW - 3_600_000);
    let mut both = request(1);
    both.limits.push(Limit::session("w", 10, 18_000));
    both.consume.push(onewindow::Amount::new("w", 1));
    let (_, step) = after_refusal(both, Some(&item));
    let decision = done(step);
    assert_eq!(retry_after(&decision), 50_000, "the one that rejects decides");
    let instants: Vec<_> = decision.limits.iter().map(|limit| limit.resets_at_ms).collect();
    assert_eq!(instants, [Some((NOW + 50_000) as u64), Some((NOW - 3_600_000 + 18_000_000) as u64)]);
}

#[test]
fn r13_f14_the_instant_stays_put_while_shards_burst() {
    let opened = NOW - 13_380_000; // 3 h 43 min into five hours
    let five_hours = [Limit::session("q", 100, 18_000)];
    let shards: Vec<_> =
        (0..8).map(|shard| Item::shard(shard, 8, 0, opened).num("b_q_rsa", 18_000).read()).collect();
    for late in [0, 1, 4_000_000, 18_000_000 - 13_380_000 - 1] {
        let report = preview::report(&shards, 8, &five_hours, NOW + late).unwrap();
        assert_eq!(report.limits[0].status.resets_at_ms, Some((opened + 18_000_000) as u64));
    }
}

#[test]
fn r13_after_a_materialisation_the_window_in_force_is_the_new_one() {
    let materialisation: Materialisation = materialised(&Item::shard(0, 1, 0, NOW - LENGTH), NOW);
    assert_eq!(materialisation.limit("q").unwrap().window_end_ms(), Some(NOW + LENGTH));
}
