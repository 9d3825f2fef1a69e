//! Debiting an entity and all entities above it, or none of them (section 7).
//!
//! ```text
//! levels known from before ──▶ one machine a level, their calls side by side
//!   ├─ a level's items name another parent ──▶ the chain restarts from there
//!   ├─ all admit ──▶ admitted, with a lease a level
//!   └─ one refuses ─▶ what the others admitted is credited; then the answer names who refused
//! ```
//!
//! Each level has shards and windows of its own: a level is an [`Acquire`](crate::Acquire) that debits
//! only items which debit the same parent. A cascade whose chain is known takes one round trip in the
//! steady state. Between its debit and its credit a level is charged too much, never too little.

mod level;
mod phase;
mod release;

use alloc::{string::String, vec::Vec};
use core::{cmp::Reverse, mem};

pub use self::level::MAX_LEVELS;
use self::{
    level::{Level, State},
    phase::Phase,
    release::Releases,
};
use crate::{
    machine::acquire::Contended,
    types::{
        answer::{Call, Decision, Outcome, Reply, Step},
        cascade::{CascadeDecision, LevelDecision},
        error::Error,
        lease::Lease,
        request::AcquireRequest,
    },
};

/// How many times a chain that keeps changing is restarted.
const MAX_RESTARTS: u32 = 12;

/// The machine that debits a chain of entities. See the [crate's](crate) loop.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cascade {
    levels: Vec<Level>,
    restarts: u32,
    /// Leases of entities that turned out not to be in the chain.
    orphaned: Vec<Lease>,
    follow_ups: Vec<Call>,
    phase: Phase,
}

impl Cascade {
    /// A machine for one request. `levels` is the entity's own request and one for each entity above it
    /// that is known from the last time ([`CascadeDecision::levels`]); the machine finds the others
    /// itself. All levels are on one table. A level above the first whose `limits` are empty reads its
    /// own configuration, and where the table has none uses the first level's. Each level debits those
    /// amounts of `consume` that its limits name.
    #[must_use]
    pub fn new(levels: Vec<AcquireRequest>) -> Self {
        let fallback = levels.first().map(|request| request.limits.clone()).unwrap_or_default();
        // From the last, above which no entity is known, to the first.
        let mut planned = Vec::new();
        let mut parent = None;
        for (index, request) in levels.into_iter().enumerate().rev() {
            let entity = request.subject.entity.clone();
            planned.push(match (index, request.limits.is_empty()) {
                (0, _) => Level::acquiring(request, parent),
                (_, true) => {
                    Level::configuring(AcquireRequest { limits: fallback.clone(), ..request }, parent)
                }
                (_, false) => Level::acquiring(request.of_known(), parent),
            });
            parent = Some(entity);
        }
        planned.reverse();
        Self {
            levels: planned,
            restarts: 0,
            orphaned: Vec::new(),
            follow_ups: Vec::new(),
            phase: Phase::Start,
        }
    }

    /// Reads the replies to the calls of the step before, and returns the next step. `now_ms` is one
    /// reading of the host's clock, epoch milliseconds.
    #[must_use = "a step holds the calls to make, or the decision"]
    pub fn advance(&mut self, now_ms: u64, replies: &[Reply]) -> Step<CascadeDecision> {
        let phase = mem::replace(&mut self.phase, Phase::Done);
        if let Err(error) = phase.check(&self.levels, replies.len()) {
            return self.failed(error);
        }
        match phase {
            Phase::Crediting(releases) => self.release(releases, now_ms, replies),
            _ => self.debit(now_ms, replies),
        }
    }

    fn debit(&mut self, now_ms: u64, replies: &[Reply]) -> Step<CascadeDecision> {
        let mut rest = replies;
        let mut calls = Vec::new();
        for level in &mut self.levels {
            let own = mem::take(&mut level.calls);
            let (mine, others) = rest.split_at_checked(own).unwrap_or((rest, &[]));
            rest = others;
            calls.push(level.step(now_ms, mine));
        }
        while let Some(index) = self.levels.iter().position(|level| level.other_parent().is_some()) {
            self.restart_from(index, now_ms, &mut calls);
        }
        let mut all = Vec::new();
        for (level, own) in self.levels.iter_mut().zip(calls) {
            level.calls = own.len();
            all.extend(own);
        }
        if !all.is_empty() {
            self.phase = Phase::Debiting;
            return Step::Perform(all);
        }
        let refusal = self.refusal();
        let mut leases = Vec::new();
        if refusal.is_some() {
            leases.extend(self.levels.iter().filter_map(Level::lease));
        }
        leases.append(&mut self.orphaned);
        let mut releases = Releases::of(self.table(), &leases);
        if refusal.is_some_and(|index| self.is_unavailable(index)) {
            // The deadline may be over, and a credit sent before the answer would be lost too.
            self.follow_ups.extend(releases.advance(now_ms, &[]));
            return Step::Done(self.decide(now_ms));
        }
        self.release(releases, now_ms, &[])
    }

    fn table(&self) -> &str {
        self.levels.first().map_or("", |level| &level.request.subject.table)
    }

    /// The credits come before the answer: a caller who asks again finds them.
    fn release(&mut self, mut releases: Releases, now_ms: u64, replies: &[Reply]) -> Step<CascadeDecision> {
        let calls = releases.advance(now_ms, replies);
        if calls.is_empty() {
            return Step::Done(self.decide(now_ms));
        }
        self.phase = Phase::Crediting(releases);
        Step::Perform(calls)
    }

    /// The items of a level debit another parent than expected: the levels above it leave the chain.
    fn restart_from(&mut self, index: usize, now_ms: u64, calls: &mut Vec<Vec<Call>>) {
        self.restarts = self.restarts.saturating_add(1);
        for above in self.levels.split_off(index.saturating_add(1)) {
            self.orphaned.extend(above.lease());
            self.follow_ups.extend(above.state.into_follow_ups());
        }
        calls.truncate(index);
        let chain: Vec<String> =
            self.levels.iter().map(|level| level.request.subject.entity.clone()).collect();
        let template = self.levels.first().map(|level| level.request.clone()).unwrap_or_default();
        let Some(level) = self.levels.get_mut(index) else { return };
        let parent = level.other_parent().unwrap_or_default();
        self.follow_ups.extend(mem::replace(&mut level.state, State::Configuring).into_follow_ups());
        let cause = match &parent {
            Some(parent) if chain.contains(parent) => Some("the chain of parents leads back into itself"),
            Some(_) if chain.len() >= MAX_LEVELS => Some("the chain of parents is longer than 8 entities"),
            _ => None,
        };
        if let Some(cause) = cause {
            level.end(Error::unsupported(cause).into());
            return calls.push(Vec::new());
        }
        if self.restarts > MAX_RESTARTS {
            level.end(Contended.into());
            return calls.push(Vec::new());
        }
        level.restart(parent.clone());
        calls.push(level.step(now_ms, &[]));
        if let Some(parent) = parent {
            let mut level = Level::configuring(template.of_parent(&parent), None);
            calls.push(level.step(now_ms, &[]));
            self.levels.push(level);
        }
    }

    /// The level whose refusal is the answer: of a kind that waiting helps least, then with the longest wait.
    fn refusal(&self) -> Option<usize> {
        let weight = |outcome: &Outcome| match outcome {
            Outcome::Admitted(_) => 0,
            Outcome::Contended { .. } => 1,
            Outcome::Rejected { .. } => 2,
            Outcome::NeverFits { .. } => 3,
            Outcome::Disabled => 4,
            Outcome::Unavailable(_) => 5,
            Outcome::Failed(_) => 6,
            Outcome::Misconfigured(_) => 7,
        };
        let wait = |outcome: &Outcome| match outcome {
            Outcome::Rejected { retry_after_ms } => *retry_after_ms,
            _ => 0,
        };
        let refusing = self.levels.iter().enumerate().filter_map(|(index, level)| match &level.state {
            State::Decided(Decision { outcome, .. }) if !outcome.is_admitted() => {
                Some((weight(outcome), wait(outcome), Reverse(index)))
            }
            _ => None,
        });
        refusing.max().map(|(_, _, Reverse(index))| index)
    }

    fn is_unavailable(&self, index: usize) -> bool {
        let state = self.levels.get(index).map(|level| &level.state);
        matches!(state, Some(State::Decided(Decision { outcome: Outcome::Unavailable(_), .. })))
    }

    fn decide(&mut self, now_ms: u64) -> CascadeDecision {
        self.levels.iter_mut().for_each(|level| level.bring_up_to_date(now_ms));
        let refusal = self.refusal();
        let mut outcome = None;
        let mut levels = Vec::new();
        for (index, level) in mem::take(&mut self.levels).into_iter().enumerate() {
            let entity = level.request.subject.entity.clone();
            let State::Decided(mut decision) = level.state else { continue };
            self.follow_ups.append(&mut decision.follow_ups);
            let lease = match &decision.outcome {
                Outcome::Admitted(lease) if refusal.is_none() && !lease.parts.is_empty() => {
                    Some(lease.clone())
                }
                _ => None,
            };
            if index == refusal.unwrap_or(0) {
                outcome = Some(decision.outcome);
            }
            levels.push(LevelDecision { entity, limits: decision.limits, lease, hint: decision.hint });
        }
        CascadeDecision {
            outcome: outcome.unwrap_or_else(|| Error::misuse("the machine has already decided").into()),
            decided_by: refusal.unwrap_or(0),
            levels,
            follow_ups: mem::take(&mut self.follow_ups),
        }
    }

    fn failed(&mut self, error: Error) -> Step<CascadeDecision> {
        self.levels.clear();
        Step::Done(CascadeDecision {
            outcome: error.into(),
            decided_by: 0,
            levels: Vec::new(),
            follow_ups: mem::take(&mut self.follow_ups),
        })
    }
}
