//! The opener's writes to its siblings (R2): the start and a mark, never tokens.

use alloc::{borrow::Cow, sync::Arc, vec, vec::Vec};

use crate::{
    item::Field,
    types::key::STATE_SK,
    types::subject::Subject,
    write::{Action, Change, ConditionalWrite, Term, Test},
};

/// A window that a pass opened, for its siblings to hear of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Opened {
    /// The quota.
    pub limit: Arc<str>,
    /// Its length, seconds.
    pub length_seconds: i64,
    /// The new start, ms.
    pub start_ms: i64,
}

/// One write for each other shard below `shard_count` and each opened window: two windows on one
/// item may be due at different instants.
#[must_use]
pub fn writes(subject: &Subject, opener: u32, shard_count: u32, opened: &[Opened]) -> Vec<ConditionalWrite> {
    let mut writes = Vec::new();
    for shard in (0..shard_count).filter(|shard| *shard != opener) {
        writes.extend(opened.iter().map(|window| write(subject, shard, window)));
    }
    writes
}

fn write(subject: &Subject, shard: u32, window: &Opened) -> ConditionalWrite {
    let of = |field: Field| field.of(&window.limit);
    // A sibling whose own window had not ended by the new start keeps it: concurrent openers must
    // not reset each other.
    let newest_ended = window.start_ms.saturating_sub(window.length_seconds.saturating_mul(1000));
    ConditionalWrite {
        pk: subject.bucket_pk(shard),
        sk: Cow::Borrowed(STATE_SK),
        action: Action::Update(vec![
            Change::set(of(Field::WindowStart), window.start_ms),
            Change::set(of(Field::ResetAfter), window.length_seconds),
            Change::set(Field::ValidUntil, 0),
            Change::snapshot(of(Field::ConsumedMark), of(Field::Consumed)),
        ]),
        clauses: vec![
            // Neither holds on an item that does not exist.
            vec![
                Term::exists(of(Field::WindowApplied)),
                Term::compare(Field::LastRefill, Test::Less, window.start_ms),
            ],
            Term::unless_absent(of(Field::WindowStart), Test::AtMost, newest_ended),
        ],
    }
}
