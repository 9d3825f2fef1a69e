//! Calls on their way whose replies nobody waits for.

use onewindow::{Call, Resend};

use crate::ledger::{Actor, Debit};

/// A call on its way whose reply nobody waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Message {
    pub(super) client: u8,
    pub(super) kind: MessageKind,
    pub(super) call: Call,
    /// The instant at which it was planned.
    pub(super) planned: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum MessageKind {
    /// Sent after an answer.
    FollowUp,
    /// Sent after the answer of a cascade: it credits this debit.
    Credit(Debit),
    /// A call that its client assumed to be lost and has sent again.
    Copy(Actor),
}

impl Message {
    pub(super) fn is_follow_up(&self) -> bool {
        !matches!(self.kind, MessageKind::Copy(_))
    }

    /// Whether a network may deliver it twice: not where the host must never resend it.
    pub(super) fn may_land_twice(&self) -> bool {
        self.is_follow_up() && self.call.resend != Resend::Never
    }
}
