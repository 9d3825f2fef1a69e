//! 6.8: a lease corrected to what was really used.

use onewindow::{Amount, ErrorCode, Lease, Outcome, Resend, Settle, Settlement, Step};

use crate::kit::*;

const START: i64 = NOW - 10_000;

/// The lease of 10 of `q`, debited of an item that is like this afterwards.
fn lease_on(item: &Item) -> Lease {
    let (mut machine, _) = started(request(10));
    match done(next(&mut machine, landed(item))).outcome {
        Outcome::Admitted(lease) => lease,
        other => panic!("{other:?}"),
    }
}

fn settling(lease: &Lease, actual: u64) -> Settle {
    Settle::new("limits", &lease.encode(), vec![Amount::new("q", actual)])
}

#[track_caller]
fn one(step: Step<Settlement>) -> onewindow::Call {
    match step {
        Step::Perform(mut calls) if calls.len() == 1 => calls.remove(0),
        other => panic!("expected one call, got {other:?}"),
    }
}

fn at(machine: &mut Settle, now: i64, replies: &[onewindow::Reply]) -> Step<Settlement> {
    machine.advance(now as u64, replies)
}

#[test]
fn section_6_8_a_credit_to_the_letter() {
    let lease = lease_on(&Item::live(50_000));
    let mut machine = settling(&lease, 4);
    let call = one(at(&mut machine, NOW, &[]));
    assert_eq!(call.resend, Resend::Never);
    let write = &sent(&call)[0];
    assert_eq!(write.changes, ["ADD b_q_tk 6000", "ADD b_q_tc -6000"]);
    assert_eq!(
        write.conditions,
        [
            "attribute_exists(b_q_tk)".to_owned(),
            format!("b_q_ws = {START}"),
            format!("b_q_wa = {START}"),
            "b_q_cp >= 100000".into(),
            "b_q_tk <= 94000".into(),
        ]
    );
    assert_eq!(at(&mut machine, NOW, &[landed(&Item::live(56_000))]), Step::Done(Settlement::Settled));
}

#[test]
fn section_6_8_without_amounts_nothing_is_sent_and_the_subject_is_known() {
    let lease = lease_on(&Item::live(50_000));
    let mut machine = Settle::new("limits", &lease.encode(), Vec::new());
    assert_eq!(machine.subject(), None, "not read yet");
    assert_eq!(at(&mut machine, NOW, &[]), Step::Done(Settlement::Settled));
    assert_eq!(machine.subject(), Some(&subject()));
    assert_eq!(machine.hint(), None);
}

#[test]
fn section_6_8_misuse_is_answered() {
    let misused = |step| match step {
        Step::Done(Settlement::Failed(error)) => assert_eq!(error.code, ErrorCode::Other, "{error}"),
        other => panic!("{other:?}"),
    };
    let lease = lease_on(&Item::live(50_000));
    let mut machine = settling(&lease, 4);
    misused(at(&mut machine, NOW, &[committed()]));
    misused(at(&mut machine, NOW, &[]));
    let mut machine = settling(&lease, 4);
    one(at(&mut machine, NOW, &[]));
    misused(at(&mut machine, NOW, &[]));
}

#[test]
fn section_6_8_a_debit_is_always_charged_even_into_debt() {
    let mut machine = settling(&lease_on(&Item::live(0)), 4000);
    let call = one(at(&mut machine, NOW + 10 * LENGTH, &[]));
    let write = &sent(&call)[0];
    assert_eq!(write.changes, ["ADD b_q_tk -3990000", "ADD b_q_tc 3990000"]);
    assert_eq!(write.conditions, ["attribute_exists(b_q_tk)"]);
    assert_eq!(call.resend, Resend::MayDebitTwice);
}

#[test]
fn section_6_8_a_credit_over_the_ceiling_is_sent_for_clamping() {
    let mut machine = settling(&lease_on(&Item::live(50_000)), 0);
    one(at(&mut machine, NOW, &[]));
    // Somebody gave back before us.
    let full = Item::live(90_001);
    let write = sent(&one(at(&mut machine, NOW, &[refused(Some(&full))]))).remove(0);
    assert_eq!(write.changes, ["SET vu = 0", "ADD b_q_tk 10000", "ADD b_q_tc -10000"]);
    write.assert_condition(&format!("b_q_ws = {START}"));
    write.assert_condition(&format!("b_q_wa = {START}"));
    write.assert_no_condition_on("b_q_tk <=");
}

#[test]
fn section_6_8_a_credit_that_just_fits_needs_no_clamping() {
    let mut machine = settling(&lease_on(&Item::live(50_000)), 0);
    one(at(&mut machine, NOW, &[]));
    let write = sent(&one(at(&mut machine, NOW, &[refused(Some(&Item::live(90_000)))]))).remove(0);
    write.assert_condition("b_q_tk <= 90000");
    write.assert_no_change_of("vu");
}

#[test]
fn section_6_8_what_needs_clamping_needs_it_until_it_lands() {
    let mut both = request(10);
    both.limits.push(drip());
    both.consume.push(Amount::new("d", 10));
    let item = |q, d| Item::live(q).with_drip(d);
    let decision = played(both, vec![landed(&item(50_000, 20_000))]);
    let Outcome::Admitted(lease) = decision.outcome else { panic!("{:?}", decision.outcome) };
    let nothing = vec![Amount::new("q", 0), Amount::new("d", 0)];
    let mut machine = Settle::new("limits", &lease.encode(), nothing);
    one(at(&mut machine, NOW, &[]));
    // The quota is too full; before that is written, the bucket is, too.
    one(at(&mut machine, NOW, &[refused(Some(&item(95_000, 20_000)))]));
    let write = sent(&one(at(&mut machine, NOW, &[refused(Some(&item(95_000, 55_000)))]))).remove(0);
    write.assert_change("SET vu = 0");
    write.assert_no_condition_on("b_q_tk <=");
    write.assert_no_condition_on("b_d_tk <=");
}

#[test]
fn section_6_8_a_credit_stays_in_its_window() {
    let lease = lease_on(&Item::live(50_000));
    // By the clock: half-open.
    assert_eq!(at(&mut settling(&lease, 0), START + LENGTH, &[]), Step::Done(Settlement::WindowOver));
    one(at(&mut settling(&lease, 0), START + LENGTH - 1, &[]));
    // By the item: another window, or a reset of the same.
    for item in [
        Item::shard(0, 1, 0, NOW),
        Item::live(0).num("b_q_ws", START + 1),
        Item::live(0).without("b_q_wa"),
        Item::live(0).num("b_q_wa", START - 1),
    ] {
        let mut machine = settling(&lease, 0);
        one(at(&mut machine, NOW, &[]));
        assert_eq!(at(&mut machine, NOW, &[refused(Some(&item))]), Step::Done(Settlement::WindowOver));
    }
}

#[test]
fn section_6_8_the_ceiling_is_the_grants() {
    let item = Item::shard(0, 4, 10_000, START).num("b_q_gc", 2).num("b_q_tu", 3000);
    let write = sent(&one(at(&mut settling(&lease_on(&item), 0), NOW, &[]))).remove(0);
    write.assert_condition("b_q_tk <= 43000");
}

#[test]
fn section_6_8_gone_is_gone() {
    let mut machine = settling(&lease_on(&Item::live(0)), 0);
    one(at(&mut machine, NOW, &[]));
    assert_eq!(at(&mut machine, NOW, &[refused(None)]), Step::Done(Settlement::ItemGone));
    let mut machine = settling(&lease_on(&Item::live(0)), 20);
    one(at(&mut machine, NOW, &[]));
    assert_eq!(at(&mut machine, NOW, &[refused(Some(&Item::bare(0)))]), Step::Done(Settlement::ItemGone));
}

#[test]
fn section_6_8_it_ends_after_four_writes() {
    let mut machine = settling(&lease_on(&Item::live(50_000)), 0);
    let busy = refused(Some(&Item::live(50_000)));
    one(at(&mut machine, NOW, &[]));
    for _ in 0..3 {
        one(at(&mut machine, NOW, std::slice::from_ref(&busy)));
    }
    let step = at(&mut machine, NOW, &[busy]);
    assert!(matches!(step, Step::Done(Settlement::Unavailable(_))), "{step:?}");
}

/// The lease of 6 of `q`: 2 of shard 0, 4 of shard 1.
fn gathered() -> Lease {
    let items = [Item::shard(0, 2, 3000, START), Item::shard(1, 2, 4000, START)];
    let (mut machine, step) = after_refusal(drawn(6, 0, 2), Some(&items[0]));
    only(step);
    only(next(&mut machine, found(&items)));
    match done(next(&mut machine, committed())).outcome {
        Outcome::Admitted(lease) => lease,
        other => panic!("{other:?}"),
    }
}

#[test]
fn section_6_8_a_gathered_lease_goes_back_where_it_came_from() {
    let lease = gathered();
    let settled = |actual| match settling(&lease, actual).advance(NOW as u64, &[]) {
        Step::Perform(calls) => calls
            .iter()
            .map(|call| sent(call).remove(0))
            .map(|write| (write.pk, write.changes[0].clone()))
            .collect::<Vec<_>>(),
        Step::Done(_) => Vec::new(),
    };
    let pk = |shard| subject().bucket_pk(shard);
    assert_eq!(settled(6), []);
    assert_eq!(settled(9), [(pk(0), "ADD b_q_tk -3000".into())]);
    assert_eq!(settled(4), [(pk(0), "ADD b_q_tk 2000".into())]);
    assert_eq!(settled(0), [(pk(0), "ADD b_q_tk 2000".into()), (pk(1), "ADD b_q_tk 4000".into())]);
}

#[test]
fn section_6_8_of_two_shards_the_worse_result_is_reported_and_of_equals_the_first() {
    let failed = |reason: &str| onewindow::Reply::Failed(reason.into());
    let told = |replies: [onewindow::Reply; 2]| {
        let mut machine = settling(&gathered(), 0);
        assert!(matches!(at(&mut machine, NOW, &[]), Step::Perform(calls) if calls.len() == 2));
        match at(&mut machine, NOW, &replies) {
            Step::Done(settlement) => format!("{settlement:?}"),
            Step::Perform(calls) => panic!("{calls:?}"),
        }
    };
    assert_eq!(told([refused(None), landed(&Item::live(0))]), "ItemGone");
    assert!(told([failed("one"), failed("two")]).contains("one"));
    for reply in [refused(None), failed("one")] {
        let denied = error("AccessDeniedException");
        assert!(told([reply.clone(), denied.clone()]).starts_with("Misconfigured"));
        assert!(told([denied, reply]).starts_with("Misconfigured"));
    }
}

#[test]
fn section_6_8_what_is_not_a_lease_or_not_of_it() {
    let lease = lease_on(&Item::live(0)).encode();
    for (lease, actual) in [
        ("", vec![]),
        ("{}", vec![]),
        (&lease[..lease.len() - 3], vec![]),
        (&lease, vec![Amount::new("q", 1), Amount::new("q", 2)]),
        (&lease, vec![Amount::new("other", 1)]),
    ] {
        let step = Settle::new("limits", lease, actual).advance(NOW as u64, &[]);
        assert!(matches!(step, Step::Done(Settlement::Failed(_))), "{step:?}");
    }
}

#[test]
fn section_6_8_a_lease_survives_its_string() {
    let lease = lease_on(&Item::live(0));
    assert_eq!(Lease::decode(&lease.encode()), Ok(lease));
}

#[test]
fn f10_f21_a_settlement_that_is_not_answered() {
    for (reply, wanted) in [
        (onewindow::Reply::Failed("x".into()), "Unavailable"),
        (http(200, &serde_json::json!("cut")), "Unavailable"),
        (error("AccessDeniedException"), "Misconfigured"),
        (error("TransactionConflictException"), "Unavailable"),
    ] {
        let mut machine = settling(&lease_on(&Item::live(50_000)), 0);
        one(at(&mut machine, NOW, &[]));
        let Step::Done(settlement) = at(&mut machine, NOW, &[reply]) else { panic!() };
        assert!(format!("{settlement:?}").starts_with(wanted), "{settlement:?}");
    }
}
