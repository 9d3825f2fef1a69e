//! A sibling's part of a join.

use alloc::{borrow::Cow, vec, vec::Vec};

use crate::{
    item::{Field, LimitState, Shard},
    rule::{balance::share, grant, shard_count},
    types::{key::STATE_SK, subject::Subject},
    write::{Action, Change, Clauses, ConditionalWrite, Term, Test},
};

/// A sibling's part of the transaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Candidate {
    /// Its slot.
    pub shard: u32,
    /// The raised count and the debit. Empty: the write only checks the conditions.
    pub changes: Vec<Change>,
    /// The conditions: the sibling is as it was read.
    pub clauses: Vec<Vec<Term>>,
}

impl Candidate {
    /// The write on a candidate: where it stores a smaller count, the count is raised.
    pub(super) fn raised(sibling: &Shard, shard_count: u32) -> Self {
        let behind = sibling.shard_count < shard_count;
        Self {
            shard: sibling.id,
            changes: behind.then(|| Change::set(Field::ShardCount, shard_count)).into_iter().collect(),
            clauses: vec![vec![Term::exists(Field::Pk)], shard_count::is(sibling.shard_count)],
        }
    }

    /// Adds the conditions on what the grant of one quota was planned from, and the debit of a move.
    pub(super) fn pin(&mut self, sibling: &Shard, seeded: &LimitState, amount: i128) {
        if seeded.reset_after_seconds.is_none() {
            return;
        }
        let of = |field: Field| field.of(&seeded.name);
        let Some(state) = sibling.limit(&seeded.name) else {
            // It may carry a start from a propagation; it only has to hold no balance.
            self.clauses.require(Term::absent(of(Field::Tokens)));
            return;
        };
        self.clauses.require(Term::as_read(of(Field::WindowStart), state.window_start_ms));
        self.clauses.require(Term::as_read(of(Field::WindowApplied), state.window_applied_ms));
        self.clauses.require(Term::as_read(of(Field::GrantCount), state.grant_count));
        if state.window_start_ms.is_some() && state.window_applied_ms.is_none() {
            // Without the marker, `rf` decides whether the window is applied.
            self.clauses.require(Term::compare(Field::LastRefill, Test::Equal, sibling.last_refill_ms));
        }
        if state.grant_count.is_none() {
            let count = grant::grant_count(state, sibling.shard_count);
            // The size was derived from the balance: after a credit it would be another.
            self.clauses.require(Term::compare(
                of(Field::Tokens),
                Test::AtMost,
                share(state.capacity_milli, count).max(state.tokens_milli),
            ));
            if !self.changes.is_empty() {
                self.changes.push(Change::set(of(Field::GrantCount), count));
            }
        }
        if amount > 0 {
            self.clauses.require(Term::compare(of(Field::Tokens), Test::AtLeast, amount));
            self.changes.push(Change::add(of(Field::Tokens), amount.saturating_neg()));
        }
    }

    /// The candidate's write.
    #[must_use]
    pub fn write(self, subject: &Subject) -> ConditionalWrite {
        ConditionalWrite {
            pk: subject.bucket_pk(self.shard),
            sk: Cow::Borrowed(STATE_SK),
            action: if self.changes.is_empty() { Action::Check } else { Action::Update(self.changes) },
            clauses: self.clauses,
        }
    }
}
