//! The parent that an item, or an entity's own record, names.

use crate::store::{Item, Value};

/// The entity that is debited as well; none: the item names no parent.
pub(crate) fn stamped_parent(item: &Item) -> Option<&str> {
    match (item.get("cascade"), item.get("parent_id")) {
        (Some(Value::Boolean(true)), Some(Value::Text(parent))) => Some(parent),
        _ => None,
    }
}

/// Writes a parent into an item, or into an entity's own record.
pub(crate) fn stamp(item: &mut Item, parent: &str) {
    item.insert("cascade".into(), Value::Boolean(true));
    item.insert("parent_id".into(), Value::Text(parent.into()));
}
