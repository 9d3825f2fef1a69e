//! An entity's books: who took what in which window, and the invariants they must satisfy.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use onewindow::{LimitStatus, Outcome};

use crate::{
    entity::Entity,
    store::{Item, Landed, Value},
    world::{number, told},
};

/// A broken invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// `I1` to `I10`, or another of those that the README names.
    pub invariant: &'static str,
    /// How.
    pub how: String,
}

impl Violation {
    pub(crate) fn new(invariant: &'static str, how: String) -> Self {
        Self { invariant, how }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.invariant, self.how)
    }
}

/// Who wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Actor {
    /// One of our clients, on its way to a decision.
    Acquire,
    /// One of our clients, after it.
    FollowUp,
    /// That client of ours, settling what it was lent.
    Settle(u8),
    /// One of our clients, giving back what it took on the way to a decision that is no admission.
    GiveBack,
}

/// What a client may give back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Loan {
    /// The start of the window it was taken from.
    start: i128,
    /// Millitokens.
    milli: i128,
}

/// What was taken in which window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ledger {
    /// Millitokens, by the window's start.
    taken: BTreeMap<i128, i128>,
    /// Spent by old writers of shards whose reset is pending, millitokens.
    pending: BTreeMap<String, i128>,
    /// Which shard was reset for which start (I2).
    resets: BTreeSet<(String, i128)>,
    /// The starts that were opened, and how often.
    opened: BTreeMap<i128, u8>,
    /// What each client may still give back.
    loans: BTreeMap<u8, Loan>,
    /// Whether anything went wrong that convergence does not promise to survive.
    faulty: bool,
}

/// The quota on one item.
pub(crate) struct Quota {
    tokens: i128,
    pub(crate) consumed: i128,
    pub(crate) start: Option<i128>,
    marker: Option<i128>,
    /// The start its balance reflects.
    pub(crate) applied: Option<i128>,
    refill: i128,
    /// How many shards its grant was sized for.
    granted: i128,
}

impl Quota {
    pub(crate) fn of(item: &Item) -> Self {
        let refill = match item.get("rf") {
            Some(Value::Number(refill)) => *refill,
            _ => 0,
        };
        let start = number(item, "ws");
        let marker = number(item, "wa");
        Self {
            tokens: number(item, "tk").unwrap_or(0),
            consumed: number(item, "tc").unwrap_or(0),
            start,
            marker,
            applied: marker.or(start.filter(|start| *start <= refill)),
            refill,
            granted: number(item, "gc").unwrap_or(1),
        }
    }

    /// R3.
    fn is_pending(&self) -> bool {
        self.start.is_some_and(|start| self.applied.is_none_or(|applied| start > applied))
    }
}

impl Ledger {
    /// Empty books. `faulty`: convergence is not promised from the start.
    #[must_use]
    pub fn new(faulty: bool) -> Self {
        Self { faulty, ..Self::default() }
    }

    /// A shard is gone, and with it what was spent of its pending reset.
    pub(crate) fn forget(&mut self, shard: &str) {
        self.pending.remove(shard);
    }

    /// A client settles what it took from the window that began at `start`.
    pub fn lend(&mut self, client: u8, start: i128, milli: i128) {
        self.loans.insert(client, Loan { start, milli });
    }

    /// Something went wrong.
    pub(crate) fn fault(&mut self) {
        self.faulty = true;
    }

    /// Books what one of ours wrote.
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
                // Whoever joins while an opener tells the shards it knew of is not told.
                self.faulty = true;
                self.take(entity, start, after.consumed)?;
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
        let taken = after.consumed - before.consumed;
        match actor {
            Actor::Settle(client) => return self.settle(entity, client, shard, before, taken),
            // That it took it, and in which window, is for its own account to say.
            Actor::GiveBack => return self.take(entity, before.applied.unwrap_or(0), taken),
            Actor::Acquire | Actor::FollowUp => {}
        }
        if taken < 0 {
            return Err(Violation::new("I4", format!("tc fell on {shard}")));
        }
        let reset = after.applied > before.applied && after.refill > before.refill;
        if after.start != before.start {
            // What was spent of the reset that is now overtaken was of the window before.
            self.pending.remove(shard);
        }
        if !reset {
            return match before.applied {
                Some(applied) if !before.is_pending() => self.take(entity, applied, taken),
                // No write of ours is to take from a balance that waits for its reset.
                _ => self.take(entity, after.start.unwrap_or(0), taken),
            };
        }
        let old = self.pending.remove(shard).unwrap_or_default();
        let start = after.start.unwrap_or(0);
        if !self.resets.insert((shard.into(), start)) {
            return Err(Violation::new("I2", format!("{shard} was reset twice for one window")));
        }
        let mut charged = taken;
        if before.start == after.start {
            // A roll: what was spent since the propagation is charged; an old writer's excess over
            // the share stands (I1's exception).
            let share = entity.capacity_milli().div_euclid(entity.shard_count.into());
            charged += old.clamp(0, share);
        } else {
            *self.opened.entry(start).or_default() += 1;
        }
        self.take(entity, start, charged)
    }

    /// 6.8: what was used beyond the estimate is the caller's and on record; less is given back
    /// once, and only into the window it was taken from.
    fn settle(
        &mut self,
        entity: &Entity,
        client: u8,
        shard: &str,
        before: &Quota,
        taken: i128,
    ) -> Result<(), Violation> {
        if taken >= 0 {
            return Ok(());
        }
        let applied = before.applied.unwrap_or(0);
        let Some(loan) = self.loans.get_mut(&client) else {
            return Err(Violation::new("I4", format!("tc fell on {shard}")));
        };
        if (applied - loan.start).abs() >= i128::from(entity.length_ms()) {
            return Err(Violation::new("I1", format!("a credit of another window landed on {shard}")));
        }
        loan.milli += taken;
        if loan.milli < 0 {
            return Err(Violation::new("I1", format!("a credit landed twice on {shard}")));
        }
        self.take(entity, applied, taken)
    }

    /// Books what an old writer wrote: what it spends of a pending shard is charged by the roll.
    pub(crate) fn observe_old(&mut self, landed: &[Landed]) {
        for write in landed {
            let Some(before) = &write.before else { continue };
            let (before, after) = (Quota::of(before), Quota::of(&write.after));
            let taken = after.consumed - before.consumed;
            if before.is_pending() {
                *self.pending.entry(write.key.0.clone()).or_default() += taken;
            } else if let Some(applied) = before.applied {
                *self.taken.entry(applied).or_default() += taken;
            }
        }
    }

    /// I1: starts less than one length apart count as one window.
    fn take(&mut self, entity: &Entity, start: i128, milli: i128) -> Result<(), Violation> {
        if milli == 0 {
            return Ok(());
        }
        *self.taken.entry(start).or_default() += milli;
        let length = i128::from(entity.length_ms());
        for first in self.taken.keys() {
            let sum: i128 = self.taken.range(*first..*first + length).map(|(_, milli)| milli).sum();
            if sum > entity.capacity_milli() {
                let at = i64::try_from(*first).unwrap_or(0);
                return Err(Violation::new(
                    "I1",
                    format!(
                        "{} of {} tokens in the window that began at {}",
                        sum.div_euclid(1000),
                        entity.capacity,
                        told(at)
                    ),
                ));
            }
        }
        Ok(())
    }

    /// I8: an instant that is told lies ahead, and no further than one length.
    pub(crate) fn check_instant(
        &self,
        entity: &Entity,
        clock_ms: i64,
        outcome: &Outcome,
        limits: &[LimitStatus],
    ) -> Result<(), Violation> {
        let bound = clock_ms + entity.length_ms();
        let instants = limits.iter().filter_map(|limit| limit.resets_at_ms);
        for instant in instants.filter_map(|instant| i64::try_from(instant).ok()) {
            if instant <= clock_ms || instant > bound {
                return Err(Violation::new(
                    "I8",
                    format!("at {} the reset told is {}", told(clock_ms), told(instant)),
                ));
            }
        }
        match outcome {
            Outcome::Rejected { retry_after_ms: 0 } => {
                Err(Violation::new("I8", "told to come back at once".into()))
            }
            _ => Ok(()),
        }
    }

    /// I3: nothing went wrong, nobody is on the way, and no two openers met: one start everywhere.
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
            return Err(Violation::new("I3", format!("shards rest at {} different starts", starts.len())));
        }
        Ok(())
    }
}

/// I10.
fn foreign_survives(before: &Item, after: &Item) -> Result<(), Violation> {
    if before.get("foreign") == after.get("foreign") {
        return Ok(());
    }
    Err(Violation::new("I10", "an attribute that is not ours changed".into()))
}

/// I6: a transaction that makes a shard mints its share or moves what a donor held; never both.
fn conserved(entity: &Entity, landed: &[Landed]) -> Result<(), Violation> {
    let Some(made) = landed.iter().find(|write| write.before.is_none()) else { return Ok(()) };
    let made = Quota::of(&made.after);
    let given = made.tokens + made.consumed;
    let paid: i128 = landed
        .iter()
        .filter_map(|write| Some(Quota::of(write.before.as_ref()?).tokens - Quota::of(&write.after).tokens))
        .sum();
    let share = entity.capacity_milli().div_euclid(made.granted.max(1));
    if paid == given || (paid == 0 && given <= share) {
        return Ok(());
    }
    Err(Violation::new(
        "I6",
        format!("a shard was made with {given} millitokens, and {paid} were paid for it"),
    ))
}
