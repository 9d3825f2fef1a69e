//! Why a reply is not an answer of the table.

use onewindow::{
    Reply,
    wire::{Classification, classify},
};

/// The reason, as a sentence. None where the reply is an answer; a failed condition is one.
pub(crate) fn failure(reply: &Reply) -> Option<String> {
    match classify(reply) {
        Classification::Data => None,
        Classification::Retry(reason)
        | Classification::Lost(reason)
        | Classification::Unavailable(reason)
        | Classification::Misconfigured(reason) => Some(reason),
        Classification::ClockSkew => Some("the table refuses the time of the signature".into()),
    }
}
