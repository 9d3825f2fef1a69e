//! Where a limit stands, as a host reports it.

use alloc::string::String;
#[cfg(feature = "wasmtime")]
use wasmtime::component::{ComponentType, Lift, Lower};

/// Where a limit stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wasmtime", derive(ComponentType, Lift, Lower), component(record))]
pub struct LimitStatus {
    /// The limit.
    pub name: String,
    /// Capacity over all shards, whole tokens.
    pub capacity: u64,
    /// Whole tokens left; negative is debt. Over all shards in a rejection and a preview; on the
    /// shards that served it in an admission.
    pub available: i64,
    /// The reset instant (R13). None for a drip, and for a quota without a live
    /// window: that is full, and the next request starts a window.
    #[cfg_attr(feature = "wasmtime", component(name = "resets-at-ms"))]
    pub resets_at_ms: Option<u64>,
}
