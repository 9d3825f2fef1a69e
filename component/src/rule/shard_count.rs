//! How many shards an entity's bucket has: powers of two up to 32, which only ever double (6.9).

use alloc::{vec, vec::Vec};

use crate::{
    item::{Field, Shard},
    types::{
        hint::Hint,
        subject::{MAX_SHARD_COUNT, Subject},
    },
    write::{Term, Test},
};

/// The nearest legal count that is not larger. Another count was not written by these rules; the next
/// lower power of two is what its shards can be trusted to cover.
pub(crate) fn legal(count: u32) -> u32 {
    1 << count.clamp(1, MAX_SHARD_COUNT).ilog2()
}

/// The count that an item proves (R4): the stored one, or the size of a grant on it that is larger.
///
/// Another writer may seed a quota sized at 16 shards onto an item whose writer knew of 8, and leave
/// the count as it is. The next reset at 8 would grant again what the shards that were split off since
/// then were granted.
pub(crate) fn proven(shard: &Shard) -> u32 {
    let granted = shard.limits.iter().filter_map(|limit| u32::try_from(limit.grant_count?).ok()).max();
    shard.shard_count.max(granted.map_or(1, legal))
}

/// The largest legal count that `known` and these items prove.
pub(crate) fn largest<'a>(known: u32, shards: impl IntoIterator<Item = &'a Shard>) -> u32 {
    shards.into_iter().map(|shard| legal(proven(shard))).fold(known, u32::max)
}

/// The count that a hint remembers of `subject`; none: it is about another, or the count is not legal.
pub(crate) fn remembered(hint: Option<&Hint>, subject: &Subject) -> Option<u32> {
    let hint = hint.filter(|hint| hint.key == subject.hint_key())?;
    Some(hint.shard_count).filter(|count| *count == legal(*count))
}

/// The stored count is `count`: an item without one counts as 1, and so does one that stores less.
pub(crate) fn is(count: u32) -> Vec<Term> {
    if count == 1 {
        return Term::unless_absent(Field::ShardCount.into(), Test::AtMost, 1);
    }
    vec![Term::compare(Field::ShardCount, Test::Equal, count)]
}
