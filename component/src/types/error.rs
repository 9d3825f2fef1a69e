//! Errors: a stable code, and a sentence for a person.

use alloc::string::String;
use core::fmt;

use crate::text::{decimal, quoted};
#[cfg(feature = "wasmtime")]
use wasmtime::component::{ComponentType, Lift, Lower};

/// The kind of an [`Error`]; stable across versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wasmtime", derive(ComponentType, Lift, Lower), component(enum))]
#[non_exhaustive]
#[repr(u8)]
pub enum ErrorCode {
    /// The request breaks a documented bound or form.
    #[cfg_attr(feature = "wasmtime", component(name = "invalid-request"))]
    InvalidRequest,
    /// A named limit is neither configured nor on the item (R15).
    #[cfg_attr(feature = "wasmtime", component(name = "unknown-limit"))]
    UnknownLimit,
    /// A stored item holds an invalid value.
    #[cfg_attr(feature = "wasmtime", component(name = "corrupt-item"))]
    CorruptItem,
    /// A number left its range.
    #[cfg_attr(feature = "wasmtime", component(name = "overflow"))]
    Overflow,
    /// The item needs something this version does not do: a calendar schedule, a cascade.
    #[cfg_attr(feature = "wasmtime", component(name = "unsupported"))]
    Unsupported,
    /// Anything else, such as a machine that was not used as its contract says.
    #[cfg_attr(feature = "wasmtime", component(name = "other"))]
    Other,
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
            Self::Other => "other",
        }
    }
}

/// An error: what was read, what was expected, and that nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wasmtime", derive(ComponentType, Lift, Lower), component(record))]
pub struct Error {
    /// What kind it is.
    pub code: ErrorCode,
    /// A sentence for a person.
    pub message: String,
}

impl Error {
    /// An error with the sentence of these parts, and "nothing was written" after it.
    fn refused(code: ErrorCode, parts: &[&str]) -> Self {
        Self { code, message: [&parts.concat(), "; nothing was written"].concat() }
    }

    pub(crate) fn invalid(parts: &[&str]) -> Self {
        Self::refused(ErrorCode::InvalidRequest, parts)
    }

    pub(crate) fn overflow(what: &str) -> Self {
        Self::refused(ErrorCode::Overflow, &[what, " is out of range"])
    }

    pub(crate) fn unknown_limit(name: &str) -> Self {
        let parts = ["limit ", &quoted(name), " is neither configured nor on the stored item"];
        Self::refused(ErrorCode::UnknownLimit, &parts)
    }

    pub(crate) fn unsupported(what: &str) -> Self {
        let message = [what, ", which this version cannot serve; nothing was debited"].concat();
        Self { code: ErrorCode::Unsupported, message }
    }

    /// The number of replies is not the number of calls.
    pub(crate) fn miscounted(read: usize, expected: &str) -> Self {
        Self::misuse(&["the machine was handed ", &decimal(read), " replies, expected ", expected].concat())
    }

    pub(crate) fn misuse(message: &str) -> Self {
        Self { code: ErrorCode::Other, message: message.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for Error {}

/// What is wrong with a stored item. The caller knows whether the amounts were debited, and makes it
/// an [`Error`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Corrupt(String);

impl Corrupt {
    pub(crate) fn new(attribute: &str, read: &str, expected: &str) -> Self {
        Self(["corrupt item: ", attribute, " reads ", read, ", expected ", expected].concat())
    }

    /// The write landed, and the item that it left cannot be read.
    pub(crate) fn after_landing(self) -> Error {
        Error { code: ErrorCode::CorruptItem, message: [&self.0, "; the amounts were taken"].concat() }
    }
}

/// Nothing was written.
impl From<Corrupt> for Error {
    fn from(Corrupt(cause): Corrupt) -> Self {
        Self::refused(ErrorCode::CorruptItem, &[&cause])
    }
}
