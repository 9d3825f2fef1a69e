//! The conditions under which an item may be debited at all (R11, section 7).

use alloc::{vec, vec::Vec};

use crate::{
    item::Field,
    write::{Term, Test, Value},
};

/// The conditions of every debit: the item is not switched off, and it debits a parent exactly where the
/// request does. That it names the same `parent` is another condition ([`names_parent`]).
pub(crate) fn debitable(parent: Option<&str>) -> [Vec<Term>; 2] {
    let not = |field: Field| {
        vec![Term::absent(field), Term::with(field.into(), Test::NotEqual, Value::Boolean(true))]
    };
    let cascade = match parent {
        None => not(Field::Cascade),
        Some(_) => vec![Term::with(Field::Cascade.into(), Test::Equal, Value::Boolean(true))],
    };
    [not(Field::Disabled), cascade]
}

/// The item debits `parent` as well; nothing to require where the request has no parent.
pub(crate) fn names_parent(parent: Option<&str>) -> Option<Vec<Term>> {
    let parent = Value::Text(parent?.into());
    Some(vec![Term::with(Field::ParentId.into(), Test::Equal, parent)])
}
