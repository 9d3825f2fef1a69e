//! What a limit is, as configured.

use alloc::{borrow::ToOwned, string::String};

use super::{error::Error, name::check_limit_name};
use crate::text::{decimal, quoted};
#[cfg(feature = "wasmtime")]
use wasmtime::component::{ComponentType, Lift, Lower};

/// Tokens an input may name at most, so that millitokens and their products stay in range.
pub const MAX_TOKENS: u64 = 1_000_000_000_000_000;
/// Seconds a period or a window may last at most.
pub const MAX_SECONDS: u64 = 1_000_000_000;

/// The latest clock reading that is accepted, ms: the year 9999.
const FARTHEST_NOW_MS: u64 = 253_402_300_799_999;

/// A configured limit on one bucket.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wasmtime", derive(ComponentType, Lift, Lower), component(record))]
pub struct Limit {
    /// 1 to 64 characters, `[A-Za-z][A-Za-z0-9_.\-]*`, never `wcu`.
    pub name: String,
    /// Tokens an entity may hold over all of its shards, 1 to 10^15.
    pub capacity: u64,
    /// How it recovers its capacity.
    pub recovery: Recovery,
}

/// How a limit recovers its capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wasmtime", derive(ComponentType, Lift, Lower), component(variant))]
pub enum Recovery {
    /// A session quota: the whole capacity at once, this many seconds after the first use: 1 to 10^9.
    #[cfg_attr(feature = "wasmtime", component(name = "session"))]
    Session(u64),
    /// A drip (a token bucket): steadily.
    #[cfg_attr(feature = "wasmtime", component(name = "drip"))]
    Drip(Drip),
}

/// The rate of a drip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wasmtime", derive(ComponentType, Lift, Lower), component(record))]
pub struct Drip {
    /// Tokens that refill each period, 1 to 10^15.
    #[cfg_attr(feature = "wasmtime", component(name = "refill-amount"))]
    pub refill_amount: u64,
    /// The period, 1 to 10^9 seconds.
    #[cfg_attr(feature = "wasmtime", component(name = "refill-period-seconds"))]
    pub refill_period_seconds: u64,
}

impl Limit {
    /// A session quota of `capacity` tokens each `length_seconds` from the first use.
    #[must_use]
    pub fn session(name: &str, capacity: u64, length_seconds: u64) -> Self {
        Self { name: name.to_owned(), capacity, recovery: Recovery::Session(length_seconds) }
    }

    /// A token bucket of `capacity` tokens, refilled by `refill_amount` each period.
    #[must_use]
    pub fn drip(name: &str, capacity: u64, refill_amount: u64, refill_period_seconds: u64) -> Self {
        Self {
            name: name.to_owned(),
            capacity,
            recovery: Recovery::Drip(Drip { refill_amount, refill_period_seconds }),
        }
    }

    /// Checks the name and the bounds.
    ///
    /// # Errors
    /// `invalid-request` names what is out of bounds.
    pub fn check(&self) -> Result<(), Error> {
        check_limit_name(&self.name)?;
        let bounded = |what: &str, read: u64, most: u64| {
            if (1..=most).contains(&read) {
                return Ok(());
            }
            let (name, read, most) = (quoted(&self.name), decimal(read), decimal(most));
            Err(Error::invalid(&["limit ", &name, ": ", what, " is ", &read, ", expected 1 to ", &most]))
        };
        bounded("capacity", self.capacity, MAX_TOKENS)?;
        match self.recovery {
            Recovery::Session(length_seconds) => {
                bounded("window length in seconds", length_seconds, MAX_SECONDS)
            }
            Recovery::Drip(Drip { refill_amount, refill_period_seconds }) => {
                bounded("refill amount", refill_amount, MAX_TOKENS)?;
                bounded("refill period in seconds", refill_period_seconds, MAX_SECONDS)
            }
        }
    }

    pub(crate) fn length_seconds(&self) -> Option<i64> {
        match self.recovery {
            Recovery::Session(length_seconds) => i64::try_from(length_seconds).ok(),
            Recovery::Drip(_) => None,
        }
    }
}

/// Tokens of one limit, by its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wasmtime", derive(ComponentType, Lift, Lower), component(record))]
pub struct Amount {
    /// The limit.
    pub limit: String,
    /// Whole tokens. Any number: more than the capacity is answered with [`Outcome::NeverFits`](crate::Outcome::NeverFits).
    pub tokens: u64,
}

impl Amount {
    /// `tokens` of `limit`.
    #[must_use]
    pub fn new(limit: &str, tokens: u64) -> Self {
        Self { limit: limit.to_owned(), tokens }
    }

    pub(crate) fn milli(&self) -> i128 {
        milli(self.tokens)
    }
}

/// Whole tokens as millitokens.
pub(crate) fn milli(tokens: u64) -> i128 {
    i128::from(tokens).saturating_mul(1000)
}

/// A clock reading to which a window can be added without overflow.
pub(crate) fn instant_ms(now_ms: u64) -> Result<i64, Error> {
    i64::try_from(now_ms).ok().filter(|_| now_ms <= FARTHEST_NOW_MS).ok_or_else(|| {
        let (read, most) = (decimal(now_ms), decimal(FARTHEST_NOW_MS));
        Error::invalid(&["the clock reads ", &read, " ms, expected at most ", &most])
    })
}
