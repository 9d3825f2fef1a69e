//! How long an item outlives its last use: its `ttl` (section 8).

use alloc::vec::Vec;

use super::parameters::state_of;
use crate::{item::LimitState, types::limit::Limit};

/// How many of its slowest recoveries an item outlives its last use.
const TTL_MULTIPLIER: i64 = 7;

/// The farthest instant a `ttl` is set to: year 9999.
const FARTHEST_TTL_SECONDS: i64 = 253_402_300_799;

/// The `ttl` of an item of these limits that is written at `now_ms`, epoch seconds.
pub(super) fn ttl_seconds<'a>(limits: impl Iterator<Item = &'a LimitState>, now_ms: i64) -> i64 {
    now_ms.div_euclid(1000).saturating_add(lifetime(limits, TTL_MULTIPLIER)).min(FARTHEST_TTL_SECONDS)
}

/// `multiplier` times the seconds until a limit is full again from nothing: a window's length, a drip's
/// time to fill.
fn recovery_seconds(state: &LimitState, multiplier: i64) -> i64 {
    if let Some(length_seconds) = state.reset_after_seconds {
        return length_seconds.saturating_mul(multiplier);
    }
    state
        .capacity_milli
        .checked_mul(state.refill_period_ms.into())
        .and_then(|product| product.checked_mul(multiplier.into()))
        .and_then(|product| product.checked_div(state.refill_amount_milli.max(1)))
        .and_then(|ms| i64::try_from(ms.div_euclid(1000)).ok())
        .unwrap_or(i64::MAX)
}

/// `multiplier` times the slowest recovery, seconds.
fn lifetime<'a>(limits: impl Iterator<Item = &'a LimitState>, multiplier: i64) -> i64 {
    limits.map(|state| recovery_seconds(state, multiplier)).max().unwrap_or(0)
}

/// How long an item of these limits outlives its last use, seconds: `multiplier` times its slowest
/// recovery (section 8). Items are written with a multiplier of 7.
#[must_use]
pub fn lifetime_seconds(limits: &[Limit], multiplier: i64) -> i64 {
    let states: Vec<LimitState> = limits.iter().map(state_of).collect();
    lifetime(states.iter(), multiplier)
}
