//! What a write changes.

use super::value::Value;
use crate::item::{Attribute, Of};

/// One change of an item.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Change {
    /// The attribute.
    pub attribute: Attribute,
    /// How it is changed.
    pub verb: Verb,
    /// The new value, or the amount to add; none for `Remove`.
    pub value: Option<Value>,
}

/// How an attribute is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// `SET attribute = value`
    Set,
    /// `SET attribute = if_not_exists(value, 0)`
    Snapshot,
    /// `ADD attribute value`
    Add,
    /// `REMOVE attribute`
    Remove,
}

impl Verb {
    pub(super) const fn keyword(self) -> &'static str {
        match self {
            Self::Set | Self::Snapshot => "SET ",
            Self::Add => "ADD ",
            Self::Remove => "REMOVE ",
        }
    }
}

impl Change {
    #[inline(never)]
    fn number(of: Of<'_>, verb: Verb, number: i128) -> Self {
        Self { attribute: of.into(), verb, value: Some(Value::Number(number)) }
    }

    pub(crate) fn set<'a>(of: impl Into<Of<'a>>, number: impl Into<i128>) -> Self {
        Self::number(of.into(), Verb::Set, number.into())
    }

    pub(crate) fn add<'a>(of: impl Into<Of<'a>>, number: impl Into<i128>) -> Self {
        Self::number(of.into(), Verb::Add, number.into())
    }

    /// Sets the attribute; removes it where the value is none.
    #[inline(never)]
    pub(crate) fn to(of: Of<'_>, number: Option<i64>) -> Self {
        match number {
            Some(number) => Self::number(of, Verb::Set, number.into()),
            None => Self { attribute: of.into(), verb: Verb::Remove, value: None },
        }
    }

    /// What is set is not a number.
    #[inline(never)]
    pub(crate) fn with(of: Of<'_>, value: Value) -> Self {
        Self { attribute: of.into(), verb: Verb::Set, value: Some(value) }
    }

    pub(crate) fn snapshot(of: Of<'_>, source: Of<'_>) -> Self {
        Self { verb: Verb::Snapshot, ..Self::with(of, Value::Attribute(source.into())) }
    }
}
