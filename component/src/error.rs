//! What can be wrong, with a stable code and a sentence for a person.

use alloc::{format, string::String};
use core::fmt;

/// The kind of an [`Error`]; stable across versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorCode {
    /// The request breaks a documented bound or form.
    InvalidRequest,
    /// A named limit is neither configured nor on the item (R15).
    UnknownLimit,
    /// A stored item holds something it should not.
    CorruptItem,
    /// A number left its range.
    Overflow,
    /// The item needs something this version does not do: a calendar schedule, a cascade.
    Unsupported,
    /// A machine was used in a way its contract does not allow.
    Misuse,
}

impl ErrorCode {
    /// The code as it is written in answers: kebab case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid-request",
            Self::UnknownLimit => "unknown-limit",
            Self::CorruptItem => "corrupt-item",
            Self::Overflow => "overflow",
            Self::Unsupported => "unsupported",
            Self::Misuse => "other",
        }
    }
}

/// A refusal that says what was read, what was expected, and that nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Error {
    /// What kind it is.
    pub code: ErrorCode,
    /// A sentence for a person.
    pub message: String,
}

impl Error {
    pub(crate) fn invalid(message: String) -> Self {
        Self { code: ErrorCode::InvalidRequest, message }
    }

    pub(crate) fn corrupt(attribute: &dyn fmt::Display, read: &str, expected: &str) -> Self {
        Self {
            code: ErrorCode::CorruptItem,
            message: format!(
                "corrupt item: {attribute} reads {read}, expected {expected}; nothing was written"
            ),
        }
    }

    pub(crate) fn overflow(what: &str) -> Self {
        Self { code: ErrorCode::Overflow, message: format!("{what} is out of range; nothing was written") }
    }

    pub(crate) fn unknown_limit(name: &str) -> Self {
        Self {
            code: ErrorCode::UnknownLimit,
            message: format!(
                "limit {name:?} is neither configured nor on the stored item; nothing was written"
            ),
        }
    }

    pub(crate) fn unsupported(what: &str) -> Self {
        Self {
            code: ErrorCode::Unsupported,
            message: format!("{what}, which this version cannot serve; nothing was taken"),
        }
    }

    /// An item that was written to before it turned out to be unreadable.
    pub(crate) fn after_landing(self) -> Self {
        let message = self.message.replace("nothing was written", "the amounts were taken");
        Self { message, ..self }
    }

    pub(crate) fn misuse(message: &str) -> Self {
        Self { code: ErrorCode::Misuse, message: message.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for Error {}
