//! A request to debit tokens.

use alloc::vec::Vec;

use super::{
    error::Error,
    hint::Hint,
    limit::{Amount, Limit},
    name::check_limit_name,
    subject::Subject,
};
use crate::text::{decimal, quoted};
#[cfg(feature = "wasmtime")]
use wasmtime::component::{ComponentType, Lift, Lower};

/// Limits one bucket may carry at most: what the table's 4 KB and 300 operators of an expression
/// have room for.
pub const MAX_LIMITS: usize = 12;

/// A request to debit tokens, all or nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wasmtime", derive(ComponentType, Lift, Lower), component(record))]
pub struct AcquireRequest {
    /// Whose balance it is.
    pub subject: Subject,
    /// The amounts. Only the limits named here gate the request (R15). Where all are 0 it is a question:
    /// answered from a read, nothing is written.
    pub consume: Vec<Amount>,
    /// The configuration of the bucket. A limit that is left out is used as the item stores it.
    pub limits: Vec<Limit>,
    /// Whether `limits` is known to be current (R15): then an item that differs is stamped with it.
    /// Otherwise an existing item keeps its own parameters. True for limits in the host's own code and
    /// for limits read from the table for this request; never for what a caller sent.
    pub authoritative: bool,
    /// Whether items created by this request never expire, because the configuration belongs to the
    /// entity. Otherwise they carry a `ttl`.
    pub permanent: bool,
    /// The last [`Decision::hint`](crate::Decision::hint) for this subject.
    pub hint: Option<Hint>,
    /// Any number that differs from request to request. It selects the shard that is tried first.
    pub seed: u64,
}

impl AcquireRequest {
    /// Checks every name and bound.
    ///
    /// # Errors
    /// `invalid-request` names what was read and what was expected.
    pub fn check(&self) -> Result<(), Error> {
        self.subject.check()?;
        if self.consume.is_empty() {
            return Err(Error::invalid(&["the request names no limit"]));
        }
        if self.consume.len().max(self.limits.len()) > MAX_LIMITS {
            let read = decimal(self.consume.len().max(self.limits.len()));
            return Err(Error::invalid(&[&read, " limits, expected at most ", &decimal(MAX_LIMITS)]));
        }
        for amount in &self.consume {
            check_limit_name(&amount.limit)?;
        }
        unique(self.consume.iter().map(|amount| amount.limit.as_str()))?;
        check_limits(&self.limits)
    }
}

pub(crate) fn check_limits(limits: &[Limit]) -> Result<(), Error> {
    for limit in limits {
        limit.check()?;
    }
    unique(limits.iter().map(|limit| limit.name.as_str()))
}

pub(crate) fn unique<'a>(names: impl Iterator<Item = &'a str>) -> Result<(), Error> {
    let mut seen = Vec::new();
    for name in names {
        if seen.contains(&name) {
            return Err(Error::invalid(&["limit ", &quoted(name), " is named twice"]));
        }
        seen.push(name);
    }
    Ok(())
}
