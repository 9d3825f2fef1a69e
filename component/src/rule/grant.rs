//! Which donor funds a shard that is created in the middle of a window (R8), so that no tokens are created
//! that another shard may hold.

use alloc::vec::Vec;

use crate::{item::LimitState, rule::balance::share, types::subject::MAX_SHARD_COUNT};

/// What a grant depends on of a sibling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sibling {
    /// Its slot.
    pub shard: u32,
    /// Whether its grant belongs to the joined window.
    pub current: bool,
    /// The shard count at which its grant was sized, at least 1.
    pub grant_count: i128,
    /// What it holds, millitokens.
    pub tokens_milli: i128,
}

/// What a new shard starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Grant {
    /// Its balance, millitokens; debited from the donor where there is one.
    pub tokens_milli: i128,
    /// The donor. None: the slot was never granted, and the balance is new.
    pub donor: Option<Sibling>,
}

/// Plans the grant of slot `shard`, whose share is `share_milli`.
///
/// A sibling covers the slot when its grant is of this window and was sized before the slot was
/// split off it. The donor is the one with the largest grant count, then the lowest id.
#[must_use]
pub fn plan(shard: u32, share_milli: i128, siblings: &[Sibling]) -> Grant {
    let slot = i128::from(shard);
    let covers = |sibling: &&Sibling| {
        sibling.current
            && sibling.shard != shard
            && slot.rem_euclid(sibling.grant_count.max(1))
                == i128::from(sibling.shard).rem_euclid(sibling.grant_count.max(1))
    };
    let donor = siblings
        .iter()
        .filter(covers)
        .max_by_key(|sibling| (sibling.grant_count, core::cmp::Reverse(sibling.shard)))
        .copied();
    let tokens_milli = match donor {
        Some(donor) => donor.tokens_milli.min(share_milli).max(0),
        None => share_milli,
    };
    Grant { tokens_milli, donor }
}

/// The siblings that could cover slot `shard` of `shard_count`, lowest first: at most five.
///
/// Shard 0 covers itself under every count; its candidates are the first shard of each doubling.
/// Where shard 0 is re-created (`is_new`), the count was lost with the old item, and the last doubling
/// may have reached no other shard: then, once any doubling is known, the first shard of every possible
/// one is a candidate.
#[must_use]
pub fn candidates(shard: u32, shard_count: u32, is_new: bool) -> Vec<u32> {
    let known = match (shard, shard_count) {
        (0, ..=1) => 2,
        (0, _) if is_new => MAX_SHARD_COUNT,
        _ => shard_count,
    };
    let mut found = Vec::new();
    let powers = core::iter::successors(Some(1_u32), |power| power.checked_mul(2));
    for power in powers.take_while(|power| *power < known) {
        let candidate = if shard == 0 { power } else { shard.checked_rem(power).unwrap_or(shard) };
        // A remainder by a larger power is never smaller.
        if candidate != shard && found.last() != Some(&candidate) {
            found.push(candidate);
        }
    }
    found
}

/// The shard count at which a sibling's grant was sized: its `gc`. Where an old item has none, the count
/// that it stores, halved while the item holds more than the share at that count.
#[must_use]
pub fn grant_count(limit: &LimitState, shard_count: u32) -> i128 {
    let mut count = limit.grant_count_or(shard_count);
    if limit.grant_count.is_none() {
        while count > 1 && limit.tokens_milli > share(limit.capacity_milli, count) {
            count = count.div_euclid(2);
        }
    }
    count
}
