//! What must hold for a write to land.

use alloc::{vec, vec::Vec};

use super::value::Value;
use crate::item::{Attribute, Of};

/// How an attribute is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Test {
    Exists,
    Absent,
    Equal,
    NotEqual,
    Less,
    AtMost,
    More,
    AtLeast,
}

impl Test {
    pub(super) const fn operator(self) -> &'static str {
        match self {
            Self::Exists | Self::Absent => "",
            Self::Equal => " = ",
            Self::NotEqual => " <> ",
            Self::Less => " < ",
            Self::AtMost => " <= ",
            Self::More => " > ",
            Self::AtLeast => " >= ",
        }
    }
}

/// One comparison of a stored attribute.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Term {
    /// The attribute.
    pub attribute: Attribute,
    /// How it is compared.
    pub test: Test,
    /// The operand; none for `Exists` and `Absent`.
    pub operand: Option<Value>,
}

// These are called dozens of times: one copy of each keeps the component small.
impl Term {
    #[inline(never)]
    fn bare(of: Of<'_>, test: Test) -> Self {
        Self { attribute: of.into(), test, operand: None }
    }

    #[inline(never)]
    fn number(of: Of<'_>, test: Test, number: i128) -> Self {
        Self { attribute: of.into(), test, operand: Some(Value::Number(number)) }
    }

    pub(crate) fn exists<'a>(of: impl Into<Of<'a>>) -> Self {
        Self::bare(of.into(), Test::Exists)
    }

    pub(crate) fn absent<'a>(of: impl Into<Of<'a>>) -> Self {
        Self::bare(of.into(), Test::Absent)
    }

    pub(crate) fn compare<'a>(of: impl Into<Of<'a>>, test: Test, number: impl Into<i128>) -> Self {
        Self::number(of.into(), test, number.into())
    }

    /// What is compared is not a number.
    #[inline(never)]
    pub(crate) fn with(of: Of<'_>, test: Test, value: Value) -> Self {
        Self { attribute: of.into(), test, operand: Some(value) }
    }

    /// The attribute is as it was read: equal, or absent.
    #[inline(never)]
    pub(crate) fn is(of: Of<'_>, read: Option<Value>) -> Self {
        let test = if read.is_some() { Test::Equal } else { Test::Absent };
        Self { attribute: of.into(), test, operand: read }
    }

    #[inline(never)]
    pub(crate) fn as_read(of: Of<'_>, read: Option<i64>) -> Self {
        Self::is(of, read.map(|number| Value::Number(number.into())))
    }

    /// A clause: the attribute is absent, or compares like this.
    #[inline(never)]
    pub(crate) fn unless_absent(of: Of<'_>, test: Test, number: i64) -> Vec<Self> {
        vec![Self::bare(of, Test::Absent), Self::number(of, test, number.into())]
    }
}

/// The clauses of a write while they are put together.
pub(crate) trait Clauses {
    /// Adds a clause of one term.
    fn require(&mut self, term: Term);
}

impl Clauses for Vec<Vec<Term>> {
    // There are dozens of these: one copy, wherever it is called.
    #[inline(never)]
    fn require(&mut self, term: Term) {
        self.push(vec![term]);
    }
}
