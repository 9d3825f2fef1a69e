//! An item in DynamoDB JSON as a flat list of attributes, and what each may hold.

use alloc::{borrow::Cow, string::String, vec::Vec};

use super::number::parse_whole;
use crate::{
    text::{
        clip,
        json::{Parsed, Reader},
        quoted,
    },
    types::{error::Corrupt, key::META_SK},
};

/// Bounds instants, ms, so that adding a window to one never overflows.
pub(super) const FARTHEST_MS: i64 = 1 << 60;

/// An attribute's value, borrowed from the reply where it can be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Raw<'a> {
    /// A number, as spelled.
    Number(Cow<'a, str>),
    Text(Cow<'a, str>),
    Boolean(bool),
    /// Any other type, by its tag.
    Other(Cow<'a, str>),
}

/// An item as the table sends it: a flat list, in the table's order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Attributes<'a>(pub(crate) Vec<(Cow<'a, str>, Raw<'a>)>);

impl<'a> Raw<'a> {
    /// An attribute's value: an object with one type tag.
    fn read(json: &mut Reader<'a>) -> Parsed<Self> {
        json.object()?;
        let Some(tag) = json.name()? else { return Ok(Self::Other(Cow::Borrowed("nothing"))) };
        let raw = match &*tag {
            "N" => Self::Number(json.string()?),
            "S" => Self::Text(json.string()?),
            "BOOL" => Self::Boolean(json.boolean()?),
            _ => {
                json.skip()?;
                Self::Other(tag)
            }
        };
        while json.name()?.is_some() {
            json.skip()?;
        }
        Ok(raw)
    }
}

impl<'a> Attributes<'a> {
    /// An item: an object of attributes.
    pub(crate) fn read(json: &mut Reader<'a>) -> Parsed<Self> {
        let mut attributes = Vec::with_capacity(48);
        json.object()?;
        while let Some(name) = json.name()? {
            attributes.push((name, Raw::read(json)?));
        }
        Ok(Self(attributes))
    }
}

impl Raw<'_> {
    /// The value as read, for an error's message.
    fn describe(&self) -> String {
        match self {
            Self::Number(text) => ["the number ", &clip(text)].concat(),
            Self::Text(text) => ["the string ", &quoted(text)].concat(),
            Self::Boolean(value) => (if *value { "true" } else { "false" }).into(),
            Self::Other(tag) => ["a value of type ", &clip(tag)].concat(),
        }
    }

    #[inline(never)]
    pub(super) fn corrupt(&self, attribute: &str, expected: &str) -> Corrupt {
        Corrupt::new(attribute, &self.describe(), expected)
    }

    pub(super) fn whole(&self, attribute: &str) -> Result<i128, Corrupt> {
        let number = match self {
            Self::Number(text) => parse_whole(text),
            _ => None,
        };
        number.ok_or_else(|| self.corrupt(attribute, "a whole number of at most 38 digits"))
    }

    /// A whole number within bounds.
    pub(crate) fn within(&self, attribute: &str, bounds: [i64; 2], expected: &str) -> Result<i64, Corrupt> {
        let [least, most] = bounds;
        let number = i64::try_from(self.whole(attribute)?).ok();
        let number = number.filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| self.corrupt(attribute, expected))
    }

    /// An instant in ms.
    pub(super) fn instant(&self, attribute: &str) -> Result<i64, Corrupt> {
        self.within(attribute, [-FARTHEST_MS, FARTHEST_MS], "an instant in milliseconds")
    }

    pub(crate) fn text(&self, attribute: &str) -> Result<&str, Corrupt> {
        match self {
            Self::Text(text) => Ok(text),
            _ => Err(self.corrupt(attribute, "a string")),
        }
    }

    /// A string, or `NULL`, which zae-limiter writes for an entity without a parent.
    pub(super) fn text_or_null(&self, attribute: &str) -> Result<Option<String>, Corrupt> {
        match self {
            Self::Other(tag) if tag == "NULL" => Ok(None),
            _ => self.text(attribute).map(|text| Some(text.into())),
        }
    }

    pub(crate) fn boolean(&self, attribute: &str) -> Result<bool, Corrupt> {
        match self {
            Self::Boolean(value) => Ok(*value),
            _ => Err(self.corrupt(attribute, "true or false")),
        }
    }
}

impl Attributes<'_> {
    pub(crate) fn get(&self, name: &str) -> Option<&Raw<'_>> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, raw)| raw)
    }

    /// Whether this is the entity's own record rather than a bucket.
    pub(crate) fn is_entity_record(&self) -> bool {
        matches!(self.get("SK"), Some(Raw::Text(text)) if text == META_SK)
    }
}
