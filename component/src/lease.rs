//! A lease: what was taken, where, and in which window. A value, so that the end of a stream may
//! be settled by another host than the one that began it.

use alloc::{string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::{error::Error, key::Subject};

/// What an admission took. Serialises to a string any host can settle.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Lease {
    #[serde(rename = "n")]
    pub(crate) namespace: String,
    #[serde(rename = "e")]
    pub(crate) entity: String,
    #[serde(rename = "r")]
    pub(crate) resource: String,
    #[serde(rename = "p")]
    pub(crate) parts: Vec<LeasePart>,
}

/// What was taken from one shard.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct LeasePart {
    #[serde(rename = "s")]
    pub(crate) shard: u32,
    #[serde(rename = "l")]
    pub(crate) limits: Vec<LeasedLimit>,
}

/// What was taken of one limit.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct LeasedLimit {
    #[serde(rename = "l")]
    pub(crate) name: String,
    /// Millitokens: a gathered lease takes fractions of a token.
    #[serde(rename = "t")]
    pub(crate) taken_milli: i64,
    /// The capacity at that time, undivided, millitokens.
    #[serde(rename = "q")]
    pub(crate) capacity_milli: i64,
    /// What the shard could hold, millitokens: no credit may lift the balance above it unclamped.
    #[serde(rename = "c")]
    pub(crate) ceiling_milli: i64,
    /// The window it was taken from; none for a dripping limit.
    #[serde(rename = "w", default, skip_serializing_if = "Option::is_none")]
    pub(crate) window: Option<LeasedWindow>,
}

/// The window a quota's tokens were taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct LeasedWindow {
    /// `ws` on the item, ms.
    #[serde(rename = "s")]
    pub(crate) start_ms: i64,
    /// `wa` on the item, ms; absent on items older than the marker.
    #[serde(rename = "a", default, skip_serializing_if = "Option::is_none")]
    pub(crate) applied_ms: Option<i64>,
    /// The window's end, ms.
    #[serde(rename = "e")]
    pub(crate) end_ms: i64,
}

impl Lease {
    /// The lease as a string: opaque, stable within a minor version.
    #[must_use]
    pub fn encode(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads what [`Lease::encode`] wrote.
    ///
    /// # Errors
    /// `invalid-request` where it is something else.
    pub fn decode(text: &str) -> Result<Self, Error> {
        serde_json::from_str(text)
            .map_err(|_| Error::invalid("the lease is not one of ours; nothing was written".into()))
    }

    /// Whose tokens they are, on `table`.
    #[must_use]
    pub fn subject(&self, table: &str) -> Subject {
        Subject::new(table, &self.namespace, &self.entity, &self.resource)
    }
}
