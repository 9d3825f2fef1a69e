//! The request that reads whole items.

use alloc::string::String;

use super::encode::key;
use crate::{
    text::json::Writer,
    types::answer::{Call, Resend},
};

/// Reads whole items, at most 100 of them.
pub(crate) fn batch_read<K: AsRef<str>>(table: &str, keys: &[(String, K)], consistent: bool) -> Call {
    let mut json = Writer::with_capacity(2048);
    json.object(|json| {
        json.name("RequestItems").object(|json| {
            json.name(table).object(|json| {
                let each = |json: &mut Writer| {
                    keys.iter().for_each(|(pk, sk)| json.object(|json| key(json, pk, sk.as_ref())))
                };
                json.name("Keys").array(each);
                if consistent {
                    json.name("ConsistentRead").boolean(true);
                }
            });
        });
    });
    Call { operation: "BatchGetItem", body: json.finish(), resend: Resend::Idempotent }
}
