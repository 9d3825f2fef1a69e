//! The clock that all worlds share.

/// When the world's clock starts, epoch ms.
pub const EPOCH_MS: i64 = 1_800_000_000_000;

/// An instant for a person: ms since the world began.
#[must_use]
pub fn since_start(ms: i64) -> String {
    format!("{:+} ms", ms - EPOCH_MS)
}
