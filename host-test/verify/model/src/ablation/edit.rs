//! Parts of a write: finding them, and taking them out.

use crate::store::{
    Change, Effect, Value, Write,
    expression::{Comparison, Condition, Operand},
};

/// Removes the parts of the condition that are unwanted.
pub(super) fn drop_parts(write: &mut Write, unwanted: impl Fn(&Condition) -> bool) {
    match &mut write.condition {
        Condition::All(parts) => parts.retain(|part| !unwanted(part)),
        single if unwanted(single) => *single = Condition::All(Vec::new()),
        _ => {}
    }
}

/// Removes the changes to the attributes that are unwanted.
pub(super) fn drop_changes(write: &mut Write, unwanted: impl Fn(&str) -> bool) {
    match &mut write.effect {
        Effect::Update(changes) => changes.retain(|change| !unwanted(change.name())),
        Effect::Put(item) => item.retain(|name, _| !unwanted(name)),
        Effect::Check => {}
    }
}

/// Sets an attribute that the write sets anyway to another value.
pub(super) fn set(write: &mut Write, wanted: &str, to: Value) {
    let Effect::Update(changes) = &mut write.effect else { return };
    for change in changes {
        if let Change::Set(name, value) = change
            && name == wanted
        {
            *value = to.clone();
        }
    }
}

/// Whether the condition names an attribute with one of these endings.
pub(super) fn ends_with(part: &Condition, suffixes: &[&str]) -> bool {
    part.attributes()
        .iter()
        .any(|name| suffixes.iter().any(|suffix| name == suffix || name.ends_with(suffix)))
}

/// Whether the condition compares a balance in this way.
pub(super) fn is_token_bound(part: &Condition, wanted: Comparison) -> bool {
    match part {
        Condition::Compare(Operand::Attribute(name), comparison, _) => {
            name.ends_with("_tk") && *comparison == wanted
        }
        _ => false,
    }
}

/// Whether the write gives a new grant.
pub(super) fn resets(write: &Write) -> bool {
    matches!(&write.effect, Effect::Update(changes) if changes.iter().any(|change| change.name().ends_with("_gc")))
}

/// Whether the condition compares the shard count in such a way.
pub(super) fn is_count(part: &Condition, wanted: impl Fn(Comparison) -> bool) -> bool {
    match part {
        Condition::Compare(Operand::Attribute(name), comparison, _) => {
            name == "shard_count" && wanted(*comparison)
        }
        _ => false,
    }
}

/// The value that a condition requires of an attribute with this ending.
pub(super) fn pinned(condition: &Condition, suffix: &str) -> Option<Value> {
    match condition {
        Condition::All(parts) => parts.iter().find_map(|part| pinned(part, suffix)),
        Condition::Compare(Operand::Attribute(name), Comparison::Equal, Operand::Value(value))
            if name.ends_with(suffix) =>
        {
            Some(value.clone())
        }
        _ => None,
    }
}
