//! A planned join, and its transaction.

use alloc::{sync::Arc, vec, vec::Vec};

use super::{candidate::Candidate, owner::owner_check};
use crate::{
    item::Owner,
    rule::materialise::{Debit, Materialisation},
    types::subject::Subject,
    write::ConditionalWrite,
};

/// A planned join.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Join {
    /// The slot's new state.
    pub materialisation: Materialisation,
    /// The quotas that a donor funds, and with how many millitokens.
    pub funded: Vec<(Arc<str>, i128)>,
    /// The conditions on each candidate, and its changes: the raised count, the debit.
    pub candidates: Vec<Candidate>,
}

impl Join {
    /// Whether a donor funds the quota, even with 0 tokens.
    #[must_use]
    pub fn is_funded(&self, limit: &str) -> bool {
        self.funded.iter().any(|(name, _)| &**name == limit)
    }

    /// Whether tokens move: then the transaction is written even where it admits nothing (R8).
    #[must_use]
    pub fn moves(&self) -> bool {
        self.funded.iter().any(|(_, milli)| *milli > 0)
    }

    /// The slot's new state, and the writes of its transaction in this order: the slot, its candidates and,
    /// for a new item, the condition on the entity's own record.
    #[must_use]
    pub fn into_writes(
        self,
        subject: &Subject,
        owner: Option<&Owner>,
        debits: &[Debit],
    ) -> (Materialisation, Vec<ConditionalWrite>) {
        let mut writes =
            vec![self.materialisation.write(subject, owner.unwrap_or(&Owner::default()), debits)];
        writes.extend(self.candidates.into_iter().map(|candidate| candidate.write(subject)));
        if self.materialisation.read().is_none() {
            writes.push(owner_check(subject, owner));
        }
        (self.materialisation, writes)
    }
}
