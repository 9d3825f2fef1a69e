//! Which shards serve a request, alone or together.

use alloc::vec::Vec;
use core::mem;

use super::{shards::ShardSurvey, slot::Slot};
use crate::{
    item::Owner,
    rule::{
        fast,
        join::Join,
        materialise::{Debit, Materialisation, Settings},
    },
    types::subject::Subject,
    write::{ConditionalWrite, merge},
};

/// How a request that one shard cannot serve is served.
pub(crate) enum Placement {
    /// By one existing shard, with a fast write.
    Fast(u32),
    /// By one existing shard, with a locked write.
    Locked(Materialisation),
    /// By a slot that is created for it.
    Created(Join),
    /// By several shards in one transaction.
    Gathered(Vec<(Materialisation, Vec<Debit>)>, Vec<ConditionalWrite>),
}

impl ShardSurvey<'_> {
    /// The shards that serve the request. None: no shards can. Shards that serve are removed from the survey.
    pub(crate) fn serve(&mut self, subject: &Subject, owner: Option<&Owner>) -> Option<Placement> {
        // The fullest first; of equals, one that exists, then the lowest.
        let mut fullest = None;
        for (index, slot) in self.slots.iter().enumerate() {
            let fit = (slot.headroom(self.debits), slot.is_whole);
            if slot.join.materialisation.admits(self.debits) && fullest.is_none_or(|(best, _)| fit > best) {
                fullest = Some((fit, index));
            }
        }
        let Some((_, index)) = fullest else { return self.gather(subject, owner) };
        let Slot { id, join, is_whole } = self.slots.swap_remove(index);
        Some(if is_fast(&join.materialisation, self.debits, &self.settings) {
            Placement::Fast(id)
        } else if is_whole {
            Placement::Locked(join.materialisation)
        } else {
            Placement::Created(join)
        })
    }

    /// Debits several shards, the fullest first and as few as serve.
    ///
    /// A slot that is missing and would be funded by a donor adds nothing that the donor does
    /// not hold; one that was never granted adds its share.
    fn gather(&mut self, subject: &Subject, owner: Option<&Owner>) -> Option<Placement> {
        // The debits on each slot.
        let mut parts: Vec<Vec<Debit>> = self.slots.iter().map(|_| Vec::new()).collect();
        for debit in self.debits {
            let mut holders: Vec<(i128, &mut Vec<Debit>)> = Vec::new();
            for (slot, part) in self.slots.iter().zip(&mut parts) {
                let held = slot.gatherable_milli(&debit.limit);
                let place = holders.partition_point(|(other, _)| *other >= held);
                holders.insert(place, (held, part));
            }
            // Slots that hold nothing come last: what is missing by then is on no slot.
            let mut missing = debit.milli;
            for (held, part) in holders {
                if missing > 0 {
                    part.push(Debit { milli: held.min(missing), ..debit.clone() });
                    missing = missing.saturating_sub(held);
                }
            }
            if missing > 0 {
                return None;
            }
        }
        if self.debits.iter().any(|debit| debit.milli == 0 && self.is_in_debt(&debit.limit)) {
            return None;
        }
        let mut writes: Vec<ConditionalWrite> = Vec::new();
        let mut neighbours = Vec::new();
        let mut materialisations = Vec::new();
        for (slot, debits) in mem::take(&mut self.slots).into_iter().zip(parts) {
            if debits.is_empty() {
                continue;
            }
            let materialisation = if is_fast(&slot.join.materialisation, &debits, &self.settings) {
                writes.push(fast::write(subject, slot.id, &debits, &self.settings));
                slot.join.materialisation.reverted()
            } else {
                let (materialisation, joining) = slot.join.into_writes(subject, owner, &debits);
                let mut joining = joining.into_iter();
                writes.extend(joining.next());
                neighbours.extend(joining);
                materialisation
            };
            materialisations.push((materialisation, debits));
        }
        // A shard's own write is added before what the join of another shard changes on it.
        neighbours.into_iter().for_each(|write| merge(&mut writes, write));
        Some(Placement::Gathered(materialisations, writes))
    }

    /// A slot whose join moves tokens from its donor, so that they can be gathered afterwards.
    pub(crate) fn take_moving_join(&mut self) -> Option<Join> {
        let index = self.slots.iter().position(|slot| slot.join.moves())?;
        Some(self.slots.swap_remove(index).join)
    }
}

/// Whether a fast write is enough.
fn is_fast(materialisation: &Materialisation, debits: &[Debit], settings: &Settings<'_>) -> bool {
    materialisation.read().is_some_and(|shard| fast::obstacle(shard, debits, settings).is_none())
}
