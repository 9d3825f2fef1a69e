//! Sorts a reply by its status and its body.

use alloc::{string::String, vec::Vec};

use super::{
    body::{Body, ReasonBody},
    errors::{Kind, is_about_time, kind_of, last_name},
};
use crate::{
    item::Attributes,
    text::{clip, decimal, json::Reader},
};

/// A reply as the machines read it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer<'a> {
    /// A single write landed; its new image where one was asked for.
    Landed(Option<Attributes<'a>>),
    /// A batch read: the items found, and whether keys were left unprocessed.
    Read { items: Vec<Attributes<'a>>, incomplete: bool },
    /// The condition of a single write failed. With the item; none where it does not exist (F18).
    Refused(Option<Attributes<'a>>),
    /// A transaction was cancelled: per write, whether its condition failed, and the item.
    Cancelled(Vec<Reason<'a>>),
    /// Lost to another writer or to a throttle, even after the host's resends.
    Busy,
    /// Sending again would not help.
    Unavailable(String),
    /// The table refuses the caller.
    Misconfigured(String),
}

/// One write of a cancelled transaction.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Reason<'a> {
    pub(crate) failed: bool,
    pub(crate) item: Option<Attributes<'a>>,
}

/// A reply, sorted by what the host does with it.
pub(super) enum Sorted<'a> {
    /// Another writer writes the same items: nothing was written.
    Conflict(String),
    /// Throttled: nothing was written.
    Retry(String),
    /// It may have been written.
    Lost(String),
    /// The signature's time was refused.
    ClockSkew(String),
    /// Sending it again would change nothing.
    Final(Answer<'a>),
}

pub(super) fn sort(status: u16, body: &str) -> Sorted<'_> {
    let reason = || ["the table answered with status ", &decimal(status)].concat();
    match status {
        200 => Sorted::Final(success(body)),
        400 => refusal(body),
        429 => Sorted::Retry(reason()),
        500..=599 => Sorted::Lost(reason()),
        401 | 403 => Sorted::Final(Answer::Misconfigured(reason())),
        _ => Sorted::Final(Answer::Unavailable(reason())),
    }
}

fn success(body: &str) -> Answer<'_> {
    let Ok(Body { attributes, responses, has_unprocessed_keys, .. }) = Reader::read(body, Body::read) else {
        return Answer::Unavailable(
            "the table answered with status 200 and a body that is cut off or not its own".into(),
        );
    };
    match responses {
        Some(items) => Answer::Read { items, incomplete: has_unprocessed_keys },
        None => Answer::Landed(attributes),
    }
}

fn refusal(body: &str) -> Sorted<'_> {
    let Ok(Body { kind: Some(kind), message, item, reasons, .. }) = Reader::read(body, Body::read) else {
        return Sorted::Final(Answer::Unavailable(
            "the table answered with status 400 and no error of its own".into(),
        ));
    };
    let name = last_name(&kind);
    let reason = || match &message {
        Some(message) => ["the table refuses: ", name, ": ", &clip(message)].concat(),
        None => ["the table refuses: ", name].concat(),
    };
    match kind_of(name) {
        Kind::Refused => Sorted::Final(Answer::Refused(item)),
        Kind::Cancelled => cancellation(reasons),
        Kind::Conflict => Sorted::Conflict(["the table reports a conflict: ", name].concat()),
        Kind::Throttled => Sorted::Retry(reason()),
        Kind::Internal => Sorted::Lost(reason()),
        Kind::Time => Sorted::ClockSkew(reason()),
        Kind::Signature if is_about_time(message.as_deref()) => Sorted::ClockSkew(reason()),
        Kind::Signature | Kind::Access => Sorted::Final(Answer::Misconfigured(reason())),
        Kind::Other => Sorted::Final(Answer::Unavailable(reason())),
    }
}

fn cancellation(reasons: Vec<ReasonBody<'_>>) -> Sorted<'_> {
    let code = |reason: &ReasonBody<'_>| {
        reason.code.as_deref().map_or("other", |code| match last_name(code) {
            "ConditionalCheckFailed" => "ConditionalCheckFailed",
            "TransactionConflict" => "TransactionConflict",
            "ThrottlingError" | "ProvisionedThroughputExceeded" => "ThrottlingError",
            _ => "other",
        })
    };
    let any = |wanted: &str| reasons.iter().any(|reason| code(reason) == wanted);
    // A failed condition is considered first: its item is what the next plan is made from.
    if any("ConditionalCheckFailed") {
        let reasons = reasons
            .into_iter()
            .map(|reason| {
                let failed = code(&reason) == "ConditionalCheckFailed";
                Reason { failed, item: reason.item.filter(|_| failed) }
            })
            .collect();
        return Sorted::Final(Answer::Cancelled(reasons));
    }
    if any("TransactionConflict") {
        return Sorted::Conflict("the table reports a conflict: TransactionConflict".into());
    }
    if any("ThrottlingError") {
        return Sorted::Retry("the table is throttling a transaction".into());
    }
    Sorted::Final(Answer::Unavailable(
        "the table cancelled a transaction for a reason that is not about its conditions".into(),
    ))
}
