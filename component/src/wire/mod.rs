//! What the table said: reading replies once, for every host alike.
//!
//! A host asks [`classify`] whether to wait and send again; the machines read what remains.

use alloc::{borrow::Cow, string::String, vec::Vec};

use crate::{
    item::{Attributes, Shard},
    text::json::{Malformed, Parsed, Reader},
    text::{clip, contains, decimal, split_last},
    types::answer::Reply,
    types::error::Error,
};

/// What a host does about a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Classification {
    /// Hand it to the machine.
    Data,
    /// Nothing was written: wait (full jitter) and send again, whatever the call.
    Retry(String),
    /// It may have been written: wait and send again, unless the call says
    /// [`Resend::Never`](crate::Resend::Never).
    Lost(String),
    /// No use trying again: hand it to the machine.
    Unavailable(String),
    /// The table refuses us: hand it to the machine.
    Misconfigured(String),
    /// The signature's time was refused: send again once, with the clock offset that the reply's
    /// `Date` header shows.
    ClockSkew,
}

/// A reply as the machines read it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer<'a> {
    /// A single write landed; its new image where one was asked for.
    Landed(Option<Attributes<'a>>),
    /// A batch read: the items found, and whether keys were left unprocessed.
    Read { items: Vec<Attributes<'a>>, incomplete: bool },
    /// A single write's condition failed; the item as it is, absent where there is none (F18).
    Refused(Option<Attributes<'a>>),
    /// A transaction was cancelled: per write, whether its condition failed, and the item.
    Cancelled(Vec<Reason<'a>>),
    /// Lost to another writer or to a throttle, even after the host's resends.
    Busy,
    /// No use trying again.
    Unavailable(String),
    /// The table refuses us.
    Misconfigured(String),
}

/// One write of a cancelled transaction.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Reason<'a> {
    pub(crate) failed: bool,
    pub(crate) item: Option<Attributes<'a>>,
}

/// The members of a reply that are of any use, whatever its status.
#[derive(Default)]
struct Body<'a> {
    attributes: Option<Attributes<'a>>,
    /// The items of a batch read.
    responses: Option<Vec<Attributes<'a>>>,
    has_unprocessed_keys: bool,
    /// The error's type.
    kind: Option<Cow<'a, str>>,
    message: Option<Cow<'a, str>>,
    /// The image a failed condition was judged by.
    item: Option<Attributes<'a>>,
    reasons: Vec<ReasonBody<'a>>,
}

/// One of `CancellationReasons`.
#[derive(Default)]
struct ReasonBody<'a> {
    code: Option<Cow<'a, str>>,
    item: Option<Attributes<'a>>,
}

impl<'a> Body<'a> {
    fn read(json: &mut Reader<'a>) -> Parsed<Self> {
        let mut body = Self::default();
        json.object()?;
        while let Some(name) = json.name()? {
            match &*name {
                "Attributes" => body.attributes = json.optional(Attributes::read)?,
                "Responses" => body.responses = json.optional(tables)?,
                "UnprocessedKeys" => body.has_unprocessed_keys = json.optional(has_members)? == Some(true),
                "__type" => body.kind = json.optional(Reader::string)?,
                "message" | "Message" => body.message = json.optional(Reader::string)?,
                "Item" => body.item = json.optional(Attributes::read)?,
                "CancellationReasons" => body.reasons = json.optional(reasons)?.unwrap_or_default(),
                _ => json.skip()?,
            }
        }
        Ok(body)
    }
}

/// `Responses`: one table, whatever its name.
fn tables<'a>(json: &mut Reader<'a>) -> Parsed<Vec<Attributes<'a>>> {
    let mut items = Vec::new();
    json.object()?;
    while json.name()?.is_some() {
        json.array()?;
        while json.element()? {
            items.push(Attributes::read(json)?);
        }
    }
    Ok(items)
}

fn has_members(json: &mut Reader<'_>) -> Parsed<bool> {
    let mut any = false;
    json.object()?;
    while json.name()?.is_some() {
        json.skip()?;
        any = true;
    }
    Ok(any)
}

fn reasons<'a>(json: &mut Reader<'a>) -> Parsed<Vec<ReasonBody<'a>>> {
    let mut reasons = Vec::new();
    json.array()?;
    while json.element()? {
        let mut reason = ReasonBody::default();
        json.object()?;
        while let Some(name) = json.name()? {
            match &*name {
                "Code" => reason.code = json.optional(Reader::string)?,
                "Item" => reason.item = json.optional(Attributes::read)?,
                _ => json.skip()?,
            }
        }
        reasons.push(reason);
    }
    Ok(reasons)
}

/// Sorts a reply: what to wait out, what to hand on.
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

/// Reads a reply that no host will send again for.
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

/// A reply, sorted by what its sender may do about it.
enum Sorted<'a> {
    /// Another writer is at the same items: nothing was written.
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

fn sort(status: u16, body: &str) -> Sorted<'_> {
    let says = || ["the table answered with status ", &decimal(status)].concat();
    match status {
        200 => Sorted::Final(success(body)),
        400 => refusal(body),
        429 => Sorted::Retry(says()),
        500..=599 => Sorted::Lost(says()),
        401 | 403 => Sorted::Final(Answer::Misconfigured(says())),
        _ => Sorted::Final(Answer::Unavailable(says())),
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
    let says = || match &message {
        Some(message) => ["the table refuses: ", name, ": ", &clip(message)].concat(),
        None => ["the table refuses: ", name].concat(),
    };
    match ERRORS.iter().find(|(error, _)| *error == name).map_or(Kind::Other, |(_, kind)| *kind) {
        Kind::Refused => Sorted::Final(Answer::Refused(item)),
        Kind::Cancelled => cancellation(reasons),
        Kind::Conflict => Sorted::Conflict(["the table reports a conflict: ", name].concat()),
        Kind::Throttled => Sorted::Retry(says()),
        Kind::Internal => Sorted::Lost(says()),
        Kind::Time => Sorted::ClockSkew(says()),
        Kind::Signature if is_about_time(message.as_deref()) => Sorted::ClockSkew(says()),
        Kind::Signature | Kind::Access => Sorted::Final(Answer::Misconfigured(says())),
        Kind::Other => Sorted::Final(Answer::Unavailable(says())),
    }
}

/// What an error of the table is about.
#[derive(Clone, Copy)]
enum Kind {
    Refused,
    Cancelled,
    Conflict,
    Throttled,
    Internal,
    Time,
    Signature,
    Access,
    Other,
}

/// The errors of the table's that are told apart.
static ERRORS: [(&str, Kind); 27] = [
    ("ConditionalCheckFailedException", Kind::Refused),
    ("TransactionCanceledException", Kind::Cancelled),
    ("TransactionConflictException", Kind::Conflict),
    ("TransactionInProgressException", Kind::Conflict),
    ("ProvisionedThroughputExceededException", Kind::Throttled),
    ("ThrottlingException", Kind::Throttled),
    ("RequestLimitExceeded", Kind::Throttled),
    ("LimitExceededException", Kind::Throttled),
    ("InternalServerError", Kind::Internal),
    ("InternalFailure", Kind::Internal),
    ("ServiceUnavailable", Kind::Internal),
    ("RequestExpired", Kind::Time),
    ("RequestTimeTooSkewed", Kind::Time),
    ("InvalidSignatureException", Kind::Signature),
    ("AccessDeniedException", Kind::Access),
    ("ResourceNotFoundException", Kind::Access),
    ("UnrecognizedClientException", Kind::Access),
    ("IncompleteSignatureException", Kind::Access),
    ("IncompleteSignature", Kind::Access),
    ("MissingAuthenticationTokenException", Kind::Access),
    ("MissingAuthenticationToken", Kind::Access),
    ("ExpiredTokenException", Kind::Access),
    ("InvalidClientTokenId", Kind::Access),
    ("SignatureDoesNotMatch", Kind::Access),
    ("OptInRequired", Kind::Access),
    ("NotAuthorized", Kind::Access),
    ("ValidationException", Kind::Access),
];

/// `com.amazonaws.dynamodb.v20120810#Name`, or the name alone.
fn last_name(kind: &str) -> &str {
    split_last(kind, b'#').map_or(kind, |(_, name)| name)
}

/// `InvalidSignatureException` says so in words when it is the time that is wrong.
fn is_about_time(message: Option<&str>) -> bool {
    message.is_some_and(|text| contains(text, "expired") || contains(text, "not yet current"))
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
    // A failed condition is news worth planning from, whatever else happened beside it.
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

/// Reads a stored item: a JSON object of attributes, as in the `Item` of a reply.
///
/// # Errors
/// `corrupt-item` names the attribute; `invalid-request` where the text is not an item at all.
pub fn decode_item(item: &str) -> Result<Shard, Error> {
    let attributes = Reader::read(item, Attributes::read)
        .map_err(|Malformed| Error::invalid(&["not an item in DynamoDB JSON"]))?;
    Ok(attributes.shard()?)
}
