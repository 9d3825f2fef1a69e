//! The members of a reply's body.

use alloc::{borrow::Cow, vec::Vec};

use crate::{
    item::Attributes,
    text::json::{Parsed, Reader},
};

/// The members of a reply that are used, whatever its status.
#[derive(Default)]
pub(super) struct Body<'a> {
    pub(super) attributes: Option<Attributes<'a>>,
    /// The items of a batch read.
    pub(super) responses: Option<Vec<Attributes<'a>>>,
    pub(super) has_unprocessed_keys: bool,
    /// The error's type.
    pub(super) kind: Option<Cow<'a, str>>,
    pub(super) message: Option<Cow<'a, str>>,
    /// The item on which a condition failed.
    pub(super) item: Option<Attributes<'a>>,
    pub(super) reasons: Vec<ReasonBody<'a>>,
}

/// One of `CancellationReasons`.
#[derive(Default)]
pub(super) struct ReasonBody<'a> {
    pub(super) code: Option<Cow<'a, str>>,
    pub(super) item: Option<Attributes<'a>>,
}

impl<'a> Body<'a> {
    pub(super) fn read(json: &mut Reader<'a>) -> Parsed<Self> {
        let mut body = Self::default();
        json.object()?;
        while let Some(name) = json.name()? {
            match &*name {
                "Attributes" => body.attributes = json.optional(Attributes::read)?,
                "Responses" => body.responses = json.optional(tables)?,
                "UnprocessedKeys" => body.has_unprocessed_keys = json.optional(has_members)? == Some(true),
                "__type" => body.kind = json.optional(Reader::string)?,
                "message" | "Message" => body.message = json.optional(Reader::string)?,
                "Item" => body.item = json.optional(Attributes::read)?,
                "CancellationReasons" => body.reasons = json.optional(reasons)?.unwrap_or_default(),
                _ => json.skip()?,
            }
        }
        Ok(body)
    }
}

/// `Responses`: one table, whatever its name.
fn tables<'a>(json: &mut Reader<'a>) -> Parsed<Vec<Attributes<'a>>> {
    let mut items = Vec::new();
    json.object()?;
    while json.name()?.is_some() {
        json.array()?;
        while json.element()? {
            items.push(Attributes::read(json)?);
        }
    }
    Ok(items)
}

fn has_members(json: &mut Reader<'_>) -> Parsed<bool> {
    let mut any = false;
    json.object()?;
    while json.name()?.is_some() {
        json.skip()?;
        any = true;
    }
    Ok(any)
}

fn reasons<'a>(json: &mut Reader<'a>) -> Parsed<Vec<ReasonBody<'a>>> {
    let mut reasons = Vec::new();
    json.array()?;
    while json.element()? {
        let mut reason = ReasonBody::default();
        json.object()?;
        while let Some(name) = json.name()? {
            match &*name {
                "Code" => reason.code = json.optional(Reader::string)?,
                "Item" => reason.item = json.optional(Attributes::read)?,
                _ => json.skip()?,
            }
        }
        reasons.push(reason);
    }
    Ok(reasons)
}
