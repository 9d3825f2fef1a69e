//! The answer to a settlement.

use alloc::string::String;

use super::error::Error;
#[cfg(feature = "wasmtime")]
use wasmtime::component::{ComponentType, Lift, Lower};

/// The answer to a settlement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wasmtime", derive(ComponentType, Lift, Lower), component(variant))]
pub enum Settlement {
    /// Every difference is recorded.
    #[cfg_attr(feature = "wasmtime", component(name = "settled"))]
    Settled,
    /// The window that was debited is over: nothing to credit.
    #[cfg_attr(feature = "wasmtime", component(name = "window-over"))]
    WindowOver,
    /// The item is gone: nothing to settle.
    #[cfg_attr(feature = "wasmtime", component(name = "item-gone"))]
    ItemGone,
    /// The lease or the amounts are at fault. Nothing was written.
    #[cfg_attr(feature = "wasmtime", component(name = "failed"))]
    Failed(Error),
    /// The table did not answer in a usable way; the difference may or may not be recorded.
    #[cfg_attr(feature = "wasmtime", component(name = "unavailable"))]
    Unavailable(String),
    /// The table refuses the caller.
    #[cfg_attr(feature = "wasmtime", component(name = "misconfigured"))]
    Misconfigured(String),
}
