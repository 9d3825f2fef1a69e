//! Who wrote.

/// Who made a write that landed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Actor {
    /// A client of ours, before its answer.
    Acquire,
    /// A client of ours, after its answer.
    FollowUp,
    /// This client of ours, settling its lease.
    Settle(u8),
    /// A client of ours, crediting what a cascade debited that was not admitted.
    Credit,
}
