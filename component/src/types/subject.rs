//! Whose balance it is.

use alloc::{borrow::ToOwned, string::String};

use super::{
    error::Error,
    name::{check_name, is_alphanumeric, is_letter},
};
use crate::text::quoted;
#[cfg(feature = "wasmtime")]
use wasmtime::component::{ComponentType, Lift, Lower};

/// Shards an entity's bucket is spread over at most.
pub const MAX_SHARD_COUNT: u32 = 32;

/// Whose balance it is, and where it is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wasmtime", derive(ComponentType, Lift, Lower), component(record))]
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
    /// A subject; its names are checked when it is used.
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
}
