//! What a host may remember between requests (section 6.2b).

use alloc::{string::String, vec::Vec};

use super::{status::LimitStatus, subject::Subject};
#[cfg(feature = "wasmtime")]
use wasmtime::component::{ComponentType, Lift, Lower};

/// What a host may remember about a subject between requests. Losing it costs a round trip, never
/// correctness.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wasmtime", derive(ComponentType, Lift, Lower), component(record))]
pub struct Hint {
    /// The subject it is about ([`Subject::hint_key`]); it is not used for another. Empty: there is
    /// nothing to remember.
    pub key: String,
    /// The shard count last seen.
    #[cfg_attr(feature = "wasmtime", component(name = "shard-count"))]
    pub shard_count: u32,
    /// Rejections that are known to last until an instant.
    pub rejections: Vec<KnownRejection>,
}

/// An amount of one limit that is known to be rejected until an instant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wasmtime", derive(ComponentType, Lift, Lower), component(record))]
pub struct KnownRejection {
    /// Where the limit stood.
    pub status: LimitStatus,
    /// Any amount above this is rejected.
    #[cfg_attr(feature = "wasmtime", component(name = "above-milli"))]
    pub above_milli: i64,
    /// The end, exclusive, epoch ms: at this instant the next request goes to the table.
    #[cfg_attr(feature = "wasmtime", component(name = "until-ms"))]
    pub until_ms: u64,
}

impl Hint {
    pub(crate) fn new(subject: &Subject, shard_count: u32) -> Self {
        Self { key: subject.hint_key(), shard_count, rejections: Vec::new() }
    }
}
