//! R9: nobody is turned away while another shard, or several together, could serve.

use onewindow::{AcquireRequest, Amount, Limit, Outcome};

use crate::kit::*;

const START: i64 = NOW - 10_000;

/// The survey of a request that its drawn shard, 0 of 2, could not serve.
fn surveying(request: AcquireRequest, drawn: &Item) -> onewindow::Acquire {
    let (machine, step) = after_refusal(request, Some(drawn));
    let (keys, consistent) = asked(&only(step));
    assert!(!consistent, "every write stays conditional, so this is enough");
    assert!(keys.len() >= 2);
    machine
}

#[test]
fn r9_asks_every_shard_before_it_rejects() {
    let items = [Item::shard(0, 2, 1000, START), Item::shard(1, 2, 2000, START)];
    let mut machine = surveying(drawn(4, 0, 2), &items[0]);
    let decision = done(next(&mut machine, found(&items)));
    assert_eq!(retry_after(&decision), 50_000);
    assert_eq!(decision.limits[0].available, 3, "what is left over all shards");
}

#[test]
fn r9_an_unsharded_bucket_is_rejected_off_the_image() {
    let (_, step) = after_refusal(request(2), Some(&Item::live(1000)));
    assert_eq!(retry_after(&done(step)), 50_000);
}

#[test]
fn r9_the_fullest_shard_that_can_serve_alone() {
    let items = [
        Item::shard(0, 4, 0, START),
        Item::shard(1, 4, 7000, START),
        Item::shard(2, 4, 9000, START),
        Item::shard(3, 4, 9000, START),
    ];
    let mut machine = surveying(drawn(5, 0, 4), &items[0]);
    let call = only(next(&mut machine, found(&items)));
    assert_eq!((call.operation, &sent(&call)[0].pk), ("UpdateItem", &subject().bucket_pk(2)));
    sent(&call)[0].assert_no_condition_on("rf = ");
}

#[test]
fn r9_a_shard_that_can_serve_after_its_own_materialisation() {
    let ended = Item::shard(1, 2, 0, NOW - LENGTH);
    let items = [Item::shard(0, 2, 0, START), ended];
    let mut machine = surveying(drawn(50, 0, 2), &items[0]);
    let call = only(next(&mut machine, found(&items)));
    assert_eq!(call.operation, "UpdateItem", "it is there, so nothing is joined");
    sent(&call)[0].assert_condition(&format!("rf = {}", NOW - 1000));
    sent(&call)[0].assert_change(&format!("SET b_q_ws = {NOW}"));
}

#[test]
fn r9_a_missing_slot_counts_with_what_it_would_be_granted() {
    let mut machine = surveying(drawn(30, 0, 2), &Item::shard(0, 2, 0, START));
    let call = only(next(&mut machine, found(&[Item::shard(0, 2, 0, START)])));
    let writes = sent(&call);
    assert_eq!((writes[0].kind.as_str(), &writes[0].pk), ("Put", &subject().bucket_pk(1)));
    writes[0].assert_stores("b_q_tk = 20000");
}

#[test]
fn r9_a_slot_that_a_donor_would_fund_counts_once() {
    // Shard 0 holds everything there is; making shard 1 would only move some of it.
    let donor = Item::shard(0, 2, 30_000, START).num("b_q_gc", 1);
    let mut machine = surveying(drawn(40, 0, 2), &donor);
    let decision = done(next(&mut machine, found(&[donor])));
    assert_eq!(retry_after(&decision), 50_000);
    assert_eq!(decision.limits[0].available, 30);
}

#[test]
fn r9_gathers_from_the_fullest_and_as_few_as_serve() {
    let items = [
        Item::shard(0, 4, 1000, START),
        Item::shard(1, 4, 6000, START),
        Item::shard(2, 4, 4000, START),
        Item::shard(3, 4, 2000, START),
    ];
    let mut machine = surveying(drawn(9, 0, 4), &items[0]);
    let call = only(next(&mut machine, found(&items)));
    let writes = sent(&call);
    assert_eq!(
        writes.iter().map(|write| &write.pk).collect::<Vec<_>>(),
        [&subject().bucket_pk(1), &subject().bucket_pk(2)]
    );
    writes[0].assert_change("ADD b_q_tk -6000");
    writes[1].assert_change("ADD b_q_tk -3000");
    for write in &writes {
        write.assert_condition(&format!("b_q_ws > {}", NOW - LENGTH));
        write.assert_condition("b_wcu_tk >= 1000");
    }
    writes[1].assert_condition(&format!("(b_q_tk >= 3000 OR b_q_soft > {NOW} OR bypass > {NOW})"));
    let decision = done(next(&mut machine, committed()));
    assert!(decision.outcome.is_admitted());
    // Just what two of them hold.
    let mut machine = surveying(drawn(10, 0, 4), &items[0]);
    assert_eq!(sent(&only(next(&mut machine, found(&items)))).len(), 2);
}

#[test]
fn r9_a_gathering_that_lost_surveys_again_and_is_contended_in_the_end() {
    let items = [Item::shard(0, 2, 3000, START), Item::shard(1, 2, 3000, START)];
    let mut machine = surveying(drawn(5, 0, 2), &items[0]);
    for _ in 0..10 {
        only(next(&mut machine, found(&items)));
        let lost = cancelled(&[("ConditionalCheckFailed", Some(&items[0])), ("None", None)]);
        if let onewindow::Step::Done(decision) = next(&mut machine, lost) {
            assert_eq!(decision.outcome, Outcome::Contended { retry_after_ms: 100 });
            return;
        }
    }
    panic!("it never gives up");
}

#[test]
fn r9_a_share_and_one_more_is_gathered_off_fresh_shards() {
    // F17: nothing used, four shares of 25: 26 and 100 both fit.
    let items = [0, 1, 2, 3].map(|shard| Item::shard(shard, 4, 25_000, START));
    for (tokens, shards) in [(26, 2), (100, 4)] {
        let mut machine = surveying(drawn(tokens, 0, 4), &items[0]);
        assert_eq!(sent(&only(next(&mut machine, found(&items)))).len(), shards);
    }
}

#[test]
fn r9_the_whole_capacity_of_an_entity_whose_window_is_over() {
    // Two ended shards and a slot that is missing: each opens, all in one transaction.
    let items = [0, 1, 3].map(|shard| Item::shard(shard, 4, 0, NOW - LENGTH));
    let mut machine = surveying(drawn(100, 0, 4), &items[0]);
    let call = only(next(&mut machine, found(&items)));
    let writes = sent(&call);
    for write in writes.iter().filter(|write| write.kind == "Update") {
        write.assert_change(&format!("SET b_q_ws = {NOW}"));
    }
    assert_eq!(writes.iter().filter(|write| write.kind == "Update").count(), 3);
    let created = writes.iter().find(|write| write.kind == "Put").expect("slot 2 is created");
    created.assert_stores(&format!("b_q_ws = {NOW}"));
    let mut keys: Vec<_> = writes.iter().map(|write| &write.pk).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), writes.len(), "no item twice");
    let decision = done(next(&mut machine, committed()));
    assert!(decision.outcome.is_admitted());
}

#[test]
fn r9_r8_what_making_a_slot_asks_of_a_neighbour_is_part_of_the_neighbours_own_write() {
    // Slots 2 and 3 were never granted. Shard 0 serves some of its own, and learns of them.
    let items = [
        Item::shard(0, 2, 20_000, START).num("b_q_gc", 4),
        Item::shard(1, 4, 20_000, START).num("b_q_tc", 9000),
    ];
    let mut machine = surveying(drawn(60, 1, 4), &items[1]);
    let writes = sent(&only(next(&mut machine, found(&items))));
    let pks: Vec<_> = writes.iter().map(|write| (write.kind.as_str(), write.pk.clone())).collect();
    let pk = |shard| subject().bucket_pk(shard);
    assert_eq!(
        pks,
        [
            ("Update", pk(0)),
            ("Put", pk(2)),
            ("Put", pk(3)),
            ("ConditionCheck", "ns/ENTITY#e".into()),
            ("ConditionCheck", pk(1))
        ]
    );
    writes[0].assert_change("ADD b_q_tk -10000");
    writes[0].assert_change("SET shard_count = 4");
    for wanted in ["b_wcu_tk >= 1000", "shard_count = 2", "b_q_gc = 4", "attribute_exists(PK)"] {
        let times = writes[0].conditions.iter().filter(|it| *it == wanted).count();
        assert_eq!(times, 1, "{wanted}: {:#?}", writes[0].conditions);
    }
    writes[4].assert_condition("shard_count = 4");
}

#[test]
fn r9_r8_a_slot_that_the_survey_did_not_know_of_is_surveyed_next() {
    // Shard 0 is to be re-created, and shard 2 was created after a doubling that did not reach shard 1.
    let items = [Item::shard(1, 2, 50_000, START)];
    let mut machine = surveying(drawn(80, 1, 2), &items[0]);
    let writes = sent(&only(next(&mut machine, found(&items))));
    let further = writes.iter().position(|write| write.pk == subject().bucket_pk(2)).unwrap();
    assert_eq!(writes[further].conditions, ["attribute_not_exists(PK)"]);
    let unknown = Item::shard(2, 4, 25_000, START);
    let mut reasons = vec![("None", None); writes.len()];
    reasons[further] = ("ConditionalCheckFailed", Some(&unknown));
    let survey = only(next(&mut machine, cancelled(&reasons)));
    assert_eq!(asked(&survey).0.len(), 4);
}

#[test]
fn r9_f23_a_limit_that_no_shard_has_yet_is_gathered_too() {
    // `q` was added to the configuration of an entity of two shards: 60 of 100 must be served.
    let bare = [0, 1].map(|shard| Item::bare(shard).num("shard_count", 2).with_drip(0));
    let (mut machine, step) = after_refusal(drawn(60, 1, 2), Some(&bare[1]));
    only(step);
    let survey = only(next(&mut machine, found(&bare)));
    assert_eq!(asked(&survey).0.len(), 2);
    let writes = sent(&only(next(&mut machine, found(&bare))));
    assert_eq!(writes.len(), 2);
    writes[0].assert_change("SET b_q_tk = 0");
    writes[1].assert_change("SET b_q_tk = 40000");
    let decision = done(next(&mut machine, committed()));
    assert!(decision.outcome.is_admitted());
}

#[test]
fn r9_f23_a_shard_that_lacks_the_limit_serves_it_too() {
    // Shard 0 was seeded and is spent; shard 1 was never asked for `q`.
    let items = [Item::shard(0, 2, 0, START), Item::bare(1).num("shard_count", 2).with_drip(0)];
    let mut machine = surveying(drawn(30, 0, 2), &items[0]);
    let writes = sent(&only(next(&mut machine, found(&items))));
    assert_eq!(writes[0].pk, subject().bucket_pk(1));
    writes[0].assert_change(&format!("SET b_q_ws = {START}"));
    writes[0].assert_change("SET b_q_tk = 20000");
}

#[test]
fn r9_more_than_everything_together_never_fits_only_if_it_never_fits() {
    // With every window over, two floored shares of 99.999 are what there ever is.
    let items = [0, 1].map(|shard| Item::shard(shard, 2, 0, NOW - LENGTH).num("b_q_cp", 99_999));
    let mut machine = surveying(drawn(100, 0, 2), &items[0]);
    let decision = done(next(&mut machine, found(&items)));
    assert_eq!(decision.outcome, Outcome::NeverFits { limit: "q".into() });
}

#[test]
fn r9_tokens_that_only_a_move_can_free_are_moved_first() {
    // 40 of `d` are there: 30 here, 30 on a slot that does not exist yet because nobody drew it.
    let mut both = drawn(1, 0, 2);
    both.limits.push(drip());
    both.consume.push(Amount::new("d", 40));
    let donor = Item::shard(0, 2, 30_000, START).num("b_q_gc", 1).with_drip(30_000).num("rf", NOW);
    let mut machine = surveying(both, &donor);
    let writes = sent(&only(next(&mut machine, found(std::slice::from_ref(&donor)))));
    writes[0].assert_stores("b_q_tk = 30000");
    writes[0].assert_stores("b_d_tk = 30000");
    let survey = only(next(&mut machine, committed()));
    assert_eq!(survey.operation, "BatchGetItem");
    let created = Item::shard(1, 2, 30_000, START).with_drip(30_000).num("rf", NOW);
    let writes = sent(&only(next(&mut machine, found(&[donor.num("b_q_tk", 0), created]))));
    assert_eq!(writes.len(), 2);
    assert!(done(next(&mut machine, committed())).outcome.is_admitted());
}

#[test]
fn r9_a_gathered_lease_carries_the_marker_as_it_stands_on_each_item() {
    // Items older than the marker are served by fast writes, which stamp none.
    let items = [0, 1].map(|shard| Item::shard(shard, 2, 3000, START).without("b_q_wa"));
    let mut machine = surveying(drawn(5, 0, 2), &items[0]);
    only(next(&mut machine, found(&items)));
    let decision = done(next(&mut machine, committed()));
    let Outcome::Admitted(lease) = decision.outcome else { panic!("{:?}", decision.outcome) };
    assert!(!lease.encode().contains("\"a\":"), "{}", lease.encode());
}

#[test]
fn r9_shards_that_disagree_on_their_number_are_all_asked() {
    let items = [Item::shard(0, 2, 0, START), Item::shard(1, 4, 0, START)];
    let mut machine = surveying(drawn(5, 0, 2), &items[0]);
    let (keys, _) = asked(&only(next(&mut machine, found(&items))));
    assert_eq!(keys.len(), 4);
}

#[test]
fn r8_a_shard_that_learns_the_count_keeps_the_size_it_was_granted_at() {
    // Its grant has no size of its own, and the count it was read off is about to change.
    let old = Item::shard(1, 2, 40_000, START).without("b_q_gc").num("vu", 0);
    let items = [Item::shard(0, 4, 0, START), old, Item::shard(2, 4, 0, START), Item::shard(3, 4, 0, START)];
    let mut machine = surveying(drawn(30, 0, 4), &items[0]);
    let write = sent(&only(next(&mut machine, found(&items)))).remove(0);
    write.assert_change("SET shard_count = 4");
    write.assert_change("SET b_q_gc = 2");
    write.assert_condition("attribute_not_exists(b_q_gc)");
    write.assert_condition("(attribute_not_exists(shard_count) OR shard_count <= 4)");
    write.assert_change("ADD b_q_tk -30000");
}

#[test]
fn r9_a_survey_that_was_cut_short_is_repeated() {
    let items = [Item::shard(0, 2, 0, START), Item::shard(1, 2, 9000, START)];
    let mut machine = surveying(drawn(5, 0, 2), &items[0]);
    let again = only(next(&mut machine, found_some(&items[..1])));
    assert_eq!(asked(&again).0.len(), 2);
    let call = only(next(&mut machine, found(&items)));
    assert_eq!(sent(&call)[0].pk, subject().bucket_pk(1));
}

#[test]
fn r9_two_limits_are_gathered_each_from_where_it_is() {
    let mut both = drawn(30, 0, 2);
    both.limits.push(drip());
    both.consume.push(Amount::new("d", 30));
    let items = [
        Item::shard(0, 2, 40_000, START).with_drip(0).num("rf", NOW),
        Item::shard(1, 2, 0, START).with_drip(30_000).num("rf", NOW),
    ];
    let mut machine = surveying(both, &items[0]);
    let writes = sent(&only(next(&mut machine, found(&items))));
    writes[0].assert_change("ADD b_q_tk -30000");
    writes[0].assert_no_change_of("b_d_tk");
    writes[1].assert_change("ADD b_d_tk -30000");
    writes[1].assert_no_change_of("b_q_tk");
}

#[test]
fn r9_a_shard_with_a_live_stamp_serves_any_amount_while_the_rest_is_gathered() {
    let mut both = drawn(5, 0, 2);
    both.limits.push(drip());
    both.consume.push(Amount::new("d", 10));
    let items = |until| {
        [0, 1].map(|shard| {
            Item::shard(shard, 2, 3000, START).with_drip(0).num("rf", NOW).num("b_d_soft", until)
        })
    };
    let mut machine = surveying(both.clone(), &items(NOW + 1)[0]);
    let writes = sent(&only(next(&mut machine, found(&items(NOW + 1)))));
    writes[0].assert_change("ADD b_q_tk -3000");
    writes[0].assert_change("ADD b_d_tk -10000");
    writes[0].assert_condition(&format!("(b_d_tk >= 10000 OR b_d_soft > {NOW} OR bypass > {NOW})"));
    writes[1].assert_change("ADD b_q_tk -2000");
    writes[1].assert_no_change_of("b_d");
    let mut machine = surveying(both, &items(NOW)[0]);
    assert_eq!(retry_after(&done(next(&mut machine, found(&items(NOW))))), 10_001);
}

#[test]
fn r15_amount_zero_waits_while_all_shards_together_are_in_debt() {
    let mut mixed = drawn(5, 0, 2);
    mixed.limits.push(drip());
    mixed.consume.push(Amount::new("d", 0));
    let asked = |owed: i64, until| {
        let item = |shard, d| Item::shard(shard, 2, 3000, START).with_drip(d).num("rf", NOW);
        let items = [item(0, -owed), item(1, 5000)].map(|item| item.num("b_d_soft", until));
        let mut machine = surveying(mixed.clone(), &items[0]);
        next(&mut machine, found(&items))
    };
    assert_eq!(retry_after(&done(asked(5001, NOW))), 2, "a thousandth is missing");
    assert_eq!(sent(&only(asked(5000, NOW))).len(), 2);
    assert_eq!(sent(&only(asked(5001, NOW + 1))).len(), 2, "a live stamp waives it");
}

#[test]
fn r9_r12_a_drip_whose_floored_shares_do_not_hold_the_amount_never_fits() {
    // A sixteenth of one token, sixteen times, is 0.992.
    let mut one = drawn(1, 0, 16);
    (one.limits, one.consume) = (vec![Limit::drip("d", 1, 1, 60)], vec![Amount::new("d", 1)]);
    let full = |shard| Item::bare(shard).num("shard_count", 16).limit("d", 62, 1000, 1000, 60_000);
    let items: Vec<_> = (0..16).map(full).collect();
    let mut machine = surveying(one, &items[0]);
    let decision = done(next(&mut machine, found(&items)));
    assert_eq!(decision.outcome, Outcome::NeverFits { limit: "d".into() });
    // Just what they hold together is worth waiting for.
    let mut all = drawn(60, 0, 4);
    (all.limits, all.consume) = (vec![drip()], vec![Amount::new("d", 60)]);
    let items =
        [0, 1, 2, 3].map(|shard| Item::bare(shard).num("shard_count", 4).with_drip(14_000).num("rf", NOW));
    let mut machine = surveying(all, &items[0]);
    assert_eq!(retry_after(&done(next(&mut machine, found(&items)))), 4001);
}

#[test]
fn r4_a_survey_accepts_a_grant_sized_at_more_shards_as_proof_too() {
    // Shard 1 stores two; its grant was sized at four, so slot 3 may have been split off it since.
    let pending = Item::shard(1, 2, 0, START).num("b_q_gc", 4).num("b_q_wa", START - LENGTH);
    let items = [Item::shard(0, 2, 0, START), pending];
    let mut machine = surveying(drawn(30, 0, 2), &items[0]);
    let (keys, _) = asked(&only(next(&mut machine, found(&items))));
    assert_eq!(keys.len(), 4);
}

#[test]
fn r4_a_proof_on_the_only_known_shard_is_surveyed() {
    // Its share is a half, so the other half is elsewhere: contended would be for ever.
    let over = Item::shard(0, 1, 0, NOW - LENGTH).num("b_q_gc", 2);
    let (mut machine, step) = after_refusal(request(60), Some(&over));
    assert_eq!(asked(&only(step)).0.len(), 2);
    let writes = sent(&only(next(&mut machine, found(&[over]))));
    writes[0].assert_change("SET shard_count = 2");
    writes[0].assert_change("ADD b_q_tc 50000");
    writes[1].assert_stores("b_q_tk = 40000");
}
