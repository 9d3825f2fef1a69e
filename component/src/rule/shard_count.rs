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

/// The largest power of two, 1 to 32, that is not above `count`. Any other count was not written by these
/// rules; the next lower power of two is what its shards can be trusted to cover.
pub(crate) fn legal(count: u32) -> u32 {
    1 << count.clamp(1, MAX_SHARD_COUNT).ilog2()
}

/// The count that an item proves (R4): the stored one, or the size of a grant on it that is larger.
///
/// Another writer may seed a quota that is sized at 16 shards onto an item that stores 8, and leave the 8.
/// A reset at 8 would grant again what the shards added by the doubling to 16 were granted.
pub(crate) fn proven(shard: &Shard) -> u32 {
    let granted = shard.limits.iter().filter_map(|limit| u32::try_from(limit.grant_count?).ok()).max();
    shard.shard_count.max(granted.map_or(1, legal))
}

/// The largest legal count that `known` and these items prove.
pub(crate) fn largest<'a>(known: u32, shards: impl IntoIterator<Item = &'a Shard>) -> u32 {
    shards.into_iter().map(|shard| legal(proven(shard))).fold(known, u32::max)
}

/// The count that a hint holds for `subject`. None: the hint is about another subject, or the count is not
/// a legal one.
pub(crate) fn remembered(hint: Option<&Hint>, subject: &Subject) -> Option<u32> {
    let hint = hint.filter(|hint| hint.key == subject.hint_key())?;
    Some(hint.shard_count).filter(|count| *count == legal(*count))
}

/// The condition that the stored count is `count`. An absent count, or one below 1, counts as 1.
pub(crate) fn is(count: u32) -> Vec<Term> {
    if count == 1 {
        return Term::unless_absent(Field::ShardCount.into(), Test::AtMost, 1);
    }
    vec![Term::compare(Field::ShardCount, Test::Equal, count)]
}
