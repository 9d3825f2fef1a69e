//! The answer to a settlement.

use alloc::string::String;

use super::error::Error;

/// The answer to a settlement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Settlement {
    /// Every difference is recorded.
    Settled,
    /// The window that was debited is over: nothing to credit.
    WindowOver,
    /// The item is gone: nothing to settle.
    ItemGone,
    /// The lease or the amounts are at fault. Nothing was written.
    Failed(Error),
    /// The table did not answer in a usable way; the difference may or may not be recorded.
    Unavailable(String),
    /// The table refuses the caller.
    Misconfigured(String),
}
