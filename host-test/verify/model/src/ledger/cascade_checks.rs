//! What a cascade's answer must agree with: K1, K2, K3, I8 and R9.

use onewindow::{CascadeDecision, LevelDecision, Outcome};

use super::{
    cascade_ledger::{CascadeLedger, Debit, LevelReply},
    violation::Violation,
};
use crate::{setting::Setting, store::Store};

impl CascadeLedger {
    /// What must be true of an answer, once its credits are on their way.
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
        if let Some(debit) = self.debits.iter().find(|debit| !is_over(debit) && !self.lost_refusal) {
            let how = format!("refused, and {} was not credited {} millitokens", debit.key.0, debit.milli);
            return Err(Violation::new("K2", how));
        }
        if decision.levels.iter().any(|level| level.lease.is_some()) {
            return Err(Violation::new("K2", "refused, with a lease".into()));
        }
        self.check_named(setting, decision)?;
        self.check_wait(setting, clock_ms, decision)
    }

    /// K1: every level was debited by exactly the amount, and the levels are those that the debited
    /// items named.
    fn check_admitted(
        &self,
        setting: &Setting,
        decision: &CascadeDecision,
        is_over: impl Fn(&&Debit) -> bool,
    ) -> Result<(), Violation> {
        let wrong = |how: String| Err(Violation::new("K1", format!("admitted, and {how}")));
        let amount = i128::from(setting.amount) * 1000;
        let mut unassigned: Vec<&Debit> = self.debits.iter().collect();
        let above = decision.levels.iter().skip(1).map(|level| Some(level.entity.as_str()));
        for (level, parent) in decision.levels.iter().zip(above.chain([None])) {
            let entity = level.entity.as_str();
            let place = setting.place(entity);
            let (own, others): (Vec<_>, Vec<_>) =
                unassigned.into_iter().partition(|debit| setting.owner(&debit.key) == place);
            unassigned = others;
            let all: i128 = own.iter().map(|debit| debit.milli).sum();
            let live: i128 = own.iter().filter(|debit| !is_over(debit)).map(|debit| debit.milli).sum();
            if all < amount || live > amount {
                return wrong(format!("{entity} was debited by {all} millitokens"));
            }
            if let Some(debit) = own.iter().find(|debit| debit.parent.as_deref() != parent) {
                return wrong(format!("{entity} names the parent {:?}, not {parent:?}", debit.parent));
            }
            if level.lease.is_none() {
                return wrong(format!("{entity} has no lease"));
            }
        }
        match unassigned.iter().find(|debit| !is_over(debit)) {
            Some(debit) => wrong(format!("{} was not credited {} millitokens", debit.key.0, debit.milli)),
            None => Ok(()),
        }
    }

    /// K3: the last reply of the level that the answer names agrees with the outcome.
    fn check_named(&self, setting: &Setting, decision: &CascadeDecision) -> Result<(), Violation> {
        let wrong = |how: String| Err(Violation::new("K3", how));
        let Some(level) = decision.levels.get(decision.decided_by) else {
            return wrong(format!("there is no level {}", decision.decided_by));
        };
        let reply = self.last_reply(setting, level);
        let amount = i64::try_from(setting.amount).unwrap_or(i64::MAX);
        match (&decision.outcome, reply) {
            (Outcome::Rejected { .. }, Some(LevelReply::Enough)) => {
                let how = format!("{} rejects, while all its shards together hold enough", level.entity);
                Err(Violation::new("R9", how))
            }
            // If the window ended before the answer, the limit counts as restored.
            (Outcome::Rejected { .. }, Some(LevelReply::Short))
                if level
                    .limits
                    .iter()
                    .any(|limit| limit.available < amount || limit.resets_at_ms.is_none()) =>
            {
                Ok(())
            }
            (Outcome::Unavailable(_), Some(LevelReply::Lost))
            | (Outcome::Contended { .. }, Some(LevelReply::Short | LevelReply::Enough)) => Ok(()),
            (outcome, reply) => {
                wrong(format!("{} is named for {outcome:?}, and its last reply was {reply:?}", level.entity))
            }
        }
    }

    /// I8: the retry delay ends when the last of the levels is restored that were short, and not later.
    fn check_wait(
        &self,
        setting: &Setting,
        clock_ms: i64,
        decision: &CascadeDecision,
    ) -> Result<(), Violation> {
        let Outcome::Rejected { retry_after_ms } = decision.outcome else { return Ok(()) };
        let now_ms = u64::try_from(clock_ms).unwrap_or(0);
        let is_short = |level: &&LevelDecision| self.last_reply(setting, level) == Some(LevelReply::Short);
        let short = decision.levels.iter().filter(is_short).flat_map(|level| &level.limits);
        // What is restored by now may be asked for after 1 ms.
        let restored_ms = short.filter_map(|limit| limit.resets_at_ms).fold(now_ms + 1, u64::max);
        if now_ms + retry_after_ms != restored_ms {
            let wait_ms = restored_ms - now_ms;
            let how = format!(
                "the retry delay is {retry_after_ms} ms, and all levels are restored in {wait_ms} ms"
            );
            return Err(Violation::new("I8", how));
        }
        Ok(())
    }
    fn last_reply(&self, setting: &Setting, level: &LevelDecision) -> Option<LevelReply> {
        self.replies.get(&setting.place(&level.entity)?).copied()
    }
}
