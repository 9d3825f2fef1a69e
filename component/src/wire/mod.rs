//! Reads the table's replies, in the same way for every host.
//!
//! A host asks [`classify`] whether to wait and send again; the machines read what remains.

mod body;
mod errors;
mod sort;

use alloc::string::String;

pub(crate) use self::sort::{Answer, Reason};
use self::sort::{Sorted, sort};
use crate::{text::clip, types::answer::Reply};

/// Why a reply of another kind than the call asks for is of no use.
pub(crate) const UNEXPECTED: &str = "the table answered something other than what was asked";

/// What a host does with a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Classification {
    /// Pass it to the machine.
    Data,
    /// Nothing was written: wait (full jitter) and send again, whatever the call.
    Retry(String),
    /// It may have been written: wait and send again, unless the call is
    /// [`Resend::Never`](crate::Resend::Never).
    Lost(String),
    /// Sending again would not help: pass it to the machine.
    Unavailable(String),
    /// The table refuses the caller: pass it to the machine.
    Misconfigured(String),
    /// The signature's time was refused: send again once, with the clock offset that the reply's
    /// `Date` header shows.
    ClockSkew,
}

/// Classifies a reply: whether to wait and send the call again, or to pass the reply to the machine.
#[must_use]
pub fn classify(reply: &Reply) -> Classification {
    match reply {
        Reply::Failed(reason) => Classification::Lost(reason.clone()),
        Reply::Http { status, body } => match sort(*status, body) {
            Sorted::Conflict(reason) | Sorted::Retry(reason) => Classification::Retry(reason),
            Sorted::Lost(reason) => Classification::Lost(reason),
            Sorted::ClockSkew(_) => Classification::ClockSkew,
            Sorted::Final(Answer::Unavailable(reason)) => Classification::Unavailable(reason),
            Sorted::Final(Answer::Misconfigured(reason)) => Classification::Misconfigured(reason),
            Sorted::Final(_) => Classification::Data,
        },
    }
}

/// Reads the last reply to a call, after all resends.
pub(crate) fn read(reply: &Reply) -> Answer<'_> {
    match reply {
        Reply::Failed(reason) => Answer::Unavailable(["the table did not answer: ", &clip(reason)].concat()),
        Reply::Http { status, body } => match sort(*status, body) {
            Sorted::Conflict(_) => Answer::Busy,
            Sorted::Retry(reason) | Sorted::Lost(reason) | Sorted::ClockSkew(reason) => {
                Answer::Unavailable(reason)
            }
            Sorted::Final(answer) => answer,
        },
    }
}
