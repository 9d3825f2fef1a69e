//! A rejection answered from a remembered hint, without a call to the table (section 6.2b).

use alloc::vec::Vec;

use crate::{
    types::answer::{Decision, Outcome},
    types::hint::{Hint, KnownRejection},
    types::limit::Amount,
    types::request::AcquireRequest,
};

impl Hint {
    /// The rejection this hint allows without asking the table; never an admission.
    ///
    /// It holds only for its own subject and its own limits, and only before its instant (F6). Its hint
    /// is empty: nothing was learned, so the age of this hint stays what it is.
    #[must_use]
    pub fn reject(&self, request: &AcquireRequest, now_ms: u64) -> Option<Decision> {
        if self.key != request.subject.hint_key() || request.check().is_err() {
            return None;
        }
        let fits = |amount: &Amount| {
            let configured = request.limits.iter().find(|limit| limit.name == amount.limit);
            let remembered = self.rejections.iter().find(|rejection| rejection.status.name == amount.limit);
            let capacity = configured.map(|limit| limit.capacity);
            capacity
                .or(remembered.map(|rejection| rejection.status.capacity))
                .is_none_or(|most| amount.tokens <= most)
        };
        if !request.consume.iter().all(fits) {
            // The amount never fits. There is no instant to wait for; the machine answers it (F17).
            return None;
        }
        let mut limits = Vec::new();
        let mut last = None;
        for amount in &request.consume {
            let refuses = |rejection: &&KnownRejection| {
                rejection.status.name == amount.limit
                    && now_ms < rejection.until_ms
                    && amount.milli() > i128::from(rejection.above_milli)
            };
            if let Some(KnownRejection { status, until_ms, .. }) = self.rejections.iter().find(refuses) {
                // The reported instant is the one that the survey read, even where the hint expires sooner (R13).
                last = last.max(Some(status.resets_at_ms.unwrap_or(*until_ms)));
                limits.push(status.clone());
            }
        }
        Some(Decision {
            outcome: Outcome::Rejected { retry_after_ms: last?.saturating_sub(now_ms).max(1) },
            limits,
            follow_ups: Vec::new(),
            hint: Self::default(),
        })
    }
}
