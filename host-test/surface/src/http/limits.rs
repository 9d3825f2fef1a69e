//! Who enforces the limits that the surface serves.

use onewindow::{AcquireRequest, Amount, Decision, Limit, PreviewOutcome, Settlement, Subject};
use onewindow_host::guest::{Core, Host, Limiter};

/// Who enforces the limits.
pub trait Limits {
    /// Takes tokens, all or nothing; and whether the request is let through although the table
    /// did not answer.
    fn acquire(&self, request: AcquireRequest) -> impl Future<Output = (Decision, bool)>;
    /// Corrects a lease.
    fn settle(&self, table: &str, lease: &str, actual: Vec<Amount>) -> impl Future<Output = Settlement>;
    /// Looks without taking.
    fn preview(&self, subject: Subject, limits: Vec<Limit>) -> impl Future<Output = PreviewOutcome>;
    /// The clock that windows are read against.
    fn now_ms(&self) -> u64;
}

impl<C: Core, H: Host> Limits for Limiter<C, H> {
    async fn acquire(&self, request: AcquireRequest) -> (Decision, bool) {
        Self::acquire(self, request).await
    }

    async fn settle(&self, table: &str, lease: &str, actual: Vec<Amount>) -> Settlement {
        Self::settle(self, table, lease, actual).await
    }

    async fn preview(&self, subject: Subject, limits: Vec<Limit>) -> PreviewOutcome {
        Self::preview(self, subject, limits).await
    }

    fn now_ms(&self) -> u64 {
        Self::now_ms(self)
    }
}
