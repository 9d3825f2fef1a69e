//! The rejection of a request that no shard can serve, and its wait (R14).

use alloc::{sync::Arc, vec::Vec};

use super::shards::ShardSurvey;
use crate::{
    rule::balance::Rate,
    types::{hint::KnownRejection, limit::Amount, status::LimitStatus},
};

/// A rejection after a survey.
pub(crate) struct Rejection {
    pub(crate) retry_after_ms: u64,
    /// The limit whose amount does not fit even when all shares are full.
    pub(crate) never_fits: Option<Arc<str>>,
    pub(crate) limits: Vec<LimitStatus>,
    pub(crate) rejections: Vec<KnownRejection>,
}

impl ShardSurvey<'_> {
    /// The rejection (R14): the longest wait of the limits that refuse.
    pub(crate) fn rejection(&self, consume: &[Amount]) -> Rejection {
        let now_ms = u64::try_from(self.settings.now_ms).unwrap_or_default();
        let mut rejection = Rejection {
            retry_after_ms: 0,
            never_fits: None,
            limits: self.statuses(consume),
            rejections: Vec::new(),
        };
        for debit in self.debits {
            let total = self.total_milli(&debit.limit);
            let (Some(status), Some(state)) = (self.status(&debit.limit), self.state(&debit.limit)) else {
                continue;
            };
            if total >= debit.milli || self.is_waived(&debit.limit) {
                continue;
            }
            let is_quota = state.reset_after_seconds.is_some();
            let (wait_ms, above_milli) = match status.resets_at_ms {
                Some(reset_ms) => (reset_ms.saturating_sub(now_ms), total),
                None if is_quota || debit.milli > self.ceiling_milli(&debit.limit) => {
                    // All shares are full and still too little, because they are rounded down (R12).
                    rejection.never_fits = Some(debit.limit.clone());
                    continue;
                }
                None => {
                    let rate = Rate::of(state);
                    // A smaller amount fits sooner, so the wait is not remembered for smaller amounts.
                    (rate.retry_after_ms(debit.milli.saturating_sub(total), 1), debit.milli.saturating_sub(1))
                }
            };
            let wait_ms = wait_ms.max(1);
            let until_ms = self.first_end_ms(&debit.limit).unwrap_or(now_ms.saturating_add(wait_ms));
            rejection.retry_after_ms = rejection.retry_after_ms.max(wait_ms);
            if let Ok(above_milli) = i64::try_from(above_milli) {
                rejection.rejections.push(KnownRejection { status, above_milli, until_ms });
            }
        }
        rejection
    }
}
