//! One limit brought up to date (R1, R4, R12, R15).

use super::{parameters::stamp_parameters, settings::Settings};
use crate::{
    item::{LimitState, Shard},
    rule::{
        balance::{Rate, quota_ceiling, share},
        grant,
        window::{Window, end_ms, length_ms, roll_target_milli},
    },
    types::error::Error,
};

/// The largest change of a balance: what is debited on top still fits the table's 38 digits.
const FARTHEST_MOVE_MILLI: u128 = 10_u128.pow(37);

/// One limit of a materialisation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LimitMaterialisation {
    /// As read; none where it is seeded.
    pub before: Option<LimitState>,
    /// Up to date, before anything is debited.
    pub after: LimitState,
    /// What it may hold on this shard, millitokens (R12).
    pub ceiling_milli: i128,
    /// The window's length, ms; none for a drip.
    pub length_ms: Option<i64>,
    /// Whether its reset was pending (R3).
    pub was_pending: bool,
    /// Whether its window was opened (R1).
    pub opened: bool,
    /// Whether its balance was reset (R1, R4).
    pub reset: bool,
}

impl LimitMaterialisation {
    /// Brings one limit of `shard` up to date (R1, R4, R12, R15).
    pub(super) fn of(
        state: &LimitState,
        shard: &Shard,
        shard_count: u32,
        settings: &Settings<'_>,
    ) -> Result<Self, Error> {
        let configured = settings.limit(&state.name);
        let stamped = configured.filter(|_| settings.authoritative);
        let mut after = state.clone();
        if let Some(limit) = stamped {
            stamp_parameters(&mut after, limit);
        }
        // The length is the configured one (R1). Whether the limit is a quota is configured too, unless it
        // is a quota on the item and the configuration may be old.
        let length_seconds = match configured.map(|limit| limit.length_seconds()) {
            Some(Some(length)) => Some(length),
            Some(None) if settings.authoritative => None,
            _ => state.reset_after_seconds,
        };
        let materialisation = Self {
            before: Some(state.clone()),
            after,
            ceiling_milli: 0,
            length_ms: length_seconds.map(length_ms),
            was_pending: !state.is_applied(shard.last_refill_ms),
            opened: false,
            reset: false,
        };
        let materialisation = match materialisation.length_ms {
            Some(length_ms) => materialisation.quota(state, shard, shard_count, length_ms, settings.now_ms),
            None => materialisation.drip(state, shard, shard_count, settings.now_ms),
        }?;
        let moved = materialisation.after.tokens_milli.checked_sub(state.tokens_milli);
        if moved.is_none_or(|moved| moved.unsigned_abs() > FARTHEST_MOVE_MILLI) {
            return Err(Error::overflow("the change of a balance"));
        }
        Ok(materialisation)
    }

    fn quota(
        mut self,
        state: &LimitState,
        shard: &Shard,
        shard_count: u32,
        length_ms: i64,
        now_ms: i64,
    ) -> Result<Self, Error> {
        let count = i128::from(shard_count);
        let full = share(self.after.capacity_milli, count);
        self.after.reset_after_seconds = Some(length_ms.div_euclid(1000));
        match Window::of(state, length_ms, shard.last_refill_ms, now_ms) {
            Window::Unstarted | Window::Ended { .. } => {
                self.opened = true;
                self.reset_to(full, now_ms, shard_count);
            }
            Window::Live { start_ms, applied: false, .. } => {
                self.reset_to(roll_target_milli(state, full), start_ms, shard_count);
            }
            Window::Live { start_ms, applied: true, .. } => {
                let granted = state.grant_count_or(shard.shard_count);
                self.after.window_applied_ms = Some(start_ms);
                if state.grant_count.is_none() && shard_count != shard.shard_count {
                    // The size was derived from the stored count, which changes now: it is stored as `gc`.
                    self.after.grant_count = i64::try_from(grant::grant_count(state, shard.shard_count)).ok();
                }
                let shift = capacity_shift(state.capacity_milli, self.after.capacity_milli, granted, count);
                self.after.tokens_milli = self.after.tokens_milli.saturating_add(shift);
                self.ceiling_milli =
                    quota_ceiling(self.after.capacity_milli, granted, state.topped_up_milli.unwrap_or(0))?;
                self.after.tokens_milli = self.after.tokens_milli.min(self.ceiling_milli);
                return Ok(self);
            }
        }
        self.ceiling_milli = full;
        Ok(self)
    }

    fn reset_to(&mut self, tokens_milli: i128, start_ms: i64, shard_count: u32) {
        self.reset = true;
        self.after.tokens_milli = tokens_milli;
        self.after.window_start_ms = Some(start_ms);
        self.after.window_applied_ms = Some(start_ms);
        self.after.grant_count = Some(shard_count.into());
        self.after.topped_up_milli = None;
    }

    fn drip(
        mut self,
        state: &LimitState,
        shard: &Shard,
        shard_count: u32,
        now_ms: i64,
    ) -> Result<Self, Error> {
        // The write budget is the partition's own, so it is not divided by the shard count.
        let count = if &*state.name == "wcu" { 1 } else { i128::from(shard_count) };
        self.ceiling_milli = share(self.after.capacity_milli, count);
        self.after.reset_after_seconds = None;
        let rate = Rate::of(&self.after);
        let elapsed_ms = now_ms.saturating_sub(shard.last_refill_ms);
        self.after.tokens_milli = rate.refill(state.tokens_milli, elapsed_ms, count, self.ceiling_milli)?;
        Ok(self)
    }

    /// A limit that is not on the item yet.
    pub(crate) fn seeded(state: LimitState, shard_count: u32, opened: bool) -> Self {
        Self {
            before: None,
            ceiling_milli: share(state.capacity_milli, shard_count.into()),
            length_ms: state.reset_after_seconds.map(length_ms),
            was_pending: false,
            opened,
            reset: true,
            after: state,
        }
    }

    /// The drip's rate; meaningless for a quota.
    #[must_use]
    pub fn rate(&self) -> Rate {
        Rate::of(&self.after)
    }

    /// The end of the window in force after it, ms.
    #[must_use]
    pub fn window_end_ms(&self) -> Option<i64> {
        Some(end_ms(self.after.window_start_ms?, self.length_ms?))
    }
}

/// How a live balance moves when an operator changes a quota's capacity, so that what was already
/// admitted in the window keeps counting (F2, F16).
///
/// A cut is applied by the grant, a raise by the share (R12): a donor's grant still covers slots that
/// it has funded since, and a raise by the grant would create tokens twice.
fn capacity_shift(old_milli: i128, new_milli: i128, grant_count: i128, shard_count: i128) -> i128 {
    let difference = new_milli.saturating_sub(old_milli);
    if difference.is_negative() {
        share(new_milli, grant_count).saturating_sub(share(old_milli, grant_count))
    } else {
        share(difference, shard_count.max(grant_count))
    }
}
