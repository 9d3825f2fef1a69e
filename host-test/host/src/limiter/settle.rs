//! Settlements: leases are corrected to what was really used.

use onewindow::{Amount, Lease, Settlement};

use super::{Limiter, answer::Settled, drive::Undecided, telemetry::recorded};
use crate::dynamo::{Cost, Transport};

impl<T: Transport> Limiter<T> {
    /// Corrects a lease to what was really used: 0 credits the whole estimate, a limit left out keeps its
    /// estimate.
    ///
    /// `lease` is what [`Lease::encode`] wrote, on this host or another.
    pub async fn settle(&self, table: &str, lease: &str, actual: Vec<Amount>) -> Settled {
        recorded(self.recorder(), async {
            let mut cost = Cost::default();
            let driven =
                self.drive(|engine| engine.settle(table, lease, actual), self.deadline(), &mut cost).await;
            if let Ok(lease) = Lease::decode(lease) {
                // What was rejected before may fit now.
                self.inner.hints.forget_rejections(&lease.subject(table).hint_key());
            }
            let settlement = driven.unwrap_or_else(|undecided| match undecided {
                Undecided::Busy => Settlement::Unavailable(undecided.to_string()),
                Undecided::Runaway => Settlement::Failed(undecided.into()),
            });
            Settled { settlement, cost }
        })
        .await
    }
}
