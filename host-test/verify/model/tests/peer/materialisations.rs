//! What a materialisation makes of one limit: balances, ends, waits, stamps.

use onewindow::{
    Amount, Limit,
    internals::{
        LimitState, Shard,
        materialise::{Debit, Materialisation, Settings, lifetime_seconds},
        preview,
    },
};
use serde_json::{Value as Json, json};

use crate::{
    Case, Tally, cases,
    items::{limit, shard, state, tokens},
};

fn now_ms(input: &Json) -> i64 {
    input["now_ms"].as_i64().expect("a clock")
}

fn settings(limits: &[Limit], now_ms: i64) -> Settings<'_> {
    Settings { limits, authoritative: false, permanent: false, parent: None, now_ms }
}

/// The balance one shard counts with, whole tokens, and the end of its window as stored.
fn view(shard: &Shard, limits: &[Limit], now_ms: i64) -> (i64, Option<u64>) {
    let report = preview::report(std::slice::from_ref(shard), 0, limits, now_ms).unwrap();
    let view = &report.limits[0].shards[0];
    (view.counted_milli.div_euclid(1000), view.ends_at_ms)
}

/// Whether the quota's window is over, or never started: a materialisation opens the next (R1).
fn is_due(shard: &Shard, now_ms: i64) -> bool {
    let state = &shard.limits[0];
    let end_ms =
        state.window_start_ms.zip(state.reset_after_seconds).map(|(start, length)| start + length * 1000);
    state.reset_after_seconds.is_some() && end_ms.is_none_or(|end_ms| end_ms <= now_ms)
}

/// Whether the limit never recovers: it has neither a window nor a rate.
fn never_recovers(state: &LimitState) -> bool {
    state.reset_after_seconds.is_none() && state.refill_amount_milli == 0
}

const CONFIGURED_LENGTH: &str = "R1: the configured length counts, not the stored one";
const OPENS: &str = "R1: a window that is over, or has not started, is decided on after its opening";
const CURRENT_SHARE: &str =
    "R4: a reset grants a share of the count that the item proves, not of the stored count";
const LIVE_STAMPS: &str = "section 2: a bypass or soft stamp counts while it is later than now";
const OTHER_MULTIPLIER: &str = "section 8: the multiplier is 7; none, or below 1, turns the peer's ttl off";
const PROVEN_COUNT: &str =
    "R4: a grant sized at more shards than the item counts proves that there are as many";
const NEVER_AT_ONCE: &str = "R14: a rejection never says 0";

#[test]
fn window_end_in_force() {
    let mut tally = Tally::default();
    for case in cases("window_end_in_force") {
        let now_ms = now_ms(&case.input);
        let shard = state(&case.input["state"], "l");
        let (_, end_ms) = view(&shard, &[], now_ms);
        let in_force = end_ms.filter(|end_ms| i64::try_from(*end_ms).unwrap() > now_ms);
        tally.compare(&case, &in_force, &case.output["resets_at_ms"].as_u64(), None);
    }
    tally.expect(&[]);
}

#[test]
fn readable_balance() {
    let mut tally = Tally::default();
    for case in cases("readable_balance") {
        let now_ms = now_ms(&case.input);
        let limits = [limit(&case.input["limit"])];
        let shard = state(&case.input["state"], &limits[0].name);
        let ours = view(&shard, &limits, now_ms);
        let theirs =
            (case.output["available"].as_i64().unwrap(), case.output["reader_window_end_ms"].as_u64());
        let reason = match () {
            () if case.input["limit"]["reset_after_seconds"]
                != case.input["state"]["reset_after_seconds_rsa"] =>
            {
                Some(CONFIGURED_LENGTH)
            }
            () if shard.limits[0].grant_count > Some(shard.shard_count.into()) => Some(CURRENT_SHARE),
            () => None,
        };
        tally.compare(&case, &ours, &theirs, reason);
    }
    tally.expect(&[(CONFIGURED_LENGTH, 46), (CURRENT_SHARE, 2)]);
}

#[test]
fn retry_after_for_deficit() {
    let mut tally = Tally::default();
    for case in cases("retry_after_for_deficit") {
        let now_ms = now_ms(&case.input);
        let shard = state(&case.input["state"], "l");
        let deficit = case.input["deficit_milli"].as_i64().unwrap();
        let materialisation = Materialisation::of(&shard, &settings(&[], now_ms)).unwrap();
        let limit = &materialisation.limits[0];
        let wait = match limit.window_end_ms() {
            _ if deficit <= 0 => 0,
            Some(end_ms) => u64::try_from(end_ms - now_ms).unwrap(),
            None => limit.rate().retry_after_ms(deficit.into(), shard.shard_count.into()),
        };
        let theirs = milliseconds(&case.output["retry_after_seconds"]);
        let reason = match () {
            () if is_due(&shard, now_ms) => Some(OPENS),
            () if never_recovers(&shard.limits[0]) => Some(NEVER_AT_ONCE),
            () => None,
        };
        tally.compare(&case, &near(wait, theirs), &theirs, reason);
    }
    tally.expect(&[(NEVER_AT_ONCE, 9), (OPENS, 21)]);
}

/// Beyond 2^53 milliseconds a double only comes near: then ours counts as theirs.
fn near(ours: u64, theirs: u64) -> u64 {
    let close = theirs >= 1 << 53 && (ours as f64 / theirs as f64 - 1.0).abs() < 1e-9;
    if close { theirs } else { ours }
}

/// Seconds in a double, as the milliseconds they were.
fn milliseconds(seconds: &Json) -> u64 {
    (seconds.as_f64().unwrap() * 1000.0).round() as u64
}

#[test]
fn materialisation_stamps() {
    let mut tally = Tally::default();
    for case in cases("materialisation_stamps") {
        let now_ms = now_ms(&case.input);
        let shard = state(&case.input["state"], "l");
        let materialisation = Materialisation::of(&shard, &settings(&[], now_ms)).unwrap();
        let reason = is_due(&shard, now_ms).then_some(OPENS);
        tally.compare(&case, &json!(materialisation.valid_until_ms), &case.output["boundary_ms_vu"], reason);
    }
    tally.expect(&[(OPENS, 52)]);
}

#[test]
fn bucket_ttl_seconds() {
    let mut tally = Tally::default();
    for case in cases("bucket_ttl_seconds") {
        let limits: Vec<_> = case.input["limits"].as_array().unwrap().iter().map(limit).collect();
        let multiplier = case.input["multiplier"].as_i64().unwrap();
        let ours = lifetime_seconds(&limits, multiplier);
        let reason = (multiplier < 1).then_some(OTHER_MULTIPLIER);
        tally.compare(&case, &Some(ours), &case.output["ttl_seconds"].as_i64(), reason);
    }
    tally.expect(&[(OTHER_MULTIPLIER, 62)]);
}

/// What is said of one limit that is asked for.
#[derive(Debug, PartialEq)]
struct Status {
    limit: String,
    available: i64,
    exceeded: bool,
    requested: i64,
    resets_at_ms: Option<i64>,
    retry_after_ms: u64,
}

/// Ours. The capacity the peer reports is a shard's, and left out: ours reports the entity's.
fn status(shard: &Shard, limit: &str, amount: u64, now_ms: i64) -> Status {
    let debit = Debit::find(&Amount::new(limit, amount), &[], std::slice::from_ref(shard)).unwrap();
    let materialisation = Materialisation::of(shard, &settings(&[], now_ms)).unwrap();
    let limit = materialisation.limit(limit).unwrap();
    Status {
        limit: debit.limit.to_string(),
        available: tokens(limit.after.tokens_milli),
        exceeded: materialisation.shortfall_milli(&debit.limit, debit.milli).unwrap() > 0,
        requested: tokens(debit.milli),
        // What is full has no instant (F26).
        resets_at_ms: limit.window_end_ms().filter(|_| !limit.opened),
        retry_after_ms: materialisation.retry_after_ms(&[debit]),
    }
}

fn theirs(output: &Json, limit: &str) -> Option<Status> {
    let statuses = output["statuses"].as_array().unwrap();
    let status = statuses.iter().find(|status| status["limit_name"] == limit)?;
    Some(Status {
        limit: limit.into(),
        available: status["available"].as_i64().unwrap(),
        exceeded: status["exceeded"].as_bool().unwrap(),
        requested: status["requested"].as_i64().unwrap(),
        resets_at_ms: status["resets_at_ms"].as_i64(),
        retry_after_ms: milliseconds(&status["retry_after_seconds"]),
    })
}

/// Why ours may say something else about a limit of this shard.
fn reason(shard: &Shard, limit: &str, now_ms: i64) -> Option<&'static str> {
    let state = shard.limit(limit).unwrap();
    let is_quota = state.reset_after_seconds.is_some();
    let pending = state.window_start_ms > state.window_applied_ms.or(Some(shard.last_refill_ms));
    let over = |stamp: Option<i64>| stamp.is_some_and(|until| until <= now_ms);
    match () {
        () if is_quota && state.window_start_ms.is_none() => Some(OPENS),
        () if is_quota && pending && state.grant_count > Some(shard.shard_count.into()) => {
            Some(CURRENT_SHARE)
        }
        () if over(shard.bypass_until_ms) || over(state.soft_until_ms) => Some(LIVE_STAMPS),
        () if never_recovers(state) => Some(NEVER_AT_ONCE),
        () if shard.limits.iter().any(|limit| limit.grant_count > Some(shard.shard_count.into())) => {
            Some(PROVEN_COUNT)
        }
        () => None,
    }
}

fn compare_statuses(tally: &mut Tally, case: &Case, shard: &Shard) {
    for (limit, amount) in case.input["consume"].as_object().unwrap() {
        if shard.limit(limit).is_some() {
            let now_ms = now_ms(&case.input);
            let mut ours = status(shard, limit, amount.as_u64().unwrap(), now_ms);
            let theirs = theirs(&case.output, limit).expect("a status for each limit on the item");
            ours.retry_after_ms = near(ours.retry_after_ms, theirs.retry_after_ms);
            tally.compare(case, &ours, &theirs, reason(shard, limit, now_ms));
        }
    }
}

#[test]
fn declared_statuses() {
    let mut tally = Tally::default();
    for case in cases("declared_statuses") {
        // Each limit's image has an instant of the last refill of its own.
        for image in case.input["images"].as_array().unwrap() {
            let shard = state(image, image["limit_name"].as_str().unwrap());
            compare_statuses(&mut tally, &case, &shard);
        }
    }
    tally.expect(&[(NEVER_AT_ONCE, 6), (OPENS, 5), (CURRENT_SHARE, 6)]);
}

#[test]
fn fast_path_failure() {
    let mut tally = Tally::default();
    for case in cases("fast_path_failure") {
        let reason = &case.output["failure_reason"];
        if case.input["item"].is_null() {
            tally.compare(&case, &json!("BUCKET_MISSING"), reason, None);
            continue;
        }
        let shard = shard(&case.input["item"], 0);
        tally.compare(&case, &shard.disabled, &(reason == "DISABLED"), None);
        compare_statuses(&mut tally, &case, &shard);
    }
    tally.expect(&[(NEVER_AT_ONCE, 6), (OPENS, 3), (LIVE_STAMPS, 2), (PROVEN_COUNT, 5)]);
}
