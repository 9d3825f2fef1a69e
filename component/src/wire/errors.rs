//! The table's errors by name, and the kind of each.

use crate::text::{contains, split_last};

/// The kind of an error of the table.
#[derive(Clone, Copy)]
pub(super) enum Kind {
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

/// The names of the table's errors that are distinguished.
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

/// The kind of the error of that name.
pub(super) fn kind_of(name: &str) -> Kind {
    ERRORS.iter().find(|(error, _)| *error == name).map_or(Kind::Other, |(_, kind)| *kind)
}

/// `com.amazonaws.dynamodb.v20120810#Name`, or the name alone.
pub(super) fn last_name(kind: &str) -> &str {
    split_last(kind, b'#').map_or(kind, |(_, name)| name)
}

/// `InvalidSignatureException` names the time as the cause only in its message.
pub(super) fn is_about_time(message: Option<&str>) -> bool {
    message.is_some_and(|text| contains(text, "expired") || contains(text, "not yet current"))
}
