//! R14: how long to wait, never 0, never longer than one window.

use onewindow::{
    AcquireRequest, Amount, Limit,
    internals::{balance::Rate, window::reported_reset_ms},
};

use crate::kit::*;

fn rate(amount_milli: i128, period_ms: i64) -> Rate {
    Rate { amount_milli, period_ms }
}

#[test]
fn r14_a_deficit_at_the_shards_rate_plus_one() {
    assert_eq!(rate(60_000, 60_000).retry_after_ms(1000, 1), 1001);
    assert_eq!(rate(60_000, 60_000).retry_after_ms(1000, 4), 4001);
    assert_eq!(rate(1000, 3000).retry_after_ms(1, 1), 4, "three a thousandth, plus one");
    assert_eq!(rate(1000, 999).retry_after_ms(1, 1), 1, "floored to nothing, and still not 0");
    assert_eq!(rate(1000, 1000).retry_after_ms(0, 1), 0, "no deficit, no wait");
}

#[test]
fn r14_undivided_where_the_shards_own_rate_floors_to_nothing() {
    assert_eq!(rate(31, 1000).retry_after_ms(31, 32), 1001);
    assert_eq!(rate(32, 1000).retry_after_ms(1, 32), 1001);
}

#[test]
fn r14_the_reported_wait_is_long_enough() {
    // After exactly the wait, on the same shard, the deficit has dripped in.
    for (amount, period, deficit, count) in [(7, 1000, 5, 1), (1000, 777, 12_345, 4), (60_000, 60_000, 1, 32)]
    {
        let rate = rate(amount, period);
        let wait = i64::try_from(rate.retry_after_ms(deficit, count)).unwrap();
        assert!(rate.refill(0, wait, count, i128::MAX).unwrap() >= deficit, "{rate:?} {deficit} {count}");
    }
}

#[test]
fn r14_extremes_end_in_the_longest_wait_there_is() {
    let longest = u64::MAX;
    assert_eq!(rate(0, 1000).retry_after_ms(1, 1), longest);
    assert_eq!(rate(1, i64::MAX).retry_after_ms(i128::MAX, 32), longest);
    assert_eq!(rate(1000, 0).retry_after_ms(1000, 1), 2, "a period below 1 counts as 1");
}

#[test]
fn r14_f1_f12_a_quota_waits_for_its_instant_whatever_was_asked() {
    // 48 s into a minute; 58.8 s into it; at the last millisecond.
    for (elapsed, wait) in [(48_000, 12_000), (58_800, 1200), (59_999, 1)] {
        for tokens in [1, 50, 100] {
            let item = Item::shard(0, 1, 0, NOW - elapsed);
            let decision = done(after_refusal(request(tokens), Some(&item)).1);
            assert_eq!(retry_after(&decision), wait);
            assert_eq!(decision.limits[0].resets_at_ms, Some(NOW as u64 + wait));
        }
    }
}

#[test]
fn r14_f1_a_retry_at_the_instant_is_admitted() {
    let item = Item::shard(0, 1, 0, NOW - 58_800);
    let wait = retry_after(&done(after_refusal(request(1), Some(&item)).1));
    let mut machine = onewindow::Acquire::new(request(1));
    let then = NOW as u64 + wait;
    only(machine.advance(then, &[]));
    only(machine.advance(then, &[refused(Some(&item))])); // the opening write
    assert!(done(machine.advance(then, &[landed(&item)])).outcome.is_admitted());
}

#[test]
fn r14_f2_a_lowered_capacity_still_reports_a_finite_wait() {
    let lowered =
        AcquireRequest { limits: vec![Limit::session("q", 10, 60)], authoritative: true, ..request(1) };
    // 60 of 100 used.
    let decision = done(after_refusal(lowered.clone(), Some(&Item::live(40_000))).1);
    assert_eq!(retry_after(&decision), 50_000);
    assert_eq!(decision.limits[0].available, -50);
    // After it, 10.
    let over = Item::shard(0, 1, -50_000, NOW - LENGTH).num("b_q_cp", 10_000);
    let write = sent(&only(after_refusal(lowered, Some(&over)).1)).remove(0);
    write.assert_change("ADD b_q_tk 59000");
}

#[test]
fn r14_over_all_shards_the_summed_deficit_at_the_undivided_rate() {
    let mut request = drawn(0, 0, 4);
    (request.limits, request.consume) = (vec![drip()], vec![Amount::new("d", 10)]);
    let items =
        [0, 1, 2, 3].map(|shard| Item::bare(shard).num("shard_count", 4).with_drip(1000).num("rf", NOW));
    let (mut machine, step) = after_refusal(request, Some(&items[0]));
    only(step);
    // Six are missing, one comes each second: not 4 seconds for each.
    assert_eq!(retry_after(&done(next(&mut machine, found(&items)))), 6001);
}

#[test]
fn r14_the_longest_wait_of_the_limits_that_say_no() {
    let mut both = request(5);
    both.limits.push(drip());
    both.consume.push(Amount::new("d", 55));
    let short_quota = Item::live(0).with_drip(0).num("rf", NOW);
    assert_eq!(retry_after(&done(after_refusal(both.clone(), Some(&short_quota)).1)), 55_001);
    let short_drip = Item::live(5000).with_drip(0).num("rf", NOW);
    assert_eq!(retry_after(&done(after_refusal(both, Some(&short_drip)).1)), 55_001);
}

#[test]
fn r14_never_longer_than_one_window() {
    for start in [NOW, NOW + 1, NOW + 1_000_000_000] {
        let decision = done(after_refusal(request(1), Some(&Item::shard(0, 1, 0, start))).1);
        assert_eq!(retry_after(&decision), LENGTH as u64, "starts {start}");
    }
    assert_eq!(reported_reset_ms(i64::MAX, i64::MAX, i64::MAX), i64::MAX as u64);
    assert_eq!(reported_reset_ms(i64::MIN, 1, 0), 0);
}
