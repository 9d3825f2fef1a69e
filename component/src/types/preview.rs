//! What a preview reports: what is left of a bucket, and of which shards it is the sum.

use alloc::{string::String, vec::Vec};

use super::{
    error::{Corrupt, Error},
    status::LimitStatus,
};
#[cfg(feature = "wasmtime")]
use wasmtime::component::{ComponentType, Lift, Lower};

/// The state of one limit's window on a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wasmtime", derive(ComponentType, Lift, Lower), component(enum))]
#[repr(u8)]
pub enum WindowState {
    /// The shard has no item.
    #[cfg_attr(feature = "wasmtime", component(name = "absent"))]
    Absent,
    /// The item exists, but without the limit or without a window; a drip never has one.
    #[cfg_attr(feature = "wasmtime", component(name = "unstarted"))]
    Unstarted,
    /// In force and applied.
    #[cfg_attr(feature = "wasmtime", component(name = "live"))]
    Live,
    /// In force, the balance not yet reset (R3).
    #[cfg_attr(feature = "wasmtime", component(name = "pending"))]
    Pending,
    /// Over: the next use opens a new one (R1).
    #[cfg_attr(feature = "wasmtime", component(name = "ended"))]
    Ended,
}

/// One shard's part of a limit. A balance beyond 64 bits is reported as the nearest number that fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wasmtime", derive(ComponentType, Lift, Lower), component(record))]
pub struct ShardView {
    /// The slot.
    pub shard: u32,
    /// The state of its window.
    pub state: WindowState,
    /// The window's start as stored, ms.
    #[cfg_attr(feature = "wasmtime", component(name = "starts-at-ms"))]
    pub starts_at_ms: Option<u64>,
    /// The window's end as stored, ms: where a clock ran ahead, further away than one length.
    #[cfg_attr(feature = "wasmtime", component(name = "ends-at-ms"))]
    pub ends_at_ms: Option<u64>,
    /// Stored balance; negative is debt.
    #[cfg_attr(feature = "wasmtime", component(name = "balance-milli"))]
    pub balance_milli: i64,
    /// What counts towards the total: the balance after R1, R4 and R12; for a slot without an
    /// item, what R8 would grant it.
    #[cfg_attr(feature = "wasmtime", component(name = "counted-milli"))]
    pub counted_milli: i64,
    /// What the shard may hold (R12).
    #[cfg_attr(feature = "wasmtime", component(name = "ceiling-milli"))]
    pub ceiling_milli: i64,
}

/// One limit over all shards.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wasmtime", derive(ComponentType, Lift, Lower), component(record))]
pub struct LimitPreview {
    /// The sum over all shards, and the reset instant.
    pub status: LimitStatus,
    /// Its parts, in the order of the slots.
    pub shards: Vec<ShardView>,
}

/// What is left of a bucket.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wasmtime", derive(ComponentType, Lift, Lower), component(record))]
pub struct PreviewReport {
    /// The shard count in force.
    #[cfg_attr(feature = "wasmtime", component(name = "shard-count"))]
    pub shard_count: u32,
    /// Whether the bucket is switched off: then nothing is admitted, whatever is left.
    pub disabled: bool,
    /// The configured limits in their order, then those that only the items know.
    pub limits: Vec<LimitPreview>,
}

/// The answer to a preview.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PreviewOutcome {
    /// What was read.
    Report(PreviewReport),
    /// The request or an item is at fault.
    Failed(Error),
    /// The table did not answer in a usable way.
    Unavailable(String),
    /// The table refuses the caller.
    Misconfigured(String),
}

impl From<Error> for PreviewOutcome {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<Corrupt> for PreviewOutcome {
    fn from(corrupt: Corrupt) -> Self {
        Error::from(corrupt).into()
    }
}
