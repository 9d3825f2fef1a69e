//! What the table said: reading replies once, for every host alike.
//!
//! A host asks [`classify`] whether to wait and send again; the machines read what remains.

use alloc::{
    borrow::Cow,
    format,
    string::{String, ToString},
    vec::Vec,
};

use serde::Deserialize;

use crate::{
    answer::Reply,
    error::Error,
    item::{Attributes, Shard},
    key::clip,
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

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Body<'a> {
    #[serde(borrow)]
    attributes: Option<Attributes<'a>>,
    #[serde(borrow)]
    responses: Option<Tables<'a>>,
    #[serde(borrow)]
    unprocessed_keys: Option<NonEmpty<'a>>,
}

/// `Responses`: one table, whatever its name.
struct Tables<'a>(Vec<Attributes<'a>>);

/// `UnprocessedKeys`: only whether there are any.
struct NonEmpty<'a>(bool, core::marker::PhantomData<&'a ()>);

impl<'de: 'a, 'a> Deserialize<'de> for Tables<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<'a>(core::marker::PhantomData<&'a ()>);
        impl<'de: 'a, 'a> serde::de::Visitor<'de> for Visitor<'a> {
            type Value = Tables<'a>;
            fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str("an object of tables")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut items = Vec::new();
                while map.next_key::<serde::de::IgnoredAny>()?.is_some() {
                    items.extend(map.next_value::<Vec<Attributes<'a>>>()?);
                }
                Ok(Tables(items))
            }
        }
        deserializer.deserialize_map(Visitor(core::marker::PhantomData))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for NonEmpty<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = bool;
            fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str("an object of keys")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
                let mut any = false;
                while map.next_entry::<serde::de::IgnoredAny, serde::de::IgnoredAny>()?.is_some() {
                    any = true;
                }
                Ok(any)
            }
        }
        Ok(Self(deserializer.deserialize_map(Visitor)?, core::marker::PhantomData))
    }
}

#[derive(Deserialize)]
struct ErrorBody<'a> {
    #[serde(rename = "__type", borrow)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, alias = "Message")]
    message: Option<Cow<'a, str>>,
    #[serde(rename = "Item", borrow)]
    item: Option<Attributes<'a>>,
    #[serde(rename = "CancellationReasons", borrow)]
    reasons: Option<Vec<ReasonBody<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ReasonBody<'a> {
    #[serde(borrow)]
    code: Option<Cow<'a, str>>,
    #[serde(borrow)]
    item: Option<Attributes<'a>>,
}

/// Sorts a reply: what to wait out, what to hand on.
#[must_use]
pub fn classify(reply: &Reply) -> Classification {
    match reply {
        Reply::Failed(reason) => Classification::Lost(reason.clone()),
        Reply::Http { status, body } => match sort(*status, body) {
            Sorted::Retry(reason) => Classification::Retry(reason),
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
        Reply::Failed(reason) => Answer::Unavailable(format!("the table did not answer: {}", clip(reason))),
        Reply::Http { status, body } => match sort(*status, body) {
            Sorted::Retry(reason) if reason.starts_with(CONFLICT) => Answer::Busy,
            Sorted::Retry(reason) | Sorted::Lost(reason) | Sorted::ClockSkew(reason) => {
                Answer::Unavailable(reason)
            }
            Sorted::Final(answer) => answer,
        },
    }
}

/// How a message about a lost race begins.
const CONFLICT: &str = "the table reports a conflict";

enum Sorted<'a> {
    Retry(String),
    Lost(String),
    ClockSkew(String),
    Final(Answer<'a>),
}

fn sort(status: u16, body: &str) -> Sorted<'_> {
    match status {
        200 => Sorted::Final(success(body)),
        400 => refusal(body),
        429 => Sorted::Retry(format!("the table answered with status {status}")),
        500..=599 => Sorted::Lost(format!("the table answered with status {status}")),
        401 | 403 => Sorted::Final(Answer::Misconfigured(format!("the table answered with status {status}"))),
        _ => Sorted::Final(Answer::Unavailable(format!("the table answered with status {status}"))),
    }
}

fn success(body: &str) -> Answer<'_> {
    let Ok(Body { attributes, responses, unprocessed_keys }) = serde_json::from_str(body) else {
        return Answer::Unavailable(
            "the table answered with status 200 and a body that is cut off or not its own".into(),
        );
    };
    match responses {
        Some(Tables(items)) => {
            Answer::Read { items, incomplete: unprocessed_keys.is_some_and(|NonEmpty(any, _)| any) }
        }
        None => Answer::Landed(attributes),
    }
}

fn refusal(body: &str) -> Sorted<'_> {
    let Ok(ErrorBody { kind: Some(kind), message, item, reasons }) = serde_json::from_str(body) else {
        return Sorted::Final(Answer::Unavailable(
            "the table answered with status 400 and no error of its own".into(),
        ));
    };
    // `com.amazonaws.dynamodb.v20120810#Name`, or the name alone.
    let name = kind.rsplit('#').next().unwrap_or_default().to_string();
    let says = || match &message {
        Some(message) => format!("the table refuses: {name}: {}", clip(message)),
        None => format!("the table refuses: {name}"),
    };
    match name.as_str() {
        "ConditionalCheckFailedException" => Sorted::Final(Answer::Refused(item)),
        "TransactionCanceledException" => cancellation(reasons.unwrap_or_default()),
        "TransactionConflictException" | "TransactionInProgressException" => {
            Sorted::Retry(format!("{CONFLICT}: {name}"))
        }
        "ProvisionedThroughputExceededException"
        | "ThrottlingException"
        | "RequestLimitExceeded"
        | "LimitExceededException" => Sorted::Retry(says()),
        "InternalServerError" | "InternalFailure" | "ServiceUnavailable" => Sorted::Lost(says()),
        "RequestExpired" | "RequestTimeTooSkewed" => Sorted::ClockSkew(says()),
        "InvalidSignatureException" if is_about_time(message.as_deref()) => Sorted::ClockSkew(says()),
        "AccessDeniedException"
        | "ResourceNotFoundException"
        | "UnrecognizedClientException"
        | "InvalidSignatureException"
        | "IncompleteSignatureException"
        | "IncompleteSignature"
        | "MissingAuthenticationTokenException"
        | "MissingAuthenticationToken"
        | "ExpiredTokenException"
        | "InvalidClientTokenId"
        | "SignatureDoesNotMatch"
        | "OptInRequired"
        | "NotAuthorized"
        | "ValidationException" => Sorted::Final(Answer::Misconfigured(says())),
        _ => Sorted::Final(Answer::Unavailable(says())),
    }
}

/// `InvalidSignatureException` says so in words when it is the time that is wrong.
fn is_about_time(message: Option<&str>) -> bool {
    message.is_some_and(|text| text.contains("expired") || text.contains("not yet current"))
}

fn cancellation(reasons: Vec<ReasonBody<'_>>) -> Sorted<'_> {
    let code = |reason: &ReasonBody<'_>| {
        reason.code.as_deref().map_or("None", |code| match code.rsplit('#').next() {
            Some("ConditionalCheckFailed") => "ConditionalCheckFailed",
            Some("TransactionConflict") => "TransactionConflict",
            Some("None") => "None",
            Some("ThrottlingError" | "ProvisionedThroughputExceeded") => "ThrottlingError",
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
        return Sorted::Retry(format!("{CONFLICT}: TransactionConflict"));
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
    let attributes: Attributes<'_> = serde_json::from_str(item).map_err(|error| {
        Error::invalid(format!("not an item in DynamoDB JSON: {error}; nothing was written"))
    })?;
    attributes.shard()
}
