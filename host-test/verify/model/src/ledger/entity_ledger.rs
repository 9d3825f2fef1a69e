//! The ledger of one entity: what was debited in which window. It checks I1 to I5 and I7.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    actor::Actor,
    item_checks::{conserved, foreign_survives},
    violation::Violation,
};
use crate::{
    quota::{Quota, number},
    setting::Entity,
    store::{Item, Landed},
    time::since_start,
};

/// What a settlement may still credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Creditable {
    /// The start of the window it was debited in.
    start: i128,
    /// Millitokens.
    milli: i128,
}

/// An entity's debits by window, and what else the invariants need of its history.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ledger {
    /// Millitokens debited, by the window's start.
    debited: BTreeMap<i128, i128>,
    /// Spent by old writers of shards whose reset is pending, millitokens.
    pending: BTreeMap<String, i128>,
    /// Which shard was reset for which start (I2).
    resets: BTreeSet<(String, i128)>,
    /// The starts of windows that were opened, and how often.
    opened: BTreeMap<i128, u8>,
    /// What each client's settlement may still credit.
    creditable: BTreeMap<u8, Creditable>,
    /// Whether something went wrong after which convergence (I3) is not promised.
    faulty: bool,
}

impl Ledger {
    /// An empty ledger. `faulty`: convergence is not promised from the start.
    #[must_use]
    pub fn new(faulty: bool) -> Self {
        Self { faulty, ..Self::default() }
    }

    /// A shard is dropped, and with it what was spent while its reset was pending.
    pub(crate) fn forget(&mut self, shard: &str) {
        self.pending.remove(shard);
    }

    /// A client begins to settle: it may credit what it was debited in the window that began at `start`.
    pub fn allow_credit(&mut self, client: u8, start: i128, milli: i128) {
        self.creditable.insert(client, Creditable { start, milli });
    }

    /// Something went wrong after which convergence is not promised.
    pub(crate) fn fault(&mut self) {
        self.faulty = true;
    }

    /// Records what a client of ours wrote.
    ///
    /// # Errors
    /// The invariant it breaks.
    pub fn observe(&mut self, entity: &Entity, actor: Actor, landed: &[Landed]) -> Result<(), Violation> {
        for write in landed.iter().filter(|write| write.key.1 == "#STATE") {
            let Some(before) = &write.before else {
                let after = Quota::of(&write.after);
                let start = after.start.unwrap_or(0);
                if after.refill == start {
                    *self.opened.entry(start).or_default() += 1;
                }
                // A window may be propagated at this moment, by a client that does not know of this shard.
                self.faulty = true;
                self.debit(entity, start, after.consumed)?;
                continue;
            };
            foreign_survives(before, &write.after)?;
            self.update(entity, actor, &write.key.0, &Quota::of(before), &Quota::of(&write.after))?;
        }
        conserved(entity, landed)
    }

    fn update(
        &mut self,
        entity: &Entity,
        actor: Actor,
        shard: &str,
        before: &Quota,
        after: &Quota,
    ) -> Result<(), Violation> {
        if after.start < before.start || after.marker < before.marker {
            return Err(Violation::new("I4", format!("a start went back on {shard}")));
        }
        if after.refill < before.refill {
            return Err(Violation::new("I4", format!("rf went back on {shard}")));
        }
        if after.marker.is_some() && after.marker > after.start {
            return Err(Violation::new("I5", format!("wa is later than ws on {shard}")));
        }
        if actor == Actor::FollowUp && after.tokens != before.tokens {
            return Err(Violation::new("I7", format!("a follow-up moved tokens on {shard}")));
        }
        let debited = after.consumed - before.consumed;
        match actor {
            Actor::Settle(client) => return self.settle(entity, client, shard, before, debited),
            // That it was debited, and in which window, is checked by the cascade's own ledger.
            Actor::Credit => return self.debit(entity, before.applied.unwrap_or(0), debited),
            Actor::Acquire | Actor::FollowUp => {}
        }
        if debited < 0 {
            return Err(Violation::new("I4", format!("tc fell on {shard}")));
        }
        let reset = after.applied > before.applied && after.refill > before.refill;
        if after.start != before.start {
            // What was spent while that reset was pending belongs to the window before.
            self.pending.remove(shard);
        }
        if !reset {
            return match before.applied {
                Some(applied) if !before.is_pending() => self.debit(entity, applied, debited),
                // No write of ours may debit a balance whose reset is pending.
                _ => self.debit(entity, after.start.unwrap_or(0), debited),
            };
        }
        let old = self.pending.remove(shard).unwrap_or_default();
        let start = after.start.unwrap_or(0);
        if !self.resets.insert((shard.into(), start)) {
            return Err(Violation::new("I2", format!("{shard} was reset twice for one window")));
        }
        let mut charged = debited;
        if before.start == after.start {
            // The reset follows a propagation: what was spent since then is charged. An old writer's
            // excess over the share stands (I1's exception).
            let share = entity.capacity_milli().div_euclid(entity.shard_count.into());
            charged += old.clamp(0, share);
        } else {
            *self.opened.entry(start).or_default() += 1;
        }
        self.debit(entity, start, charged)
    }

    /// 6.8: what was used beyond the estimate is a debt of the caller. What was not used is credited
    /// once, and only in the window it was debited in.
    fn settle(
        &mut self,
        entity: &Entity,
        client: u8,
        shard: &str,
        before: &Quota,
        debited: i128,
    ) -> Result<(), Violation> {
        if debited >= 0 {
            return Ok(());
        }
        let applied = before.applied.unwrap_or(0);
        let Some(creditable) = self.creditable.get_mut(&client) else {
            return Err(Violation::new("I4", format!("tc fell on {shard}")));
        };
        if (applied - creditable.start).abs() >= i128::from(entity.length_ms()) {
            return Err(Violation::new("I1", format!("a credit of another window landed on {shard}")));
        }
        creditable.milli += debited;
        if creditable.milli < 0 {
            return Err(Violation::new("I1", format!("a credit landed twice on {shard}")));
        }
        self.debit(entity, applied, debited)
    }

    /// Records what an old writer wrote. What it spends while a reset is pending is charged by the reset.
    pub(crate) fn observe_old(&mut self, landed: &[Landed]) {
        for write in landed {
            let Some(before) = &write.before else { continue };
            let (before, after) = (Quota::of(before), Quota::of(&write.after));
            let debited = after.consumed - before.consumed;
            if before.is_pending() {
                *self.pending.entry(write.key.0.clone()).or_default() += debited;
            } else if let Some(applied) = before.applied {
                *self.debited.entry(applied).or_default() += debited;
            }
        }
    }

    /// I1: starts less than one length apart count as one window.
    fn debit(&mut self, entity: &Entity, start: i128, milli: i128) -> Result<(), Violation> {
        if milli == 0 {
            return Ok(());
        }
        *self.debited.entry(start).or_default() += milli;
        let length = i128::from(entity.length_ms());
        for first in self.debited.keys() {
            let sum: i128 = self.debited.range(*first..*first + length).map(|(_, milli)| milli).sum();
            if sum > entity.capacity_milli() {
                let at = i64::try_from(*first).unwrap_or(0);
                return Err(Violation::new(
                    "I1",
                    format!(
                        "{} of {} tokens in the window that began at {}",
                        sum.div_euclid(1000),
                        entity.capacity,
                        since_start(at)
                    ),
                ));
            }
        }
        Ok(())
    }

    /// I3: nothing went wrong, no call is on its way, and no two openers met: all shards have one start.
    pub(crate) fn check_convergence<'a>(
        &self,
        entity: &Entity,
        items: impl Iterator<Item = &'a Item>,
    ) -> Result<(), Violation> {
        let opened: Vec<_> = self.opened.iter().collect();
        let met = opened.iter().any(|(_, times)| **times > 1)
            || opened.windows(2).any(|pair| pair[1].0 - pair[0].0 < i128::from(entity.length_ms()));
        if self.faulty || met {
            return Ok(());
        }
        let starts: BTreeSet<_> = items.map(|item| number(item, "ws")).collect();
        if starts.len() > 1 {
            return Err(Violation::new("I3", format!("the shards have {} different starts", starts.len())));
        }
        Ok(())
    }
}
