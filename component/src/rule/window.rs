//! A quota's window on a shard: open (R1), pending (R3), roll (R4) and the reset instant (R13).

use crate::item::LimitState;

/// The state of a window at an instant. The end is not part of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Window {
    /// No window was ever started.
    Unstarted,
    /// Over: the next committed use opens a new one (R1).
    Ended {
        /// Its start, ms.
        start_ms: i64,
        /// Its end, ms; not later than now.
        end_ms: i64,
    },
    /// In force.
    Live {
        /// Its start, ms. Later than now where the clock that opened it ran ahead.
        start_ms: i64,
        /// Its end, ms; later than now.
        end_ms: i64,
        /// Whether the balance reflects it; if not, the shard is *pending* (R3).
        applied: bool,
    },
}

impl Window {
    /// The window of `limit` at `now_ms`, `length_ms` long, on a shard last materialised at
    /// `last_refill_ms`.
    ///
    /// A stored start without a stored length (`rsa`) is a leftover and not a window.
    #[must_use]
    pub fn of(limit: &LimitState, length_ms: i64, last_refill_ms: i64, now_ms: i64) -> Self {
        let Some(start_ms) = limit.window_start_ms.filter(|_| limit.reset_after_seconds.is_some()) else {
            return Self::Unstarted;
        };
        let end_ms = end_ms(start_ms, length_ms);
        if end_ms <= now_ms {
            Self::Ended { start_ms, end_ms }
        } else {
            Self::Live { start_ms, end_ms, applied: limit.is_applied(last_refill_ms) }
        }
    }

    /// The start, if the window is in force.
    #[must_use]
    pub const fn live_start_ms(self) -> Option<i64> {
        match self {
            Self::Live { start_ms, .. } => Some(start_ms),
            _ => None,
        }
    }

    /// The end, if the window is in force.
    #[must_use]
    pub const fn live_end_ms(self) -> Option<i64> {
        match self {
            Self::Live { end_ms, .. } => Some(end_ms),
            _ => None,
        }
    }

    /// Whether the balance is a grant of the window in force.
    #[must_use]
    pub const fn is_current(self) -> bool {
        matches!(self, Self::Live { applied: true, .. })
    }
}

/// A window's length, ms.
#[must_use]
pub const fn length_ms(seconds: i64) -> i64 {
    seconds.saturating_mul(1000)
}

/// A window's end, ms: the first instant at which it is over.
#[must_use]
pub const fn end_ms(start_ms: i64, length_ms: i64) -> i64 {
    start_ms.saturating_add(length_ms)
}

/// The latest start of a window that is over at `at_ms`. A window that starts later is in force.
#[must_use]
pub const fn newest_ended_ms(at_ms: i64, length_ms: i64) -> i64 {
    at_ms.saturating_sub(length_ms)
}

/// What a pending shard is reset to (R4): its share, less what was spent since the propagation
/// left its mark, and never above the share. The old balance does not count.
#[must_use]
pub fn roll_target_milli(limit: &LimitState, share_milli: i128) -> i128 {
    match (limit.consumed_milli, limit.consumed_mark_milli) {
        (Some(consumed), Some(mark)) => share_milli.saturating_sub(consumed.saturating_sub(mark).max(0)),
        _ => share_milli,
    }
}

/// The instant that is reported for a window's end (R13, R14): never further away than one length,
/// even where a clock that ran ahead put the start into the future (F15).
#[must_use]
pub fn reported_reset_ms(end_ms: i64, length_ms: i64, now_ms: i64) -> u64 {
    let reported = end_ms.min(now_ms.saturating_add(length_ms));
    u64::try_from(reported).unwrap_or_default()
}
