//! A conditional write as a DynamoDB request, alone or in a transaction.

use super::{
    change::Change,
    conditional::{Action, ConditionalWrite},
    expression::Aliases,
    resend::resend,
    value::literal,
};
use crate::{
    text::{decimal, json::Writer},
    types::{answer::Call, error::Error},
};

/// Which images the reply to a single update carries.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Images {
    /// The new one on success, the old one on failure.
    Both,
    /// None: nobody reads the reply.
    Neither,
}

impl ConditionalWrite {
    /// The write as a request of its own.
    pub(crate) fn call(&self, table: &str, images: Images) -> Call {
        let wanted = images == Images::Both;
        let (operation, returned) = match &self.action {
            Action::Update(_) => ("UpdateItem", wanted.then_some("ALL_NEW")),
            Action::Put(_) => ("PutItem", None),
            Action::Check => return transaction(table, core::slice::from_ref(self)),
        };
        let mut json = Writer::with_capacity(1024);
        body(&mut json, table, self, returned, wanted);
        Call { operation, body: json.finish(), resend: resend(core::slice::from_ref(self)) }
    }
}

/// Several writes that land together or not at all.
pub(crate) fn transaction(table: &str, writes: &[ConditionalWrite]) -> Call {
    let mut json = Writer::with_capacity(4096);
    json.object(|json| {
        json.name("TransactItems").array(|json| {
            for write in writes {
                let kind = match write.action {
                    Action::Put(_) => "Put",
                    Action::Update(_) => "Update",
                    Action::Check => "ConditionCheck",
                };
                json.object(|json| body(json.name(kind), table, write, None, true));
            }
        });
    });
    Call { operation: "TransactWriteItems", body: json.finish(), resend: resend(writes) }
}

/// Writes that a transaction may hold at most.
const MAX_WRITES: usize = 100;

/// One write as a request of its own; several, or a mere check, as a transaction.
///
/// # Errors
/// `invalid-request` where there is no write, or more than 100.
pub fn encode(table: &str, writes: &[ConditionalWrite]) -> Result<Call, Error> {
    match writes {
        [write] => Ok(write.call(table, Images::Both)),
        writes if (1..=MAX_WRITES).contains(&writes.len()) => Ok(transaction(table, writes)),
        _ => Err(Error::invalid(&[&decimal(writes.len()), " writes, expected 1 to ", &decimal(MAX_WRITES)])),
    }
}

/// The members of a key.
pub(super) fn key(json: &mut Writer, pk: &str, sk: &str) {
    json.name("PK").object(|json| json.name("S").string(pk));
    json.name("SK").object(|json| json.name("S").string(sk));
}

/// The body of `UpdateItem` or `PutItem`, or one item of a transaction.
fn body(
    json: &mut Writer,
    table: &str,
    write: &ConditionalWrite,
    returned: Option<&str>,
    failure_image: bool,
) {
    let mut aliases = Aliases::new();
    json.object(|json| {
        json.name("TableName").string(table);
        match &write.action {
            Action::Put(changes) => json.name("Item").object(|json| {
                key(json, &write.pk, &write.sk);
                for Change { attribute, value, .. } in changes {
                    literal(json.joined(&attribute.parts()), value.as_ref());
                }
            }),
            Action::Update(_) | Action::Check => {
                json.name("Key").object(|json| key(json, &write.pk, &write.sk))
            }
        }
        if let Action::Update(changes) = &write.action {
            json.name("UpdateExpression").plain(|out| aliases.update(out, changes));
        }
        if !write.clauses.is_empty() {
            json.name("ConditionExpression").plain(|out| aliases.condition(out, &write.clauses));
        }
        aliases.members(json);
        if let Some(returned) = returned {
            json.name("ReturnValues").string(returned);
        }
        if failure_image {
            json.name("ReturnValuesOnConditionCheckFailure").string("ALL_OLD");
        }
    });
}
