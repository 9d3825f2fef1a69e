//! A limit's parameters as an item stores them.

use alloc::sync::Arc;

use crate::{
    item::LimitState,
    types::limit::{Drip, Limit, Recovery, milli},
};

/// Overwrites the parameters that an operator may change (R15).
pub(super) fn stamp_parameters(state: &mut LimitState, limit: &Limit) {
    state.capacity_milli = milli(limit.capacity);
    match limit.recovery {
        Recovery::Session(_) => {
            state.refill_amount_milli = 0;
            state.refill_period_ms = 1000;
        }
        Recovery::Drip(Drip { refill_amount, refill_period_seconds }) => {
            state.refill_amount_milli = milli(refill_amount);
            state.refill_period_ms = i64::try_from(refill_period_seconds).unwrap_or(1).saturating_mul(1000);
        }
    }
}

/// A configured limit as a new item stores it, without its balance.
pub(crate) fn state_of(limit: &Limit) -> LimitState {
    let mut state = LimitState { name: Arc::from(limit.name.as_str()), ..LimitState::default() };
    stamp_parameters(&mut state, limit);
    state.reset_after_seconds = limit.length_seconds();
    state
}

/// The write budget of a new item: a thousand writes, and a thousand more each second.
pub(super) fn fresh_wcu() -> LimitState {
    LimitState {
        name: Arc::from("wcu"),
        tokens_milli: 1_000_000,
        capacity_milli: 1_000_000,
        refill_amount_milli: 1_000_000,
        ..LimitState::default()
    }
}
