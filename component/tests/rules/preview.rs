//! 6.7: what is left, without a debit, and where each shard's window stands.

use onewindow::{
    Hint, Limit, Preview, PreviewOutcome, PreviewReport, Reply, ShardView, Step, WindowState,
    internals::preview,
};

use crate::kit::*;

const START: i64 = NOW - 10_000;

/// The shards a step asks for.
#[track_caller]
fn slots(step: &Step<PreviewOutcome>) -> Vec<String> {
    match step {
        Step::Perform(calls) if calls.len() == 1 => {
            asked(&calls[0]).0.iter().map(|pk| pk.rsplit('#').next().unwrap().to_owned()).collect()
        }
        other => panic!("expected one call, got {other:?}"),
    }
}

#[track_caller]
fn report(step: Step<PreviewOutcome>) -> PreviewReport {
    match step {
        Step::Done(PreviewOutcome::Report(report)) => report,
        other => panic!("{other:?}"),
    }
}

/// A machine without a hint, past its first step.
fn begun() -> Preview {
    let mut machine = Preview::new(subject(), vec![quota()], None);
    assert_eq!(slots(&machine.advance(NOW as u64, &[])), ["0", "1", "2", "4", "8", "16"]);
    machine
}

fn go(machine: &mut Preview, reply: Reply) -> Step<PreviewOutcome> {
    machine.advance(NOW as u64, &[reply])
}

fn shards(ids: &[u32], count: u32) -> Vec<Item> {
    ids.iter().map(|id| Item::shard(*id, count, 1000, START)).collect()
}

#[test]
fn section_6_7_without_a_hint_the_first_shard_of_each_doubling_shows_the_count() {
    assert_eq!(report(go(&mut begun(), found(&shards(&[0], 1)))).shard_count, 1);
    assert_eq!(report(go(&mut begun(), found(&shards(&[0, 1], 2)))).limits[0].status.available, 2);
    let mut machine = begun();
    assert_eq!(slots(&go(&mut machine, found(&shards(&[0, 1, 2, 4], 8)))), ["3", "5", "6", "7"]);
    // One of these knows of a doubling.
    let step = go(&mut machine, found(&[shards(&[3, 5, 6], 8), shards(&[7], 16)].concat()));
    assert_eq!(slots(&step), ["8", "9", "10", "11", "12", "13", "14", "15"]);
    let told = report(go(&mut machine, found(&shards(&[8], 16))));
    assert_eq!((told.shard_count, told.limits[0].shards.len()), (16, 16));
    assert_eq!(machine.hint(), Hint { key: subject().hint_key(), shard_count: 16, rejections: Vec::new() });
}

#[test]
fn section_6_7_with_a_hint_it_is_one_round_trip() {
    let hint = hinted(1, 4).hint;
    let begun = || {
        let mut machine = Preview::new(subject(), vec![quota()], hint.as_ref());
        assert_eq!(slots(&machine.advance(NOW as u64, &[])), ["0", "1", "2", "3"]);
        machine
    };
    let told = report(go(&mut begun(), found(&shards(&[0, 1, 2, 3], 4))));
    assert_eq!((told.shard_count, told.limits[0].status.available), (4, 4));
    let step = go(&mut begun(), found(&shards(&[0, 1, 2, 3], 8)));
    assert_eq!(slots(&step), ["4", "5", "6", "7"]);
}

#[test]
fn section_6_7_a_shard_beyond_the_count_does_not_count() {
    // Read because the number was not known. What it holds, no request would find.
    let mut items = shards(&[0, 1], 2);
    items.push(Item::shard(2, 2, 1000, START).flag("disabled"));
    let told = report(go(&mut begun(), found(&items)));
    assert_eq!((told.limits[0].shards.len(), told.limits[0].status.available), (2, 2));
    assert!(!told.disabled);
}

#[test]
fn section_6_7_what_was_left_unread_is_read_again_six_reads_at_most() {
    let mut machine = begun();
    for _ in 0..5 {
        let step = go(&mut machine, found_some(&[]));
        assert_eq!(slots(&step), ["0", "1", "2", "4", "8", "16"]);
    }
    let step = go(&mut machine, found_some(&[]));
    assert!(matches!(step, Step::Done(PreviewOutcome::Unavailable(_))), "{step:?}");
}

#[test]
fn f10_f21_a_preview_that_is_not_answered() {
    for (reply, wanted) in [
        (Reply::Failed("x".into()), "Unavailable(\"the table did not answer"),
        (committed(), "Unavailable(\"the table answered something other"),
        (error("AccessDeniedException"), "Misconfigured"),
        (found(&[Item::live(0).without("rf")]), "Failed"),
    ] {
        let Step::Done(outcome) = go(&mut begun(), reply) else { panic!() };
        assert!(format!("{outcome:?}").starts_with(wanted), "{outcome:?}");
    }
}

#[test]
fn section_6_7_each_shard_shows_where_its_window_stands() {
    let ended = NOW - LENGTH;
    let shards = [
        Item::shard(0, 8, 1000, START),
        Item::shard(1, 8, 1000, START).num("b_q_wa", START - 1),
        Item::shard(2, 8, 1000, ended),
        Item::shard(3, 8, 1000, START).without("b_q_ws"),
        Item::bare(4).num("shard_count", 8),
    ];
    let shards: Vec<_> = shards.iter().map(Item::read).collect();
    let told = preview::report(&shards, 8, &[quota()], NOW).unwrap().limits.remove(0).shards;
    let view = |view: &ShardView| (view.state, view.starts_at_ms.map(|start| start as i64));
    assert_eq!(view(&told[0]), (WindowState::Live, Some(START)));
    assert_eq!(view(&told[1]), (WindowState::Pending, Some(START)));
    assert_eq!(view(&told[2]), (WindowState::Ended, Some(ended)));
    assert_eq!(view(&told[3]), (WindowState::Unstarted, None));
    assert_eq!(view(&told[4]), (WindowState::Unstarted, None), "it lacks the limit");
    assert_eq!(view(&told[5]), (WindowState::Absent, None));
    let ends: Vec<_> = told.iter().map(|view| view.ends_at_ms.map(|end| end as i64)).collect();
    assert_eq!(ends[..3], [Some(START + LENGTH), Some(START + LENGTH), Some(NOW)]);
    let counted: Vec<_> = told.iter().map(|view| view.counted_milli).collect();
    assert_eq!(counted, [1000, 12_500, 12_500, 12_500, 12_500, 12_500, 12_500, 12_500]);
    assert_eq!((told[0].balance_milli, told[5].balance_milli), (1000, 0));
}

#[test]
fn section_6_7_the_configured_limits_in_their_order_then_what_only_the_items_know() {
    let item = Item::live(5000).with_drip(7000).limit("x", 1000, 1000, 1000, 1000).read();
    let limits = [Limit::session("z", 9, 60), quota()];
    let report = preview::report(&[item], 0, &limits, NOW).unwrap();
    let told: Vec<_> =
        report.limits.iter().map(|limit| (limit.status.name.as_str(), limit.status.available)).collect();
    assert_eq!(told, [("q", 5), ("d", 8), ("x", 1)], "`z` is on no item, and no slot is missing");
}
