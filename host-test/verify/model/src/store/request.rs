//! A request as the table executes it: its writes, or the keys that it reads.

use super::{
    expression::Condition,
    item::{Item, Key, Value},
};

/// A request as the store executes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// `UpdateItem`, `PutItem`: one write, which answers with images.
    Single(Write),
    /// `TransactWriteItems`: all of them or none.
    Transaction(Vec<Write>),
    /// `BatchGetItem`.
    Read {
        /// What is read.
        keys: Vec<Key>,
        /// Whether it must not be stale.
        consistent: bool,
    },
}

/// One write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The item it is on.
    pub key: Key,
    /// What it does.
    pub effect: Effect,
    /// When.
    pub condition: Condition,
}

/// What a write does when its condition holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The item becomes this.
    Put(Item),
    /// These attributes change.
    Update(Vec<Change>),
    /// Nothing.
    Check,
}

/// One change of an update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// `SET name = value`
    Set(String, Value),
    /// `SET name = if_not_exists(source, value)`
    SetFrom(String, String, Value),
    /// `ADD name number`
    Add(String, i128),
    /// `REMOVE name`
    Remove(String),
}

impl Change {
    /// The attribute that changes.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Set(name, _) | Self::SetFrom(name, ..) | Self::Add(name, _) | Self::Remove(name) => name,
        }
    }
}

impl Write {
    /// The millitokens it returns to the balance, of any limit; none: it is no credit.
    #[must_use]
    pub fn credit_milli(&self) -> Option<i128> {
        let Effect::Update(changes) = &self.effect else { return None };
        changes.iter().find_map(|change| match change {
            Change::Add(name, consumed) if name.ends_with("_tc") && *consumed < 0 => Some(-consumed),
            _ => None,
        })
    }
}

impl Request {
    /// Its writes.
    #[must_use]
    pub fn writes(&self) -> &[Write] {
        match self {
            Self::Single(write) => std::slice::from_ref(write),
            Self::Transaction(writes) => writes,
            Self::Read { .. } => &[],
        }
    }

    /// The items it reads or writes.
    #[must_use]
    pub fn keys(&self) -> Vec<&Key> {
        match self {
            Self::Read { keys, .. } => keys.iter().collect(),
            _ => self.writes().iter().map(|write| &write.key).collect(),
        }
    }

    /// The item it returns tokens to, and how many millitokens: a settlement's or a cascade's credit.
    #[must_use]
    pub fn credit(&self) -> Option<(&Key, i128)> {
        self.writes().iter().find_map(|write| Some((&write.key, write.credit_milli()?)))
    }

    /// Its writes, to change them.
    pub fn writes_mut(&mut self) -> &mut [Write] {
        match self {
            Self::Single(write) => std::slice::from_mut(write),
            Self::Transaction(writes) => writes,
            Self::Read { .. } => &mut [],
        }
    }
}
