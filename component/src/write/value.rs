//! A value in a write.

use alloc::string::String;

use crate::{
    item::Attribute,
    text::{json::Writer, push_integer},
};

/// A value in a write.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// A whole number.
    Number(i128),
    /// A string.
    Text(String),
    /// A boolean.
    Boolean(bool),
    /// `NULL`: there, and nothing.
    Null,
    /// Another attribute of the same item.
    Attribute(Attribute),
}

/// An attribute's value, under its type tag.
pub(super) fn literal(json: &mut Writer, value: Option<&Value>) {
    json.object(|json| match value {
        Some(Value::Number(number)) => json.name("N").plain(|out| push_integer(out, *number)),
        Some(Value::Text(text)) => json.name("S").string(text),
        Some(Value::Boolean(value)) => json.name("BOOL").boolean(*value),
        // Only ever an operand, and operands that are attributes become names, not values.
        Some(Value::Null | Value::Attribute(_)) | None => json.name("NULL").boolean(true),
    });
}
