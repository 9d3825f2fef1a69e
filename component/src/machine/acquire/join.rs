//! A shard that is created, or a limit that is seeded (6.5, 6.6): the join and its races.

use alloc::{vec, vec::Vec};

use super::{Acquire, Next, State};
use crate::{
    item::{Attributes, Shard},
    rule::{
        grant::candidates,
        join::{self, Join, Reading},
        materialise::{Materialisation, check_unscheduled},
    },
    types::{answer::Step, key::META_SK},
    wire::Reason,
    write::{batch_read, transaction},
};

impl Acquire {
    pub(super) fn create(&mut self, shard: u32) -> Next {
        if shard == 0 && self.shard_count == 1 && self.parent.is_none() {
            // No sibling is known: the transaction's conditions show whether there is one.
            return self.join(shard, None, Vec::new());
        }
        self.read_siblings(shard, None)
    }

    pub(super) fn seed(&mut self, shard: u32, own: Shard) -> Next {
        if self.shard_count == 1 {
            return self.join(shard, Some(own), Vec::new());
        }
        self.read_siblings(shard, Some(own))
    }

    fn read_siblings(&mut self, shard: u32, own: Option<Shard>) -> Next {
        self.tries.begin_join()?;
        let subject = &self.request.subject;
        let mut keys = subject.bucket_keys(&self.sibling_ids(shard, own.is_none()));
        keys.push((subject.entity_pk(), META_SK));
        let call = batch_read(&subject.table, &keys, true);
        self.state = State::Siblings { shard, own };
        Ok(Step::Perform(vec![call]))
    }

    /// The slot itself, shard 0 and the candidates.
    fn sibling_ids(&self, shard: u32, is_new: bool) -> Vec<u32> {
        let mut ids = candidates(shard, self.shard_count, is_new);
        if ids.first() != Some(&0) {
            ids.insert(0, 0);
        }
        // Its candidates are smaller.
        ids.extend(Some(shard).filter(|shard| *shard != 0));
        ids
    }

    pub(super) fn siblings_read(
        &mut self,
        shard: u32,
        own: Option<Shard>,
        items: &[Attributes<'_>],
        incomplete: bool,
    ) -> Next {
        if incomplete {
            return self.read_siblings(shard, own);
        }
        let record = items.iter().find(|item| item.is_entity_record());
        self.owner = record.map(Attributes::owner).transpose()?;
        let mut siblings = Attributes::shards(items)?;
        let known = self.sibling_ids(shard, own.is_none());
        self.learn_count_from(&siblings);
        if self.sibling_ids(shard, own.is_none()) != known {
            // A sibling knows of more shards, so more of them could cover the slot.
            return self.read_siblings(shard, own);
        }
        let fresh = siblings.iter().position(|sibling| sibling.id == shard);
        let fresh = fresh.map(|index| siblings.swap_remove(index));
        if own.is_none() && fresh.is_some() {
            // Another writer created it.
            return self.fast(shard);
        }
        self.join(shard, fresh, siblings)
    }

    fn join(&mut self, shard: u32, own: Option<Shard>, siblings: Vec<Shard>) -> Next {
        if own.is_none() && (self.owner.is_some() || self.parent.is_some()) {
            let owner = self.owner.clone().unwrap_or_default();
            self.check_parent(owner.cascade == Some(true), owner.parent_id.as_deref())?;
        }
        for shard in siblings.iter().chain(&own) {
            self.check_served(shard)?;
            check_unscheduled(shard)?;
        }
        let reading = Reading {
            slot: shard,
            own: own.as_ref(),
            siblings: &siblings,
            shard_count: self.shard_count,
            named: &self.debits,
        };
        let join = join::plan(&reading, &self.settings())?;
        let admits = join.materialisation.admits(&self.debits);
        if !admits && !join.moves() {
            // A rejection writes nothing, so it opens nothing (R1).
            return self.survey();
        }
        Ok(self.send_join(join, siblings, admits))
    }

    pub(super) fn send_join(&mut self, join: Join, siblings: Vec<Shard>, admits: bool) -> Step {
        let debits = if admits { self.debits.as_slice() } else { &[] };
        let (materialisation, writes) = join.into_writes(&self.request.subject, self.owner.as_ref(), debits);
        self.state = State::Joining { materialisation, siblings, admits };
        Step::Perform(vec![transaction(&self.request.subject.table, &writes)])
    }

    pub(super) fn joined(&mut self, materialisation: Materialisation, admits: bool) -> Next {
        self.learn_count(materialisation.shard_count);
        if admits {
            return Ok(self.locked_landed(&[(materialisation, self.debits.clone())]));
        }
        // The move is written although the request is not admitted here; another shard may serve it.
        self.propagate(&materialisation);
        self.survey()
    }

    pub(super) fn join_cancelled(
        &mut self,
        materialisation: Materialisation,
        siblings: Vec<Shard>,
        reasons: &[Reason<'_>],
    ) -> Next {
        let (shard, own) = (materialisation.id, materialisation.into_read());
        let failed = |index: usize| reasons.get(index).is_some_and(|reason| reason.failed);
        if failed(0) {
            // The slot itself has changed: plan from the returned image, or start over.
            return match reasons.first().and_then(|reason| reason.item.as_ref()) {
                Some(image) => {
                    self.tries.begin_round()?;
                    self.fast_refused(shard, Some(image))
                }
                None => self.fast(shard),
            };
        }
        let last = reasons.len().saturating_sub(1);
        let others_hold = (0..last).all(|index| !failed(index));
        if own.is_none() && failed(last) && others_hold {
            // Only the entity's own record is not as expected. The reply returned it.
            self.tries.begin_join()?;
            self.owner = None;
            self.learn_from_reasons(reasons)?;
            return self.join(shard, own, siblings);
        }
        self.learn_from_reasons(reasons)?;
        self.read_siblings(shard, own)
    }

    /// What cancelled a transaction: an entity's own record that is not as expected, or a shard. The
    /// shard may store a larger count than the plan used.
    pub(super) fn learn_from_reasons(&mut self, reasons: &[Reason<'_>]) -> Next<()> {
        for item in reasons.iter().filter_map(|reason| reason.item.as_ref()) {
            if item.is_entity_record() {
                self.owner = Some(item.owner()?);
            } else {
                self.learn_count_from([&item.shard()?]);
            }
        }
        Ok(())
    }
}
