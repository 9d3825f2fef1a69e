//! The locked write (6.3), for what is due: a window to open (R1), a pending reset (R4), a refill (R12).

use alloc::vec::Vec;

use super::{Acquire, State};
use crate::{
    item::Owner,
    rule::{
        materialise::{Debit, Materialisation},
        propagate, shard_count,
    },
    types::answer::Step,
    write::Images,
};

impl Acquire {
    pub(super) fn locked(&mut self, materialisation: Materialisation) -> Step {
        let write = materialisation.write(&self.request.subject, &Owner::default(), &self.debits);
        self.state = State::Locked(materialisation);
        self.perform(&write)
    }

    /// The write landed: the items now hold what was planned.
    pub(super) fn locked_landed(&mut self, parts: &[(Materialisation, Vec<Debit>)]) -> Step {
        let mut parts_after = Vec::with_capacity(parts.len());
        for (materialisation, debits) in parts {
            self.propagate(materialisation);
            parts_after.push((materialisation.after(debits), debits.clone()));
        }
        self.admitted_on(&parts_after)
    }

    /// The opener propagates its windows to its siblings, after the answer (R2).
    pub(super) fn propagate(&mut self, materialisation: &Materialisation) {
        let subject = &self.request.subject;
        let count = self.shard_count.max(shard_count::legal(materialisation.shard_count));
        let writes = propagate::writes(subject, materialisation.id, count, &materialisation.opened());
        let calls = writes.iter().map(|write| write.call(&subject.table, Images::Neither));
        self.follow_ups.extend(calls);
    }
}
