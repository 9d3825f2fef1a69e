//! Names, and the keys made of them.

use alloc::{borrow::ToOwned, string::String, vec::Vec};

use crate::{
    text::{decimal, quoted},
    types::error::Error,
};

/// Shards an entity's bucket is spread over at most.
pub const MAX_SHARD_COUNT: u32 = 32;

/// The sort key of every bucket item.
pub(crate) const STATE_SK: &str = "#STATE";
/// The sort key of an entity's own record.
pub(crate) const META_SK: &str = "#META";

/// Whose balance it is, and where it is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Subject {
    /// The DynamoDB table.
    pub table: String,
    /// The namespace id every key starts with.
    pub namespace: String,
    /// Who is limited: 1 to 256 characters, `[A-Za-z0-9][A-Za-z0-9_.\-:@]*`.
    pub entity: String,
    /// What is used: 1 to 64 characters, `[A-Za-z][A-Za-z0-9_.\-/:]*`.
    pub resource: String,
}

impl Subject {
    /// A subject; its names are checked by whoever uses it.
    #[must_use]
    pub fn new(table: &str, namespace: &str, entity: &str, resource: &str) -> Self {
        Self {
            table: table.to_owned(),
            namespace: namespace.to_owned(),
            entity: entity.to_owned(),
            resource: resource.to_owned(),
        }
    }

    /// Checks every name.
    ///
    /// # Errors
    /// `invalid-request` names the first that breaks its form.
    pub fn check(&self) -> Result<(), Error> {
        let table_ok = (1..=1024).contains(&self.table.len()) && self.table.is_ascii();
        if !table_ok {
            let read = quoted(&self.table);
            return Err(Error::invalid(&["table name ", &read, " is not 1 to 1024 ASCII characters"]));
        }
        check_name(
            "namespace id",
            &self.namespace,
            64,
            // zae-limiter draws its ids at random, some with a `_` in front; never with a `-`.
            |byte| is_alphanumeric(byte) || byte == b'_',
            "_-.",
            "[A-Za-z0-9_][A-Za-z0-9_.-]*",
        )?;
        check_name("entity id", &self.entity, 256, is_alphanumeric, "_.-:@", "[A-Za-z0-9][A-Za-z0-9_.-:@]*")?;
        check_name("resource", &self.resource, 64, is_letter, "_.-/:", "[A-Za-z][A-Za-z0-9_.-/:]*")
    }

    /// The partition key of one shard.
    #[must_use]
    pub fn bucket_pk(&self, shard: u32) -> String {
        let Self { namespace, entity, resource, .. } = self;
        [namespace, "/BUCKET#", entity, "#", resource, "#", &decimal(shard)].concat()
    }

    /// The whole keys of several shards.
    pub(crate) fn bucket_keys(&self, slots: &[u32]) -> Vec<(String, &'static str)> {
        slots.iter().map(|slot| (self.bucket_pk(*slot), STATE_SK)).collect()
    }

    /// The partition key of the entity's own record.
    #[must_use]
    pub fn entity_pk(&self) -> String {
        [&self.namespace, "/ENTITY#", &self.entity].concat()
    }

    /// What a hint is about, in one string; `#` is legal in no name.
    #[must_use]
    pub fn hint_key(&self) -> String {
        let Self { table, namespace, entity, resource } = self;
        [table, "#", namespace, "#", entity, "#", resource].concat()
    }
}

/// Checks a limit's name: 1 to 64 characters, `[A-Za-z][A-Za-z0-9_.\-]*`, never `wcu`.
pub(crate) fn check_limit_name(name: &str) -> Result<(), Error> {
    check_name("limit name", name, 64, is_letter, "_.-", "[A-Za-z][A-Za-z0-9_.-]*")?;
    if name == "wcu" {
        return Err(Error::invalid(&["limit name \"wcu\" is taken by the table's own write budget"]));
    }
    Ok(())
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic()
}

fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn check_name(
    what: &str,
    name: &str,
    longest: usize,
    first: fn(u8) -> bool,
    others: &str,
    form: &str,
) -> Result<(), Error> {
    let legal = name.len() <= longest
        && name.bytes().next().is_some_and(first)
        && name.bytes().all(|byte| is_alphanumeric(byte) || others.as_bytes().contains(&byte));
    if legal {
        return Ok(());
    }
    let longest = decimal(longest);
    Err(Error::invalid(&[what, " ", &quoted(name), " is not 1 to ", &longest, " characters of ", form]))
}

/// Counts are powers of two up to 32; anything else was not written by these rules, and the next
/// lower power is what its shards can be trusted to cover.
pub(crate) fn legal_count(count: u32) -> u32 {
    1 << count.clamp(1, MAX_SHARD_COUNT).ilog2()
}
