//! Taking from an entity and from those above it: both or neither (section 7).
//!
//! ```text
//! levels known from before ──▶ one machine a level, their calls side by side
//!   ├─ a level's items name another parent ──▶ the chain is taken up again from there
//!   ├─ all admit ──▶ admitted, with a lease a level
//!   └─ one says no ─▶ what the others took is given back, then the answer names who said no
//! ```
//!
//! Each level shards and windows on its own: a level is an [`Acquire`] that takes only from items
//! which debit the same parent. A cascade whose chain is known is one round trip in the steady
//! state. Between a level's taking and its giving back it is charged too much, never too little.

use alloc::{borrow::ToOwned, string::String, vec, vec::Vec};
use core::mem;

use crate::{
    machine::acquire::{Acquire, Contended, End},
    machine::config,
    machine::settle::Settle,
    rule::balance::{share, tokens},
    text::decimal,
    types::answer::{Call, Decision, Outcome, Reply, Step},
    types::error::Error,
    types::hint::Hint,
    types::lease::Lease,
    types::limit::{Amount, milli},
    types::request::AcquireRequest,
    types::status::LimitStatus,
    types::subject::Subject,
};

/// Entities in one chain at most.
pub const MAX_LEVELS: usize = 8;
/// How often a chain that keeps changing is taken up again.
const MAX_RESTARTS: u32 = 12;

/// What became of one level.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LevelDecision {
    /// The entity.
    pub entity: String,
    /// Its limits, as in [`Decision::limits`].
    pub limits: Vec<LimitStatus>,
    /// What was taken from it; none where the cascade was not admitted, and where the entity has
    /// none of the limits that the request names.
    pub lease: Option<Lease>,
    /// What the host may remember about it.
    pub hint: Hint,
}

/// The answer of a cascade.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CascadeDecision {
    /// The answer of the level that decided; admitted: of the first.
    pub outcome: Outcome,
    /// That level's place in `levels`.
    pub decided_by: usize,
    /// Every level, the entity itself first: the chain to begin with the next time.
    pub levels: Vec<LevelDecision>,
    /// Calls to make after the answer was given.
    pub follow_ups: Vec<Call>,
}

/// The machine that takes from a chain of entities. See the [crate's](crate) loop.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cascade {
    levels: Vec<Level>,
    restarts: u32,
    /// Taken from entities that turned out not to be in the chain.
    orphaned: Vec<Lease>,
    follow_ups: Vec<Call>,
    releasing: Option<Vec<(Settle, usize)>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Level {
    request: AcquireRequest,
    /// Whom its items debit besides, as far as is known.
    parent: Option<String>,
    state: State,
    /// When it was decided, by the host's clock: the answer may be told later.
    decided_ms: u64,
    /// Calls of its own under way.
    calls: usize,
}

#[expect(clippy::large_enum_variant, reason = "there are few, and they do not move")]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum State {
    /// Its configuration is read from the table.
    Configuring,
    Taking(Acquire),
    /// Its items debit another parent than was thought; and what is to be done after the answer.
    ParentChanged(Option<String>, Vec<Call>),
    Decided(Decision),
}

impl Cascade {
    /// A machine for one request. `levels` is the entity's own request and, where it is known from
    /// the last time ([`CascadeDecision::levels`]), one for each entity above it; those the machine
    /// finds out about itself. A level above the first whose `limits` are empty reads its own
    /// configuration, and where the table has none uses the first level's. Of `consume`, each takes
    /// what its limits name.
    #[must_use]
    pub fn new(levels: Vec<AcquireRequest>) -> Self {
        let fallback = levels.first().map(|request| request.limits.clone()).unwrap_or_default();
        // From the last, which has nobody above it that is known, to the first.
        let mut made = Vec::new();
        let mut parent = None;
        for (index, request) in levels.into_iter().enumerate().rev() {
            let entity = request.subject.entity.clone();
            made.push(match (index, request.limits.is_empty()) {
                (0, _) => Level::taking(request, parent),
                (_, true) => {
                    Level::configuring(AcquireRequest { limits: fallback.clone(), ..request }, parent)
                }
                (_, false) => Level::taking(request.of_known(), parent),
            });
            parent = Some(entity);
        }
        made.reverse();
        Self { levels: made, restarts: 0, orphaned: Vec::new(), follow_ups: Vec::new(), releasing: None }
    }

    /// Takes the replies to the calls of the step before, and says what is next. `now_ms` is one
    /// reading of the host's clock, epoch milliseconds.
    #[must_use = "a step holds the calls to make, or the decision"]
    pub fn advance(&mut self, now_ms: u64, replies: &[Reply]) -> Step<CascadeDecision> {
        if self.levels.is_empty() || self.levels.len() > MAX_LEVELS {
            let read = decimal(self.levels.len());
            let expected = [" levels, expected 1 to ", &decimal(MAX_LEVELS)].concat();
            return self.failed(Error::invalid(&[&read, &expected]));
        }
        if let Some(settles) = self.releasing.take() {
            return self.give_back(settles, now_ms, replies);
        }
        let expected: usize = self.levels.iter().map(|level| level.calls).sum();
        if replies.len() != expected {
            return self.failed(Error::miscounted(replies.len(), &decimal(expected)));
        }
        let mut rest = replies;
        let mut calls = Vec::new();
        for level in &mut self.levels {
            let own = mem::take(&mut level.calls);
            let (mine, others) = rest.split_at_checked(own).unwrap_or((rest, &[]));
            rest = others;
            calls.push(level.step(now_ms, mine));
        }
        while let Some(index) = self.levels.iter().position(|level| level.met().is_some()) {
            self.restart_from(index, now_ms, &mut calls);
        }
        let mut all = Vec::new();
        for (level, own) in self.levels.iter_mut().zip(calls) {
            level.calls = own.len();
            all.extend(own);
        }
        if !all.is_empty() {
            return Step::Perform(all);
        }
        let refusal = self.refusal();
        let mut leases = Vec::new();
        if refusal.is_some() {
            leases.extend(self.levels.iter().filter_map(Level::lease));
        }
        leases.append(&mut self.orphaned);
        let settles: Vec<_> = leases.iter().map(|lease| (release(&self.levels, lease), 0)).collect();
        if refusal.is_some_and(|index| self.is_unavailable(index)) {
            // The time for the answer may be over, and what is sent now would be lost with it.
            for (mut settle, _) in settles {
                if let Step::Perform(credits) = settle.advance(now_ms, &[]) {
                    self.follow_ups.extend(credits);
                }
            }
            return Step::Done(self.decide(now_ms));
        }
        self.give_back(settles, now_ms, &[])
    }

    /// The items of a level name another parent than was thought: what is above it is let go.
    fn restart_from(&mut self, index: usize, now_ms: u64, calls: &mut Vec<Vec<Call>>) {
        self.restarts = self.restarts.saturating_add(1);
        let restarts = self.restarts;
        for above in self.levels.split_off(index.saturating_add(1)) {
            self.orphaned.extend(above.lease());
            self.follow_ups.extend(above.state.give_up());
        }
        calls.truncate(index);
        let below: Vec<String> =
            self.levels.iter().map(|level| level.request.subject.entity.clone()).collect();
        let template = self.levels.first().map(|level| level.request.clone()).unwrap_or_default();
        let Some(level) = self.levels.get_mut(index) else { return };
        let parent = level.met().unwrap_or_default();
        let cause = match &parent {
            Some(parent) if below.contains(parent) => Some("the chain of parents leads back into itself"),
            Some(_) if below.len() >= MAX_LEVELS => Some("the chain of parents is longer than 8 entities"),
            _ => None,
        };
        self.follow_ups.extend(mem::replace(&mut level.state, State::Configuring).give_up());
        let key = level.request.subject.hint_key();
        if let Some(cause) = cause {
            level.state = State::Decided(bare(Outcome::Failed(Error::unsupported(cause)), key));
            return calls.push(Vec::new());
        }
        if restarts > MAX_RESTARTS {
            level.state = State::Decided(bare(Contended.into(), key));
            return calls.push(Vec::new());
        }
        level.state = State::Taking(Acquire::of_level(level.request.clone(), parent.clone()));
        level.parent.clone_from(&parent);
        calls.push(level.step(now_ms, &[]));
        if let Some(parent) = parent {
            let mut level = Level::configuring(template.of_parent(&parent), None);
            calls.push(level.step(now_ms, &[]));
            self.levels.push(level);
        }
    }

    /// The level that decides a refusal: the one that is the least a matter of waiting.
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
                Some((weight(outcome), wait(outcome), core::cmp::Reverse(index)))
            }
            _ => None,
        });
        refusing.max().map(|(_, _, core::cmp::Reverse(index))| index)
    }

    fn is_unavailable(&self, index: usize) -> bool {
        let state = self.levels.get(index).map(|level| &level.state);
        matches!(state, Some(State::Decided(Decision { outcome: Outcome::Unavailable(_), .. })))
    }

    /// Credits, before the answer: who asks again finds them.
    fn give_back(
        &mut self,
        settles: Vec<(Settle, usize)>,
        now_ms: u64,
        replies: &[Reply],
    ) -> Step<CascadeDecision> {
        let mut rest = replies;
        let mut calls = Vec::new();
        let mut going_on = Vec::new();
        for (mut settle, own) in settles {
            let (mine, others) = rest.split_at_checked(own).unwrap_or((rest, &[]));
            rest = others;
            // A credit that cannot be given stays taken: nobody gets more than there is.
            if let Step::Perform(more) = settle.advance(now_ms, mine) {
                going_on.push((settle, more.len()));
                calls.extend(more);
            }
        }
        if calls.is_empty() {
            return Step::Done(self.decide(now_ms));
        }
        self.releasing = Some(going_on);
        Step::Perform(calls)
    }

    fn decide(&mut self, now_ms: u64) -> CascadeDecision {
        self.levels.iter_mut().for_each(|level| level.tell(now_ms));
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

impl Level {
    fn taking(request: AcquireRequest, parent: Option<String>) -> Self {
        Self { state: State::taking(&request, parent.clone()), request, parent, decided_ms: 0, calls: 0 }
    }

    /// What it is asked to take holds where the table configures nothing.
    fn configuring(request: AcquireRequest, parent: Option<String>) -> Self {
        Self { request, parent, state: State::Configuring, decided_ms: 0, calls: 0 }
    }

    fn step(&mut self, now_ms: u64, replies: &[Reply]) -> Vec<Call> {
        if matches!(self.state, State::Configuring) {
            let [reply] = replies else { return vec![config::call(&self.request.subject)] };
            self.state = match self.configure(reply) {
                Ok(()) => State::taking(&self.request, self.parent.clone()),
                Err(outcome) => State::Decided(bare(outcome, self.request.subject.hint_key())),
            };
            return self.step(now_ms, &[]);
        }
        let State::Taking(machine) = &mut self.state else { return Vec::new() };
        match machine.advance_level(now_ms, replies) {
            Step::Perform(calls) => calls,
            Step::Done(end) => {
                self.state = match end {
                    End::OtherParent { found, follow_ups } => State::ParentChanged(found, follow_ups),
                    End::Decided(decision) => State::Decided(decision),
                };
                self.decided_ms = now_ms;
                Vec::new()
            }
        }
    }

    fn configure(&mut self, reply: &Reply) -> Result<(), Outcome> {
        let found = config::resolve(&self.request.subject, reply)?;
        if found.disabled {
            return Err(Outcome::Disabled);
        }
        if !found.limits.is_empty() {
            self.request.permanent = found.is_permanent();
            self.request.authoritative = true;
            self.request.limits = found.limits;
        }
        self.request = mem::take(&mut self.request).of_known();
        Ok(())
    }

    fn met(&self) -> Option<Option<String>> {
        match &self.state {
            State::ParentChanged(parent, _) => Some(parent.clone()),
            _ => None,
        }
    }

    /// What was decided while other levels or credits were on their way, as it is true now: a window
    /// that ended meanwhile counts as restored (R13), and who waits has waited as long.
    fn tell(&mut self, now_ms: u64) {
        let State::Decided(decision) = &mut self.state else { return };
        let mut shards = i128::from(decision.hint.shard_count);
        if let Outcome::Rejected { retry_after_ms } = &mut decision.outcome {
            let waited_ms = now_ms.saturating_sub(self.decided_ms);
            *retry_after_ms = retry_after_ms.saturating_sub(waited_ms).max(1);
            shards = 1;
        }
        for limit in &mut decision.limits {
            if limit.resets_at_ms.is_some_and(|instant| instant <= now_ms) {
                limit.resets_at_ms = None;
                limit.available = tokens(share(milli(limit.capacity), shards));
            }
        }
    }

    fn lease(&self) -> Option<Lease> {
        match &self.state {
            State::Decided(Decision { outcome: Outcome::Admitted(lease), .. }) => Some(lease.clone()),
            _ => None,
        }
    }
}

impl State {
    /// What was to be done after the answer, of a level that is let go.
    fn give_up(self) -> Vec<Call> {
        match self {
            Self::Configuring => Vec::new(),
            Self::Taking(machine) => machine.into_follow_ups(),
            Self::ParentChanged(_, follow_ups) => follow_ups,
            Self::Decided(decision) => decision.follow_ups,
        }
    }

    fn taking(request: &AcquireRequest, parent: Option<String>) -> Self {
        if request.consume.is_empty() && !request.limits.is_empty() {
            // None of its limits is asked for: nothing stands in the way.
            let Subject { namespace, entity, resource, .. } = request.subject.clone();
            let lease = Lease { namespace, entity, resource, parts: Vec::new() };
            return Self::Decided(bare(Outcome::Admitted(lease), request.subject.hint_key()));
        }
        Self::Taking(Acquire::of_level(request.clone(), parent))
    }
}

impl AcquireRequest {
    /// The same request of an entity above.
    fn of_parent(&self, parent: &str) -> Self {
        let subject = Subject { entity: parent.to_owned(), ..self.subject.clone() };
        Self { subject, authoritative: false, permanent: false, ..self.clone() }
    }

    /// The request of what the limits name alone.
    fn of_known(mut self) -> Self {
        let limits = &self.limits;
        if !limits.is_empty() {
            self.consume.retain(|amount| limits.iter().any(|limit| limit.name == amount.limit));
        }
        self
    }
}

/// A settlement that gives back everything.
fn release(levels: &[Level], lease: &Lease) -> Settle {
    let table = levels.first().map(|level| level.request.subject.table.as_str()).unwrap_or_default();
    let mut nothing: Vec<Amount> = Vec::new();
    for limit in lease.parts.iter().flat_map(|part| &part.limits) {
        if nothing.iter().all(|amount| amount.limit != limit.name) {
            nothing.push(Amount::new(&limit.name, 0));
        }
    }
    Settle::new(table, &lease.encode(), nothing)
}

fn bare(outcome: Outcome, key: String) -> Decision {
    let hint = Hint { key, shard_count: 1, rejections: Vec::new() };
    Decision { outcome, limits: Vec::new(), follow_ups: Vec::new(), hint }
}
