//! Why a reply is not the table's answer, in words.

use onewindow::{
    Reply,
    wire::{Classification, classify},
};

/// None where the reply is an answer; a condition that failed is one.
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
