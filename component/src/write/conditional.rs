//! A conditional write as data.

use alloc::{borrow::Cow, string::String, vec::Vec};

use super::{change::Change, condition::Term};

/// What a write does when its conditions hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// The whole item, `PK` and `SK` aside: what is set.
    Put(Vec<Change>),
    /// Single attributes.
    Update(Vec<Change>),
    /// Nothing: only the conditions are checked.
    Check,
}

/// One write that lands only if every clause holds; a clause holds if any of its terms does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ConditionalWrite {
    /// Partition key.
    pub pk: String,
    /// Sort key.
    pub sk: Cow<'static, str>,
    /// What it does.
    pub action: Action,
    /// The conditions: every clause must hold.
    pub clauses: Vec<Vec<Term>>,
}

/// Adds a write to a transaction, which may hold only one operation for each item: conditions add
/// up, a put or an update replaces a check, and an attribute is changed once.
pub(crate) fn merge(writes: &mut Vec<ConditionalWrite>, write: ConditionalWrite) {
    let Some(there) = writes.iter_mut().find(|other| other.pk == write.pk && other.sk == write.sk) else {
        writes.push(write);
        return;
    };
    for clause in write.clauses {
        if !there.clauses.contains(&clause) {
            there.clauses.push(clause);
        }
    }
    match (&mut there.action, write.action) {
        (_, Action::Check) => {}
        (there @ Action::Check, action) => *there = action,
        (Action::Update(changes), Action::Update(more)) => {
            for change in more {
                if changes.iter().all(|other| other.attribute != change.attribute) {
                    changes.push(change);
                }
            }
        }
        (Action::Put(_), _) | (_, Action::Put(_)) => {}
    }
}
