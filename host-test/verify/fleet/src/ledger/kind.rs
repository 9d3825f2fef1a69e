//! Which implementation wrote.

/// Which implementation wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    /// The component.
    Ours,
    /// zae-limiter 0.17.0, `asyncio`.
    Async,
    /// zae-limiter 0.17.0, blocking.
    Sync,
    /// zae-limiter 0.14.0, which knows no windows.
    Old,
    /// The test itself: foreign attributes, spent write budgets.
    Operator,
}

impl Kind {
    pub(crate) const WRITERS: [Self; 4] = [Self::Ours, Self::Async, Self::Sync, Self::Old];

    /// The kind in an access key: processes sign with a key that begins with it.
    pub(crate) fn of(client: &str) -> Self {
        match client.split('-').next() {
            Some("ours") => Self::Ours,
            Some("async") => Self::Async,
            Some("sync") => Self::Sync,
            Some("old") => Self::Old,
            _ => Self::Operator,
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Async => "async",
            Self::Sync => "sync",
            Self::Old => "old",
            Self::Operator => "operator",
        }
    }

    /// Whether it is the other implementation, in a version that knows windows.
    pub(super) const fn is_peer(self) -> bool {
        matches!(self, Self::Async | Self::Sync)
    }

    /// Whether it follows the rules of windows.
    pub(super) const fn follows_rules(self) -> bool {
        self.is_peer() || matches!(self, Self::Ours)
    }
}
