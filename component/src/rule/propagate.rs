//! The opener's writes to its siblings (R2): the start and a mark, never tokens.

use alloc::{borrow::Cow, sync::Arc, vec, vec::Vec};

use crate::{
    item::Field,
    rule::window::{length_ms, newest_ended_ms},
    types::key::STATE_SK,
    types::subject::Subject,
    write::{Action, Change, ConditionalWrite, Term, Test},
};

/// A window that was opened on one shard and is propagated to the others.
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
    let ended = newest_ended_ms(window.start_ms, length_ms(window.length_seconds));
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
            // Neither term holds on an item that does not exist.
            vec![
                Term::exists(of(Field::WindowApplied)),
                Term::compare(Field::LastRefill, Test::Less, window.start_ms),
            ],
            Term::unless_absent(of(Field::WindowStart), Test::AtMost, ended),
        ],
    }
}
