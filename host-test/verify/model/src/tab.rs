//! A cascade's own account: what it was told it took and gave back, and what its answer must agree
//! with.
//!
//! A debit whose reply was lost is not on it: the caller may have paid for that one in vain, and no
//! one knows. Everything else comes out even.

use std::collections::BTreeMap;

use onewindow::{CascadeDecision, LevelDecision, Outcome};

use crate::{
    entity::stamped_parent,
    ledger::{Quota, Violation},
    setting::Setting,
    store::{Key, Landed, Store},
};

/// What one cascade took and what it heard.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Tab {
    debits: Vec<Debit>,
    /// The last that was heard of each entity, by its place.
    heard: BTreeMap<u8, Heard>,
    /// The reply to a credit that was refused is lost, so that its tokens stay taken.
    excused: bool,
}

/// What was taken from one shard and has not been given back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Debit {
    key: Key,
    /// Whom the item debits besides, at that moment.
    under: Option<String>,
    /// The start of the window it was taken from.
    start: i128,
    milli: i128,
}

/// What a call to an entity came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Heard {
    /// It took.
    Took,
    /// It took nothing, and all shards together held less than the amount.
    Short,
    /// It took nothing, though there was enough.
    Enough,
    /// Its reply is lost.
    Nothing,
}

impl Debit {
    /// Whether there is nothing any more that it could be given back to: the window is over by the
    /// client's clock, or the shard is in another one, or gone.
    fn is_over(&self, setting: &Setting, store: &Store, clock_ms: i64) -> bool {
        let length_ms = setting.owner(&self.key).map_or(0, |place| setting.entity(place).length_ms());
        let start = store.get(&self.key).and_then(|item| Quota::of(item).start);
        i128::from(clock_ms) >= self.start + i128::from(length_ms) || start != Some(self.start)
    }

    /// A credit for it lands.
    ///
    /// # Errors
    /// I1: it lands in another window.
    pub(crate) fn check_credit(&self, landed: &Landed) -> Result<(), Violation> {
        let mut tab = Tab { debits: vec![self.clone()], ..Tab::default() };
        tab.book(std::slice::from_ref(landed)).map(drop)
    }
}

/// The window a write gives back into, and what it gives back.
fn credited(landed: &Landed) -> (Option<i128>, i128) {
    let before = landed.before.as_deref().map(Quota::of);
    let consumed = before.as_ref().map_or(0, |before| before.consumed);
    (before.and_then(|before| before.applied), consumed - Quota::of(&landed.after).consumed)
}

impl Tab {
    /// What a call to an entity came to.
    pub(crate) fn hear(&mut self, place: u8, heard: Heard) {
        self.heard.insert(place, heard);
    }

    /// The reply to a refused credit is lost.
    pub(crate) fn excuse(&mut self) {
        self.excused = true;
    }

    /// Books an answered write, or a credit; true: it took.
    ///
    /// # Errors
    /// I1: something is given back that was not taken.
    pub(crate) fn book(&mut self, landed: &[Landed]) -> Result<bool, Violation> {
        let mut took = false;
        for write in landed.iter().filter(|write| write.key.1 == "#STATE") {
            let (window, given_back) = credited(write);
            if given_back > 0 {
                self.remove(&write.key, given_back, |debit| window == Some(debit.start))?;
            } else if given_back < 0 {
                took = true;
                // What an item that is made anew says of its parent is for the ledger to see.
                let stamps = write.before.as_ref().unwrap_or(&write.after);
                self.debits.push(Debit {
                    key: write.key.clone(),
                    under: stamped_parent(stamps).map(Into::into),
                    start: Quota::of(&write.after).start.unwrap_or(0),
                    milli: -given_back,
                });
            }
        }
        Ok(took)
    }

    /// Takes a debit off the tab, for which a credit is on its way.
    ///
    /// # Errors
    /// I1: nothing like it was taken there.
    pub(crate) fn promise(&mut self, key: &Key, milli: i128) -> Result<Debit, Violation> {
        self.remove(key, milli, |_| true)
    }

    /// The last of the debits like that.
    fn remove(&mut self, key: &Key, milli: i128, is_it: impl Fn(&Debit) -> bool) -> Result<Debit, Violation> {
        let like = |debit: &Debit| debit.key == *key && debit.milli == milli;
        match self.debits.iter().rposition(|debit| like(debit) && is_it(debit)) {
            Some(index) => Ok(self.debits.remove(index)),
            None if self.debits.iter().any(like) => {
                Err(Violation::new("I1", format!("a credit of another window landed on {}", key.0)))
            }
            None => Err(Violation::new("I1", format!("{} is given back what was not taken", key.0))),
        }
    }

    /// What must be true of an answer, once everything is on its way that will be.
    ///
    /// # Errors
    /// K1, K2, K3, I8 or R9.
    pub(crate) fn check(
        &self,
        setting: &Setting,
        store: &Store,
        clock_ms: i64,
        decision: &CascadeDecision,
    ) -> Result<(), Violation> {
        let is_over = |debit: &&Debit| debit.is_over(setting, store, clock_ms);
        if decision.outcome.is_admitted() {
            return self.check_admitted(setting, decision, is_over);
        }
        if let Some(debit) = self.debits.iter().find(|debit| !is_over(debit) && !self.excused) {
            let how = format!("refused, and {} keeps {} millitokens", debit.key.0, debit.milli);
            return Err(Violation::new("K2", how));
        }
        if decision.levels.iter().any(|level| level.lease.is_some()) {
            return Err(Violation::new("K2", "refused, with a lease".into()));
        }
        self.check_named(setting, decision)?;
        self.check_wait(setting, clock_ms, decision)
    }

    /// K1: every level was debited by exactly the amount, and they are the levels that the items
    /// themselves named.
    fn check_admitted(
        &self,
        setting: &Setting,
        decision: &CascadeDecision,
        is_over: impl Fn(&&Debit) -> bool,
    ) -> Result<(), Violation> {
        let wrong = |how: String| Err(Violation::new("K1", format!("admitted, and {how}")));
        let amount = i128::from(setting.amount) * 1000;
        let mut strangers: Vec<&Debit> = self.debits.iter().collect();
        let above = decision.levels.iter().skip(1).map(|level| Some(level.entity.as_str()));
        for (level, parent) in decision.levels.iter().zip(above.chain([None])) {
            let entity = level.entity.as_str();
            let place = setting.place(entity);
            let (own, others): (Vec<_>, Vec<_>) =
                strangers.into_iter().partition(|debit| setting.owner(&debit.key) == place);
            strangers = others;
            let all: i128 = own.iter().map(|debit| debit.milli).sum();
            let live: i128 = own.iter().filter(|debit| !is_over(debit)).map(|debit| debit.milli).sum();
            if all < amount || live > amount {
                return wrong(format!("{entity} was debited by {all} millitokens"));
            }
            if let Some(debit) = own.iter().find(|debit| debit.under.as_deref() != parent) {
                return wrong(format!("{entity} debits {:?} besides, not {parent:?}", debit.under));
            }
            if level.lease.is_none() {
                return wrong(format!("{entity} has no lease"));
            }
        }
        match strangers.iter().find(|debit| !is_over(debit)) {
            Some(debit) => wrong(format!("{} keeps {} millitokens", debit.key.0, debit.milli)),
            None => Ok(()),
        }
    }

    /// K3: the level that the answer names said so itself.
    fn check_named(&self, setting: &Setting, decision: &CascadeDecision) -> Result<(), Violation> {
        let wrong = |how: String| Err(Violation::new("K3", how));
        let Some(level) = decision.levels.get(decision.decided_by) else {
            return wrong(format!("there is no level {}", decision.decided_by));
        };
        let heard = setting.place(&level.entity).and_then(|place| self.heard.get(&place));
        let amount = i64::try_from(setting.amount).unwrap_or(i64::MAX);
        match (&decision.outcome, heard) {
            (Outcome::Rejected { .. }, Some(Heard::Enough)) => {
                let how = format!("{} rejects, while all its shards together hold enough", level.entity);
                Err(Violation::new("R9", how))
            }
            // Where the window ended before the answer was told, it counts as restored.
            (Outcome::Rejected { .. }, Some(Heard::Short))
                if level
                    .limits
                    .iter()
                    .any(|limit| limit.available < amount || limit.resets_at_ms.is_none()) =>
            {
                Ok(())
            }
            (Outcome::Unavailable(_), Some(Heard::Nothing))
            | (Outcome::Contended { .. }, Some(Heard::Short | Heard::Enough)) => Ok(()),
            (outcome, heard) => {
                wrong(format!("{} is named for {outcome:?}, and was heard: {heard:?}", level.entity))
            }
        }
    }

    /// I8: who comes back when told meets no level that said no and is not restored yet, and has not
    /// waited longer than for all of them.
    fn check_wait(
        &self,
        setting: &Setting,
        clock_ms: i64,
        decision: &CascadeDecision,
    ) -> Result<(), Violation> {
        let Outcome::Rejected { retry_after_ms } = decision.outcome else { return Ok(()) };
        let now_ms = u64::try_from(clock_ms).unwrap_or(0);
        let said_no = |level: &&LevelDecision| {
            setting.place(&level.entity).and_then(|place| self.heard.get(&place)) == Some(&Heard::Short)
        };
        let refusing = decision.levels.iter().filter(said_no).flat_map(|level| &level.limits);
        // What is restored by now may be asked for at once.
        let restored_ms = refusing.filter_map(|limit| limit.resets_at_ms).fold(now_ms + 1, u64::max);
        if now_ms + retry_after_ms != restored_ms {
            let wait_ms = restored_ms - now_ms;
            let how =
                format!("told to come back in {retry_after_ms} ms, and all are restored in {wait_ms} ms");
            return Err(Violation::new("I8", how));
        }
        Ok(())
    }
}
