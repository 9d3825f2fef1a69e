//! A lease: what was debited, where, and in which window. It is a value: a host may settle what
//! another host admitted. It is not signed: whoever holds it can change it.

use alloc::{string::String, vec::Vec};

use super::{error::Error, subject::Subject};
use crate::text::json::{Malformed, Parsed, Reader, Writer};

/// What an admission debited. [`Lease::encode`] makes it a string that any host can settle.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    pub(crate) namespace: String,
    pub(crate) entity: String,
    pub(crate) resource: String,
    pub(crate) parts: Vec<LeasePart>,
}

/// What was debited of one shard.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LeasePart {
    pub(crate) shard: u32,
    pub(crate) limits: Vec<LeasedLimit>,
}

/// What was debited of one limit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LeasedLimit {
    pub(crate) name: String,
    /// Millitokens: a lease over several shards has fractions of a token.
    pub(crate) debited_milli: i64,
    /// The capacity at that time, undivided, millitokens.
    pub(crate) capacity_milli: i64,
    /// What the shard could hold, millitokens: no credit may lift the balance above it unclamped.
    pub(crate) ceiling_milli: i64,
    /// The window it was debited in; none for a drip.
    pub(crate) window: Option<LeasedWindow>,
}

/// The window a quota's tokens were debited in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LeasedWindow {
    /// `ws` on the item, ms.
    pub(crate) start_ms: i64,
    /// `wa` on the item, ms; absent on items older than the marker.
    pub(crate) applied_ms: Option<i64>,
    /// The window's end, ms.
    pub(crate) end_ms: i64,
}

impl Lease {
    /// The lease of an entity from which nothing was debited.
    #[cfg(feature = "contract")]
    pub(crate) fn of_nothing(entity: &str) -> Self {
        let entity = entity.into();
        Self { namespace: String::new(), entity, resource: String::new(), parts: Vec::new() }
    }

    /// The lease as a string: opaque, stable within a minor version.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut json = Writer::default();
        json.object(|json| {
            json.name("n").string(&self.namespace);
            json.name("e").string(&self.entity);
            json.name("r").string(&self.resource);
            json.name("p").array(|json| self.parts.iter().for_each(|part| part.write(json)));
        });
        json.finish()
    }

    /// Reads what [`Lease::encode`] wrote.
    ///
    /// # Errors
    /// `invalid-request` where it is something else.
    pub fn decode(text: &str) -> Result<Self, Error> {
        Reader::read(text, Self::read).map_err(|Malformed| Error::invalid(&["the lease is not one of ours"]))
    }

    fn read(json: &mut Reader<'_>) -> Parsed<Self> {
        let (mut namespace, mut entity, mut resource, mut parts) = (None, None, None, None);
        json.object()?;
        while let Some(name) = json.name()? {
            match &*name {
                "n" => namespace = Some(json.string()?.into_owned()),
                "e" => entity = Some(json.string()?.into_owned()),
                "r" => resource = Some(json.string()?.into_owned()),
                "p" => parts = Some(list(json, LeasePart::read)?),
                _ => json.skip()?,
            }
        }
        Ok(Self {
            namespace: namespace.ok_or(Malformed)?,
            entity: entity.ok_or(Malformed)?,
            resource: resource.ok_or(Malformed)?,
            parts: parts.ok_or(Malformed)?,
        })
    }

    /// The subject that was debited, on `table`.
    #[must_use]
    pub fn subject(&self, table: &str) -> Subject {
        Subject::new(table, &self.namespace, &self.entity, &self.resource)
    }
}

impl LeasePart {
    pub(crate) fn limit(&self, name: &str) -> Option<&LeasedLimit> {
        self.limits.iter().find(|limit| limit.name == name)
    }

    fn write(&self, json: &mut Writer) {
        json.object(|json| {
            json.name("s").integer(self.shard.into());
            json.name("l").array(|json| self.limits.iter().for_each(|limit| limit.write(json)));
        });
    }

    fn read(json: &mut Reader<'_>) -> Parsed<Self> {
        let (mut shard, mut limits) = (None, None);
        json.object()?;
        while let Some(name) = json.name()? {
            match &*name {
                "s" => shard = Some(json.integer()?),
                "l" => limits = Some(list(json, LeasedLimit::read)?),
                _ => json.skip()?,
            }
        }
        Ok(Self { shard: shard.ok_or(Malformed)?, limits: limits.ok_or(Malformed)? })
    }
}

impl LeasedLimit {
    fn write(&self, json: &mut Writer) {
        json.object(|json| {
            json.name("l").string(&self.name);
            json.name("t").integer(self.debited_milli.into());
            json.name("q").integer(self.capacity_milli.into());
            json.name("c").integer(self.ceiling_milli.into());
            if let Some(window) = self.window {
                window.write(json.name("w"));
            }
        });
    }

    fn read(json: &mut Reader<'_>) -> Parsed<Self> {
        let (mut limit, mut debited, mut capacity, mut ceiling, mut window) = (None, None, None, None, None);
        json.object()?;
        while let Some(name) = json.name()? {
            match &*name {
                "l" => limit = Some(json.string()?.into_owned()),
                "t" => debited = Some(json.integer()?),
                "q" => capacity = Some(json.integer()?),
                "c" => ceiling = Some(json.integer()?),
                "w" => window = json.optional(LeasedWindow::read)?,
                _ => json.skip()?,
            }
        }
        Ok(Self {
            name: limit.ok_or(Malformed)?,
            debited_milli: debited.ok_or(Malformed)?,
            capacity_milli: capacity.ok_or(Malformed)?,
            ceiling_milli: ceiling.ok_or(Malformed)?,
            window,
        })
    }
}

impl LeasedWindow {
    fn write(self, json: &mut Writer) {
        json.object(|json| {
            json.name("s").integer(self.start_ms.into());
            if let Some(applied_ms) = self.applied_ms {
                json.name("a").integer(applied_ms.into());
            }
            json.name("e").integer(self.end_ms.into());
        });
    }

    fn read(json: &mut Reader<'_>) -> Parsed<Self> {
        let (mut start, mut applied, mut end) = (None, None, None);
        json.object()?;
        while let Some(name) = json.name()? {
            match &*name {
                "s" => start = Some(json.integer()?),
                "a" => applied = json.optional(Reader::integer)?,
                "e" => end = Some(json.integer()?),
                _ => json.skip()?,
            }
        }
        Ok(Self { start_ms: start.ok_or(Malformed)?, applied_ms: applied, end_ms: end.ok_or(Malformed)? })
    }
}

fn list<T>(json: &mut Reader<'_>, element: impl Fn(&mut Reader<'_>) -> Parsed<T>) -> Parsed<Vec<T>> {
    let mut list = Vec::new();
    json.array()?;
    while json.element()? {
        list.push(element(json)?);
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use std::vec;

    use super::*;
    use crate::types::{request::MAX_LIMITS, subject::MAX_SHARD_COUNT};

    /// As `wit/types.wit` says: 96 KB.
    const MOST_BYTES: usize = 96 * 1024;

    #[test]
    fn the_largest_lease_is_as_small_as_the_contract_says() {
        let number = i64::MIN;
        let limit = LeasedLimit {
            name: "l".repeat(64),
            debited_milli: number,
            capacity_milli: number,
            ceiling_milli: number,
            window: Some(LeasedWindow { start_ms: number, applied_ms: Some(number), end_ms: number }),
        };
        let part = |shard| LeasePart { shard, limits: vec![limit.clone(); MAX_LIMITS] };
        let lease = Lease {
            namespace: "n".repeat(64),
            entity: "e".repeat(256),
            resource: "r".repeat(64),
            parts: (0..MAX_SHARD_COUNT).map(part).collect(),
        };
        let bytes = lease.encode().len();
        assert!(bytes <= MOST_BYTES, "{bytes} bytes, expected at most {MOST_BYTES}");
        let contract = include_str!("../../wit/types.wit");
        assert!(contract.contains("at most 96 KB"));
    }
}
