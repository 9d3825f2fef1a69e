//! An item of the table, and its key.

use std::collections::BTreeMap;

/// Partition and sort key.
pub type Key = (String, String);
/// An item's attributes.
pub type Item = BTreeMap<String, Value>;

/// An attribute's value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    /// `N`, whole.
    Number(i128),
    /// `S`
    Text(String),
    /// `BOOL`
    Boolean(bool),
    /// `NULL`
    Null,
}
