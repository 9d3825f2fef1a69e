//! A debit: millitokens of one limit.

use alloc::sync::Arc;

use crate::{
    item::Shard,
    rule::window::length_ms,
    types::{
        error::Error,
        limit::{Amount, Limit},
    },
};

/// Millitokens of one limit that a write debits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Debit {
    /// The limit.
    pub limit: Arc<str>,
    /// Millitokens, at least 0.
    pub milli: i128,
    /// The window's length as configured (as stored, where the configuration leaves the limit
    /// out); none for a drip.
    pub length_seconds: Option<i64>,
}

impl Debit {
    /// An amount, with the window's length as configured.
    #[must_use]
    pub fn new(amount: &Amount, limits: &[Limit]) -> Self {
        let configured = limits.iter().find(|limit| limit.name == amount.limit);
        Self {
            limit: Arc::from(amount.limit.as_str()),
            milli: amount.milli(),
            length_seconds: configured.and_then(Limit::length_seconds),
        }
    }

    /// An amount, with the window's length as configured or, where the configuration leaves the
    /// limit out, as stored.
    ///
    /// # Errors
    /// `unknown-limit` where neither knows it (R15).
    pub fn find(amount: &Amount, limits: &[Limit], shards: &[Shard]) -> Result<Self, Error> {
        let debit = Self::new(amount, limits);
        if limits.iter().any(|limit| limit.name == amount.limit) {
            return Ok(debit);
        }
        let stored = shards.iter().find_map(|shard| shard.limit(&amount.limit));
        let length_seconds = stored.ok_or_else(|| Error::unknown_limit(&amount.limit))?.reset_after_seconds;
        Ok(Self { length_seconds, ..debit })
    }

    /// The window's length, ms; none for a drip.
    pub(crate) fn length_ms(&self) -> Option<i64> {
        self.length_seconds.map(length_ms)
    }

    /// Millitokens of the limit `name` in `debits`.
    pub(crate) fn milli_of(debits: &[Self], name: &str) -> i128 {
        debits.iter().find(|debit| &*debit.limit == name).map_or(0, |debit| debit.milli)
    }
}
