//! The condition on the entity's own record (section 7).

use alloc::{borrow::Cow, string::String, vec, vec::Vec};

use crate::{
    item::{Field, Owner},
    types::{key::META_SK, subject::Subject},
    write::{Action, Clauses, ConditionalWrite, Term, Test, Value},
};

/// The condition that the entity's own record is as it was read. `None`: there is no record.
pub(super) fn owner_check(subject: &Subject, owner: Option<&Owner>) -> ConditionalWrite {
    let mut clauses = Vec::new();
    if let Some(owner) = owner {
        let text = |text: &Option<String>| text.clone().map(Value::Text);
        clauses.require(Term::exists(Field::Pk));
        let stamp = |field: Field, read| vec![Term::is(field.into(), read)];
        clauses.push(stamp(Field::Cascade, owner.cascade.map(Value::Boolean)));
        let mut parent = stamp(Field::ParentId, text(&owner.parent_id));
        if owner.parent_id.is_none() {
            parent.push(Term::with(Field::ParentId.into(), Test::Equal, Value::Null));
        }
        clauses.push(parent);
        clauses.push(stamp(Field::ParentGeneration, owner.parent_generation.map(Value::Number)));
        clauses.push(stamp(Field::ParentIncarnation, text(&owner.parent_incarnation)));
    } else {
        clauses.require(Term::absent(Field::Pk));
    }
    ConditionalWrite { pk: subject.entity_pk(), sk: Cow::Borrowed(META_SK), action: Action::Check, clauses }
}
