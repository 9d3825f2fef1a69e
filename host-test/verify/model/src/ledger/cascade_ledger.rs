//! The ledger of one cascade: what it was debited on each level, what it credited, and the replies.
//!
//! A debit whose reply was lost is not recorded here: the caller may have paid for it without an answer.

use std::collections::BTreeMap;

use super::violation::Violation;
use crate::{
    parent::stamped_parent,
    quota::Quota,
    setting::Setting,
    store::{Key, Landed, Store},
};

/// What one cascade was debited, and the replies it got.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct CascadeLedger {
    /// What was debited and has not been credited.
    pub(super) debits: Vec<Debit>,
    /// The last reply of each entity, by its place.
    pub(super) replies: BTreeMap<u8, LevelReply>,
    /// A credit was refused and the reply that says so is lost: its tokens stay debited (K2 allows it).
    pub(super) lost_refusal: bool,
}

/// What was debited on one shard and has not been credited.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Debit {
    pub(super) key: Key,
    /// The parent that the item named at that moment.
    pub(super) parent: Option<String>,
    /// The start of the window it was debited in.
    start: i128,
    pub(super) milli: i128,
}

/// The reply to a call on one entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LevelReply {
    /// It was debited.
    Debited,
    /// It was not debited: all shards together held less than the amount.
    Short,
    /// It was not debited, though all shards together held the amount.
    Enough,
    /// The reply is lost.
    Lost,
}

impl Debit {
    /// Whether it can no longer be credited: the window is over by the client's clock, or the shard is
    /// in another window, or dropped.
    pub(super) fn is_over(&self, setting: &Setting, store: &Store, clock_ms: i64) -> bool {
        let length_ms = setting.owner(&self.key).map_or(0, |place| setting.entity(place).length_ms());
        let start = store.get(&self.key).and_then(|item| Quota::of(item).start);
        i128::from(clock_ms) >= self.start + i128::from(length_ms) || start != Some(self.start)
    }

    /// Checks a credit for it that lands.
    ///
    /// # Errors
    /// I1: it lands in another window.
    pub(crate) fn check_credit(&self, landed: &Landed) -> Result<(), Violation> {
        let mut ledger = CascadeLedger { debits: vec![self.clone()], ..CascadeLedger::default() };
        ledger.record(std::slice::from_ref(landed)).map(drop)
    }
}

/// The window a write credits, and the millitokens; negative: a debit.
fn credited(landed: &Landed) -> (Option<i128>, i128) {
    let before = landed.before.as_deref().map(Quota::of);
    let consumed = before.as_ref().map_or(0, |before| before.consumed);
    (before.and_then(|before| before.applied), consumed - Quota::of(&landed.after).consumed)
}

impl CascadeLedger {
    /// Records the reply to a call on an entity.
    pub(crate) fn replied(&mut self, place: u8, reply: LevelReply) {
        self.replies.insert(place, reply);
    }

    /// A credit is refused, and the reply that says so is lost.
    pub(crate) fn refusal_lost(&mut self) {
        self.lost_refusal = true;
    }

    /// Records what an answered write, or a credit, changed; true: it was a debit.
    ///
    /// # Errors
    /// I1: something is credited that was not debited.
    pub(crate) fn record(&mut self, landed: &[Landed]) -> Result<bool, Violation> {
        let mut debited = false;
        for write in landed.iter().filter(|write| write.key.1 == "#STATE") {
            let (window, credit_milli) = credited(write);
            if credit_milli > 0 {
                self.remove(&write.key, credit_milli, |debit| window == Some(debit.start))?;
            } else if credit_milli < 0 {
                debited = true;
                // The parent that a created item names is checked with the write (K4).
                let item = write.before.as_ref().unwrap_or(&write.after);
                self.debits.push(Debit {
                    key: write.key.clone(),
                    parent: stamped_parent(item).map(Into::into),
                    start: Quota::of(&write.after).start.unwrap_or(0),
                    milli: -credit_milli,
                });
            }
        }
        Ok(debited)
    }

    /// Removes the debit for which a credit is on its way.
    ///
    /// # Errors
    /// I1: there was no such debit.
    pub(crate) fn credit_sent(&mut self, key: &Key, milli: i128) -> Result<Debit, Violation> {
        self.remove(key, milli, |_| true)
    }

    /// Removes the last debit of that shard and amount.
    fn remove(&mut self, key: &Key, milli: i128, is_it: impl Fn(&Debit) -> bool) -> Result<Debit, Violation> {
        let like = |debit: &Debit| debit.key == *key && debit.milli == milli;
        match self.debits.iter().rposition(|debit| like(debit) && is_it(debit)) {
            Some(index) => Ok(self.debits.remove(index)),
            None if self.debits.iter().any(like) => {
                Err(Violation::new("I1", format!("a credit of another window landed on {}", key.0)))
            }
            None => Err(Violation::new("I1", format!("{} is credited what was not debited", key.0))),
        }
    }
}
