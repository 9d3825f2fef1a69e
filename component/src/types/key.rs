//! Keys of items, composed from names.

use alloc::{string::String, vec::Vec};

use super::subject::Subject;
use crate::text::decimal;

/// The sort key of every bucket item.
pub(crate) const STATE_SK: &str = "#STATE";
/// The sort key of an entity's own record.
pub(crate) const META_SK: &str = "#META";

impl Subject {
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

    /// The key of a hint: the subject in one string. `#` separates its parts, and is legal in no name.
    #[must_use]
    pub fn hint_key(&self) -> String {
        let Self { table, namespace, entity, resource } = self;
        [table, "#", namespace, "#", entity, "#", resource].concat()
    }
}
