//! What a shard may hold, how a drip refills (R12), and how long a deficit lasts (R14).

use crate::{item::LimitState, types::error::Error};

/// One shard's part of a capacity: `floor(capacity / shard_count)`, millitokens.
#[must_use]
#[inline(never)] // a division of 128 bits is long, and there are many
pub fn share(capacity_milli: i128, shard_count: i128) -> i128 {
    capacity_milli.div_euclid(shard_count.max(1))
}

/// What a quota may hold on a shard (R12): its grant and the top-ups of this window, millitokens.
///
/// # Errors
/// `overflow` where the sum leaves 128 bits.
pub fn quota_ceiling(capacity_milli: i128, grant_count: i128, topped_up_milli: i128) -> Result<i128, Error> {
    share(capacity_milli, grant_count)
        .checked_add(topped_up_milli)
        .ok_or_else(|| Error::overflow("a quota's ceiling"))
}

/// What a shard may hold of a limit as its item stores it (R12), millitokens; the largest number where
/// the sum leaves 128 bits.
pub(crate) fn ceiling(state: &LimitState, shard_count: u32, is_quota: bool) -> i128 {
    if is_quota {
        let topped_up = state.topped_up_milli.unwrap_or(0);
        let granted = state.grant_count_or(shard_count);
        return quota_ceiling(state.capacity_milli, granted, topped_up).unwrap_or(i128::MAX);
    }
    share(state.capacity_milli, shard_count.into())
}

/// Millitokens as whole tokens, rounded down.
pub(crate) fn tokens(milli: i128) -> i64 {
    saturate(milli.div_euclid(1000))
}

/// The nearest number that fits 64 bits.
pub(crate) fn saturate(number: i128) -> i64 {
    i64::try_from(number).unwrap_or(if number.is_negative() { i64::MIN } else { i64::MAX })
}

/// How a drip refills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Millitokens each period, undivided.
    pub amount_milli: i128,
    /// The period, ms, at least 1.
    pub period_ms: i64,
}

impl Rate {
    /// The rate that an item stores; meaningless for a quota.
    pub(crate) fn of(state: &LimitState) -> Self {
        Self { amount_milli: state.refill_amount_milli, period_ms: state.refill_period_ms }
    }

    /// The balance after `elapsed_ms` on one of `shard_count` shards, held to `ceiling_milli` even
    /// where no time has passed (R12). Time that runs backward adds nothing; debt is left alone.
    ///
    /// # Errors
    /// `overflow` where a product leaves 128 bits.
    pub fn refill(
        self,
        tokens_milli: i128,
        elapsed_ms: i64,
        shard_count: i128,
        ceiling_milli: i128,
    ) -> Result<i128, Error> {
        let added = i128::from(elapsed_ms.max(0))
            .checked_mul(share(self.amount_milli, shard_count))
            .map(|product| product.div_euclid(self.period()))
            .ok_or_else(|| Error::overflow("a refill"))?;
        let filled = tokens_milli.checked_add(added).ok_or_else(|| Error::overflow("a refilled balance"))?;
        Ok(filled.min(ceiling_milli))
    }

    /// Milliseconds until `deficit_milli` is refilled on one of `shard_count` shards, plus 1 (R14). At the
    /// undivided rate where the shard's own is rounded down to 0. 0 for no deficit.
    #[must_use]
    pub fn retry_after_ms(self, deficit_milli: i128, shard_count: i128) -> u64 {
        if deficit_milli <= 0 {
            return 0;
        }
        let divided = share(self.amount_milli, shard_count);
        let amount = if divided > 0 { divided } else { self.amount_milli };
        deficit_milli
            .checked_mul(self.period())
            .and_then(|product| product.checked_div(amount))
            .and_then(|wait| u64::try_from(wait).ok())
            .unwrap_or(u64::MAX)
            .saturating_add(1)
    }

    fn period(self) -> i128 {
        i128::from(self.period_ms.max(1))
    }
}
