//! The host's clock.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// The clock that windows are read against. Requests are always signed with real time.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The system's clock.
    #[default]
    System,
    /// The system's clock plus an offset, for tests of clocks that disagree.
    Shifted {
        /// How far it is ahead of the system's clock, ms; negative: behind.
        by_ms: i64,
    },
    /// A virtual clock. It moves only when it is set or advanced; its clones move with it.
    Virtual(Arc<AtomicU64>),
}

impl Clock {
    /// A clock that stands at `now_ms` until it is moved.
    #[must_use]
    pub fn at(now_ms: u64) -> Self {
        Self::Virtual(Arc::new(AtomicU64::new(now_ms)))
    }

    /// Epoch milliseconds.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        match self {
            Self::System => epoch_ms(SystemTime::now()),
            Self::Shifted { by_ms } => epoch_ms(SystemTime::now()).saturating_add_signed(*by_ms),
            Self::Virtual(now_ms) => now_ms.load(Ordering::SeqCst),
        }
    }

    /// Sets a virtual clock, forward or backward. The system's clock stays as it is.
    pub fn set_ms(&self, now_ms: u64) {
        if let Self::Virtual(now) = self {
            now.store(now_ms, Ordering::SeqCst);
        }
    }

    /// Moves a virtual clock forward. The system's clock stays as it is.
    pub fn advance(&self, by: Duration) {
        if let Self::Virtual(now) = self {
            now.fetch_add(u64::try_from(by.as_millis()).unwrap_or(u64::MAX), Ordering::SeqCst);
        }
    }
}

/// Milliseconds since the epoch; a clock set before it reads 0.
fn epoch_ms(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_of_a_virtual_clock_move_together() {
        let clock = Clock::at(1_000);
        let other = clock.clone();
        clock.advance(Duration::from_secs(2));
        assert_eq!(other.now_ms(), 3_000);
        other.set_ms(500);
        assert_eq!(clock.now_ms(), 500);
    }

    #[test]
    fn the_system_clock_is_not_moved() {
        let clock = Clock::System;
        clock.set_ms(0);
        assert!(clock.now_ms() > 1_600_000_000_000);
    }
}
