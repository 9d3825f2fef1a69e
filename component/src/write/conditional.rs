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
    /// Nothing: the conditions are the point.
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
    /// When.
    pub clauses: Vec<Vec<Term>>,
}
