//! R7 join and R8 the move.

use onewindow::{
    AcquireRequest, Limit, Outcome,
    internals::{
        grant::{self, Grant, Sibling},
        join::{self, Join, Reading},
        materialise::Debit,
    },
};

use serde_json::json;

use crate::kit::*;

fn planned(slot: u32, siblings: &[Item], count: u32, named: &[Debit]) -> Join {
    let siblings: Vec<_> = siblings.iter().map(Item::read).collect();
    let reading = Reading { slot, own: None, siblings: &siblings, shard_count: count, named };
    join::plan(&reading, &settings(&[quota()], NOW)).expect("a plan")
}

fn start_of(join: &Join) -> (Option<i64>, Option<i64>) {
    let after = &join.materialisation.limit("q").unwrap().after;
    (after.window_start_ms, after.window_applied_ms)
}

fn tokens_of(join: &Join) -> i128 {
    join.materialisation.limit("q").unwrap().after.tokens_milli
}

fn writes_of(join: &Join, debits: &[Debit]) -> Vec<Sent> {
    join.clone().into_writes(&subject(), None, debits).1.iter().map(spelled).collect()
}

// ---- R7 ----

#[test]
fn r7_stores_the_live_start_verbatim_and_applied() {
    let start = NOW - 10_000;
    let join = planned(1, &[Item::shard(0, 2, 0, start)], 2, &[]);
    assert_eq!(start_of(&join), (Some(start), Some(start)));
    assert!(join.materialisation.opened().is_empty());
}

#[test]
fn r7_the_latest_live_start_where_shards_disagree() {
    let join = planned(
        3,
        &[
            Item::shard(0, 4, 0, NOW - 30_000),
            Item::shard(1, 4, 0, NOW - 20_000),
            Item::shard(2, 4, 0, NOW - LENGTH), // the very end of its window: not live
        ],
        4,
        &[],
    );
    assert_eq!(start_of(&join).0, Some(NOW - 20_000));
}

#[test]
fn r7_opens_only_where_no_window_is_live_and_then_propagates() {
    let ended = Item::shard(0, 2, 0, NOW - LENGTH);
    let join = planned(1, std::slice::from_ref(&ended), 2, &[]);
    assert_eq!(start_of(&join), (Some(NOW), Some(NOW)));
    assert_eq!(tokens_of(&join), 50_000);
    assert!(join.funded.is_empty());

    let (mut machine, step) = after_refusal(drawn(1, 1, 2), None);
    only(step);
    only(next(&mut machine, found(&[ended])));
    let decision = done(next(&mut machine, committed()));
    assert!(decision.outcome.is_admitted());
    assert_eq!(sent(&decision.follow_ups[0])[0].pk, subject().bucket_pk(0));
}

#[test]
fn r7_reads_shard_0_and_the_candidates_strongly_consistently() {
    let (_, step) = after_refusal(drawn(1, 6, 8), None);
    let (keys, consistent) = asked(&only(step));
    assert!(consistent);
    let wanted = [0, 2, 6].map(|shard| subject().bucket_pk(shard));
    assert_eq!(keys, [wanted.to_vec(), vec!["ns/ENTITY#e".into()]].concat());
}

#[test]
fn r7_f24_a_shard_0_that_was_deleted_is_recreated_in_the_live_window() {
    let start = NOW - 10_000;
    let (mut machine, step) = after_refusal(request(1), None);
    let first = sent(&only(step));
    assert_eq!(first.len(), 3, "the slot, shard 1, the record: {first:?}");
    assert_eq!(first[1].conditions, ["attribute_not_exists(PK)"]);
    // Shard 1 is there, so everything is read first.
    let sibling = Item::shard(1, 4, 5000, start);
    let reply = cancelled(&[("None", None), ("ConditionalCheckFailed", Some(&sibling)), ("None", None)]);
    let (keys, consistent) = asked(&only(next(&mut machine, reply)));
    assert!(consistent);
    assert_eq!(keys[..3], [0, 1, 2].map(|shard| subject().bucket_pk(shard)));
    let others = [sibling, Item::shard(2, 4, 7000, start)];
    let writes = sent(&only(next(&mut machine, found(&others))));
    writes[0].assert_stores(&format!("b_q_ws = {start}"));
    writes[0].assert_stores("b_q_gc = 4");
    writes[0].assert_stores("b_q_tk = 24000");
    writes[0].assert_stores("b_q_tc = 1000");
    assert_eq!(writes[0].conditions, ["attribute_not_exists(PK)"]);
}

#[test]
fn r7_a_limit_added_to_an_existing_item_is_seeded_by_the_same_rule() {
    let start = NOW - 10_000;
    let own = Item::bare(1).num("shard_count", 2).with_drip(0);
    let (mut machine, step) = after_refusal(drawn(1, 1, 2), Some(&own));
    let (keys, consistent) = asked(&only(step));
    assert_eq!((keys.len(), consistent), (3, true));
    let donor = Item::shard(0, 2, 30_000, start).num("b_q_gc", 1);
    let writes = sent(&only(next(&mut machine, found(&[donor, own]))));
    writes[0].assert_condition(&format!("rf = {}", NOW - 1000));
    writes[0].assert_condition("attribute_not_exists(b_q_tk)");
    writes[0].assert_change(&format!("SET b_q_ws = {start}"));
    writes[0].assert_change("SET b_q_tk = 29000");
    writes[0].assert_change("SET b_q_gc = 2");
    writes[1].assert_change("ADD b_q_tk -30000");
    assert_eq!(writes.len(), 2, "an existing item has its owner stamps already");
}

#[test]
fn r7_an_existing_items_own_stamps_count_and_not_the_record() {
    // The record was set to cascade afterwards; the operator's command restamps the items.
    let own = Item::bare(1).num("shard_count", 2).with_drip(0);
    let record = Item::default().text("PK", "ns/ENTITY#e").text("SK", "#META").flag("cascade");
    let (mut machine, step) = after_refusal(drawn(1, 1, 2), Some(&own));
    only(step);
    let donor = Item::shard(0, 2, 30_000, NOW - 10_000).num("b_q_gc", 1);
    let writes = sent(&only(next(&mut machine, found(&[donor, own, record.text("parent_id", "p")]))));
    assert_eq!(writes.len(), 2);
}

#[test]
fn r7_the_first_shard_ever_gets_the_whole_capacity() {
    let (mut machine, step) = after_refusal(request(1), None);
    let writes = sent(&only(step));
    for wanted in [
        "entity_id = e",
        "resource = r",
        "GSI2PK = ns/RESOURCE#r",
        "GSI2SK = BUCKET#e#0",
        "GSI3PK = ns/ENTITY#e",
        "GSI3SK = BUCKET#r#0",
        "GSI4PK = ns",
        "GSI4SK = BUCKET#e#r#0",
        &format!("rf = {NOW}"),
        "shard_count = 1",
        "cascade = false",
        &format!("vu = {}", NOW + LENGTH),
        &format!("ttl = {}", NOW / 1000 + 420),
        "b_q_tk = 99000",
        "b_q_cp = 100000",
        "b_q_ra = 0",
        "b_q_rp = 1000",
        "b_q_tc = 1000",
        "b_q_rsa = 60",
        &format!("b_q_ws = {NOW}"),
        &format!("b_q_wa = {NOW}"),
        "b_q_gc = 1",
        "b_wcu_tk = 1000000",
        "b_wcu_cp = 1000000",
        "b_wcu_ra = 1000000",
        "b_wcu_rp = 1000",
    ] {
        writes[0].assert_stores(wanted);
    }
    assert_eq!((writes[2].kind.as_str(), writes[2].pk.as_str()), ("ConditionCheck", "ns/ENTITY#e"));
    assert_eq!(writes[2].conditions, ["attribute_not_exists(PK)"]);
    let decision = done(next(&mut machine, committed()));
    assert!(decision.outcome.is_admitted());
    assert!(decision.follow_ups.is_empty());
}

#[test]
fn r7_a_record_may_say_in_so_many_words_that_there_is_no_parent() {
    let record = Item::default()
        .text("PK", "ns/ENTITY#e")
        .text("SK", "#META")
        .raw("parent_id", json!({ "NULL": true }))
        .num("pgen", 7);
    let (mut machine, step) = after_refusal(request(1), None);
    only(step);
    let reply = cancelled(&[("None", None), ("None", None), ("ConditionalCheckFailed", Some(&record))]);
    let writes = sent(&only(next(&mut machine, reply)));
    writes[0].assert_stores("pgen = 7");
    assert_eq!(
        writes[2].conditions,
        [
            "attribute_exists(PK)",
            "attribute_not_exists(cascade)",
            "(attribute_not_exists(parent_id) OR parent_id = NULL)",
            "pgen = 7",
            "attribute_not_exists(pinc)",
        ]
    );
}

#[test]
fn r7_the_owners_record_is_copied_and_checked() {
    let record = Item::default()
        .text("PK", "ns/ENTITY#e")
        .text("SK", "#META")
        .text("parent_id", "p")
        .num("pgen", 7)
        .text("pinc", "x");
    let (mut machine, step) = after_refusal(request(1), None);
    only(step);
    let reply = cancelled(&[("None", None), ("None", None), ("ConditionalCheckFailed", Some(&record))]);
    let writes = sent(&only(next(&mut machine, reply)));
    for wanted in ["parent_id = p", "pgen = 7", "pinc = x"] {
        writes[0].assert_stores(wanted);
    }
    assert_eq!(
        writes[2].conditions,
        ["attribute_exists(PK)", "attribute_not_exists(cascade)", "parent_id = p", "pgen = 7", "pinc = x"]
    );
}

#[test]
fn r7_an_entity_that_cascades_is_refused_before_anything_is_written() {
    let record = Item::default().text("PK", "ns/ENTITY#e").text("SK", "#META").flag("cascade");
    let (mut machine, step) = after_refusal(drawn(1, 1, 2), None);
    only(step);
    let decision = done(next(&mut machine, found(&[Item::live(0).num("shard_count", 2), record])));
    let Outcome::Failed(error) = decision.outcome else { panic!("{:?}", decision.outcome) };
    assert_eq!(error.code.as_str(), "unsupported");
}

// ---- R8: who funds ----

fn sibling(shard: u32, grant_count: i128, tokens_milli: i128) -> Sibling {
    Sibling { shard, current: true, grant_count, tokens_milli }
}

#[test]
fn r8_candidates_are_the_slots_a_doubling_came_from() {
    assert_eq!(grant::candidates(31, 32, true), [0, 1, 3, 7, 15]);
    assert_eq!(grant::candidates(16, 32, true), [0]);
    assert_eq!(grant::candidates(5, 8, true), [0, 1]);
    assert_eq!(grant::candidates(1, 2, true), [0]);
    assert_eq!(grant::candidates(0, 8, false), [1, 2, 4]);
    for slot in 0..32 {
        assert!(grant::candidates(slot, 32, true).len() <= 5);
        assert!(!grant::candidates(slot, 32, true).contains(&slot));
    }
}

#[test]
fn r8_a_recreated_shard_0_reads_the_first_shard_of_doublings_that_were_not_propagated() {
    let every = [1, 2, 4, 8, 16];
    assert_eq!(grant::candidates(0, 32, true), every);
    assert_eq!(grant::candidates(0, 2, true), every);
    assert_eq!(grant::candidates(0, 1, true), [1], "the first doubling at least");
    assert_eq!(grant::candidates(0, 2, false), [1], "the count is on the shard 0 that is there");
}

#[test]
fn r8_the_donor_has_the_largest_grant_count_then_the_lowest_id() {
    let donor = |siblings: &[Sibling]| grant::plan(7, 3000, siblings).donor.map(|donor| donor.shard);
    assert_eq!(donor(&[sibling(0, 1, 9), sibling(1, 2, 9), sibling(3, 4, 9)]), Some(3));
    assert_eq!(donor(&[sibling(3, 1, 9), sibling(1, 1, 9)]), Some(1));
    assert_eq!(donor(&[sibling(3, 8, 9)]), None, "sized at 8 already: 7 is a slot of its own");
    let over = Sibling { current: false, ..sibling(3, 4, 9) };
    assert_eq!(donor(&[over]), None, "a grant of another window");
    assert_eq!(grant::plan(7, 3000, &[]), Grant { tokens_milli: 3000, donor: None });
}

#[test]
fn r8_moves_at_most_the_share_and_never_less_than_nothing() {
    let moved = |tokens| grant::plan(1, 3000, &[sibling(0, 1, tokens)]).tokens_milli;
    assert_eq!((moved(2999), moved(3000), moved(3001), moved(0), moved(-5)), (2999, 3000, 3000, 0, 0));
}

#[test]
fn r8_an_uncounted_grant_is_the_stored_count_halved_while_it_holds_more() {
    let count = |tokens: i64, stored| {
        let item = Item::shard(0, stored, tokens, NOW).without("b_q_gc").read();
        grant::grant_count(item.limit("q").unwrap(), item.shard_count)
    };
    assert_eq!(count(25_000, 4), 4);
    assert_eq!(count(25_001, 4), 2);
    assert_eq!(count(50_001, 4), 1);
    assert_eq!(count(i64::MAX, 32), 1);
}

#[test]
fn r8_a_grant_is_of_the_window_within_one_length_before_its_start() {
    // Shard 0 carries the start; shard 1's balance is of one that began a length before.
    let with = |applied| {
        let pending = Item::shard(1, 2, 40_000, NOW - 10_000).num("b_q_wa", applied).num("b_q_gc", 2);
        let join = planned(3, &[Item::shard(0, 2, 0, NOW - 10_000).num("b_q_gc", 4), pending], 4, &[]);
        join.is_funded("q")
    };
    assert!(!with(NOW - 10_000 - LENGTH));
    assert!(with(NOW - 10_000 - LENGTH + 1));
    assert!(with(NOW - 10_000));
}

// ---- R8: the transaction ----

#[test]
fn r8_one_transaction_to_the_letter() {
    let start = NOW - 10_000;
    // Shard 1 of two holds half of everything; shard 0 knows of four already.
    let siblings = [Item::shard(0, 4, 20_000, start).num("b_q_gc", 2), Item::shard(1, 2, 40_000, start)];
    let debits = [debit("q", 5, &[quota()])];
    let join = planned(3, &siblings, 4, &debits);
    let writes = writes_of(&join, &debits);
    let shape: Vec<_> = writes.iter().map(|write| (write.kind.as_str(), write.pk.clone())).collect();
    let pk = |shard| subject().bucket_pk(shard);
    assert_eq!(
        shape,
        [
            ("Put", pk(3)),
            ("ConditionCheck", pk(0)),
            ("Update", pk(1)),
            ("ConditionCheck", "ns/ENTITY#e".into())
        ]
    );
    writes[0].assert_stores("b_q_tk = 20000");
    assert_eq!(
        writes[1].conditions,
        [
            "attribute_exists(PK)".to_owned(),
            "shard_count = 4".into(),
            format!("b_q_ws = {start}"),
            format!("b_q_wa = {start}"),
            "b_q_gc = 2".into(),
        ]
    );
    assert_eq!(writes[2].changes, ["SET shard_count = 4", "ADD b_q_tk -25000"], "raised, its `gc` kept");
    assert_eq!(
        writes[2].conditions,
        [
            "attribute_exists(PK)".to_owned(),
            "shard_count = 2".into(),
            format!("b_q_ws = {start}"),
            format!("b_q_wa = {start}"),
            "b_q_gc = 2".into(),
            "b_q_tk >= 25000".into(),
        ]
    );
}

#[test]
fn r8_an_uncounted_candidate_is_raised_with_the_size_that_was_read() {
    let old = Item::shard(0, 1, 70_000, NOW - 10_000).without("b_q_gc").without("shard_count");
    let writes = writes_of(&planned(1, &[old], 2, &[]), &[]);
    assert_eq!(writes[1].changes, ["SET shard_count = 2", "SET b_q_gc = 1", "ADD b_q_tk -50000"]);
    writes[1].assert_condition("(attribute_not_exists(shard_count) OR shard_count <= 1)");
    writes[1].assert_condition("attribute_not_exists(b_q_gc)");
    writes[1].assert_condition("b_q_tk <= 100000");
    writes[1].assert_condition("b_q_tk >= 50000");
}

#[test]
fn r8_an_uncounted_candidate_that_knows_the_count_is_only_checked() {
    let old = Item::shard(0, 2, 0, NOW - 10_000).without("b_q_gc");
    let writes = writes_of(&planned(1, &[old], 2, &[]), &[]);
    assert_eq!(writes[1].kind, "ConditionCheck");
    writes[1].assert_condition("attribute_not_exists(b_q_gc)");
}

#[test]
fn r8_without_the_marker_rf_is_part_of_what_was_read() {
    let old = Item::shard(0, 2, 30_000, NOW - 10_000).without("b_q_wa").num("b_q_gc", 1);
    let writes = writes_of(&planned(1, &[old], 2, &[]), &[]);
    writes[1].assert_condition("attribute_not_exists(b_q_wa)");
    writes[1].assert_condition(&format!("rf = {}", NOW - 1000));
}

#[test]
fn r8_an_absent_candidate_must_stay_absent() {
    let writes = writes_of(&planned(3, &[Item::shard(0, 4, 0, NOW - 10_000)], 4, &[]), &[]);
    assert_eq!((writes[2].kind.as_str(), &writes[2].pk), ("ConditionCheck", &subject().bucket_pk(1)));
    assert_eq!(writes[2].conditions, ["attribute_not_exists(PK)"]);
}

#[test]
fn r8_the_largest_count_seen_anywhere_is_the_count() {
    let siblings = [Item::shard(0, 2, 0, NOW - 10_000), Item::shard(1, 8, 0, NOW - 10_000)];
    let join = planned(3, &siblings, 4, &[]);
    assert_eq!(join.materialisation.shard_count, 8);
    assert_eq!(tokens_of(&join), 12_500 * i128::from(!join.is_funded("q")));
    let writes = writes_of(&join, &[]);
    writes[1].assert_change("SET shard_count = 8");
}

#[test]
fn r8_a_slot_that_was_never_granted_starts_with_its_share() {
    // Every sibling was sized at four: slot 3 is nobody's.
    let siblings = [Item::shard(0, 4, 0, NOW - 10_000), Item::shard(1, 4, 0, NOW - 10_000)];
    let join = planned(3, &siblings, 4, &[]);
    assert!(!join.is_funded("q"));
    assert_eq!(tokens_of(&join), 25_000);
}

#[test]
fn r8_the_shard_after_a_join_is_what_its_put_stores() {
    let debits = [debit("q", 5, &[quota()])];
    let after = planned(3, &[Item::shard(0, 4, 0, NOW - 10_000)], 4, &debits).materialisation.after(&debits);
    assert_eq!((after.id, after.shard_count, after.last_refill_ms), (3, 4, NOW));
    let state = after.limit("q").unwrap();
    assert_eq!((state.tokens_milli, state.consumed_milli), (20_000, Some(5000)));
    assert_eq!(after.wcu.unwrap().consumed_milli, Some(0));
}

#[test]
fn r8_a_donor_with_nothing_funds_with_nothing() {
    let join = planned(1, &[Item::shard(0, 2, -4000, NOW - 10_000).num("b_q_gc", 1)], 2, &[]);
    assert!(join.is_funded("q") && !join.moves());
    assert_eq!(tokens_of(&join), 0);
    let writes = writes_of(&join, &[]);
    writes[1].assert_no_condition_on("b_q_tk");
}

#[test]
fn r8_a_sibling_without_the_limit_may_carry_the_leftovers_of_a_propagation() {
    // Shard 0 seeded `q` and propagated its window; shard 1 has no balance of it yet, only a start.
    let start = NOW - 10_000;
    let told = Item::bare(1).num("shard_count", 4).num("b_q_ws", start).num("b_q_rsa", 60).num("b_q_wtc", 0);
    let told = told.num("vu", 0).with_drip(0);
    let writes = writes_of(&planned(3, &[Item::shard(0, 4, 0, start), told], 4, &[]), &[]);
    assert_eq!(writes[2].pk, subject().bucket_pk(1));
    writes[2].assert_no_condition_on("attribute_not_exists(b_q_ws)");
    writes[2].assert_condition("attribute_not_exists(b_q_tk)");
}

#[test]
fn r8_a_cancelled_join_is_planned_again_twice_and_then_contended() {
    let donor = Item::shard(0, 2, 30_000, NOW - 10_000).num("b_q_gc", 1);
    let (mut machine, step) = after_refusal(drawn(1, 1, 2), None);
    let mut call = only(step);
    for round in 1..=3 {
        assert!(asked(&call).1, "round {round}: a fresh, consistent read");
        let transaction = only(next(&mut machine, found(std::slice::from_ref(&donor))));
        assert_eq!(transaction.operation, "TransactWriteItems");
        let lost = [("None", None), ("ConditionalCheckFailed", Some(&donor)), ("None", None)];
        match next(&mut machine, cancelled(&lost)) {
            onewindow::Step::Perform(mut calls) => call = calls.remove(0),
            onewindow::Step::Done(decision) => {
                assert_eq!(decision.outcome, Outcome::Contended { retry_after_ms: 100 });
                assert_eq!(round, 3);
                return;
            }
        }
    }
    panic!("a fourth plan");
}

#[test]
fn r8_what_a_cancelled_join_was_planned_from_is_read_again_unless_only_the_record_differs() {
    let donor = Item::shard(0, 2, 30_000, NOW - 10_000).num("b_q_gc", 1);
    let record = Item::default().text("PK", "ns/ENTITY#e").text("SK", "#META").num("pgen", 7);
    let (ok, no) = (("None", None), ("ConditionalCheckFailed", Some(&donor)));
    let changed = ("ConditionalCheckFailed", Some(&record));
    let lost = |reasons: &[(&str, Option<&Item>)]| {
        let (mut machine, step) = after_refusal(drawn(1, 1, 2), None);
        only(step);
        only(next(&mut machine, found(std::slice::from_ref(&donor))));
        only(next(&mut machine, cancelled(reasons)))
    };
    let replanned = sent(&lost(&[ok, ok, changed]));
    replanned[0].assert_stores("pgen = 7");
    replanned[0].assert_stores("b_q_tk = 29000");
    replanned[1].assert_change("ADD b_q_tk -30000");
    assert_eq!(lost(&[ok, no, changed]).operation, "BatchGetItem");
    // A limit is seeded: its transaction has no record, and what comes last is a sibling.
    let own = Item::bare(1).num("shard_count", 2).with_drip(0);
    let (mut machine, step) = after_refusal(drawn(1, 1, 2), Some(&own));
    only(step);
    only(next(&mut machine, found(&[donor.clone(), own])));
    assert_eq!(only(next(&mut machine, cancelled(&[ok, no]))).operation, "BatchGetItem");
}

#[test]
fn r8_a_rejected_join_still_writes_its_move() {
    let start = NOW - 10_000;
    let donor = Item::shard(0, 2, 30_000, start).num("b_q_gc", 1);
    let (mut machine, step) = after_refusal(drawn(40, 1, 2), None);
    only(step);
    let writes = sent(&only(next(&mut machine, found(std::slice::from_ref(&donor)))));
    writes[0].assert_stores("b_q_tk = 30000");
    writes[0].assert_stores("b_q_tc = 0");
    // Then the rest of the entity is asked before anything is refused.
    let survey = only(next(&mut machine, committed()));
    assert_eq!(asked(&survey).0.len(), 2);
    let after = [donor.num("b_q_tk", 0), Item::shard(1, 2, 30_000, start)];
    assert_eq!(retry_after(&done(next(&mut machine, found(&after)))), 50_000);
}

#[test]
fn r8_a_rejected_join_without_a_move_writes_nothing() {
    let (mut machine, step) = after_refusal(drawn(60, 1, 2), None);
    only(step);
    let spent = Item::shard(0, 2, 0, NOW - 10_000);
    let survey = only(next(&mut machine, found(std::slice::from_ref(&spent))));
    assert_eq!(survey.operation, "BatchGetItem");
    assert_eq!(retry_after(&done(next(&mut machine, found(&[spent])))), 50_000);
}

#[test]
fn r8_at_most_seven_items() {
    let start = NOW - 10_000;
    let (mut machine, step) = after_refusal(drawn(1, 31, 32), None);
    only(step);
    let siblings = [0, 1, 3, 7, 15].map(|shard| Item::shard(shard, 32, 3000, start).num("b_q_gc", 1));
    assert_eq!(sent(&only(next(&mut machine, found(&siblings)))).len(), 7);
}

#[test]
fn r8_a_dripping_limit_starts_at_its_share() {
    let limits = vec![quota(), drip()];
    let request = AcquireRequest { limits, ..drawn(1, 1, 2) };
    let (mut machine, step) = after_refusal(request, None);
    only(step);
    let donor = Item::shard(0, 2, 30_000, NOW - 10_000).with_drip(0).num("b_q_gc", 1);
    let writes = sent(&only(next(&mut machine, found(&[donor]))));
    writes[0].assert_stores("b_d_tk = 30000");
    writes[0].assert_stores("b_q_tk = 29000");
    writes[1].assert_no_condition_on("b_d_");
}

#[test]
fn r8_an_operators_parameters_outlive_an_old_configuration() {
    let request = AcquireRequest { limits: vec![Limit::session("q", 500, 60)], ..drawn(1, 1, 2) };
    let (mut machine, step) = after_refusal(request, None);
    only(step);
    let sized = Item::shard(0, 2, 0, NOW - 10_000);
    let writes = sent(&only(next(&mut machine, found(&[sized]))));
    writes[0].assert_stores("b_q_cp = 100000");
    writes[0].assert_stores("b_q_tk = 49000");
}

#[test]
fn r15_a_limit_that_only_a_sibling_knows_is_joined_as_it_has_it() {
    let (mut machine, _) = started(AcquireRequest { limits: Vec::new(), ..drawn(1, 1, 2) });
    let donor = [Item::shard(0, 2, 30_000, NOW - 10_000).num("b_q_gc", 1)];
    only(next(&mut machine, found(&donor)));
    only(next(&mut machine, refused(None)));
    let writes = sent(&only(next(&mut machine, found(&donor))));
    for wanted in ["b_q_cp = 100000", "b_q_rsa = 60", "b_q_gc = 2", "b_q_tk = 29000"] {
        writes[0].assert_stores(wanted);
    }
}
