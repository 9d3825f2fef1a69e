//! A shard made, or a limit seeded, in the middle of a window: it joins the entity's window (R7)
//! and is funded by whoever was granted its slot (R8), in one transaction that is conditioned on
//! everything it was planned from.

use alloc::{borrow::Cow, sync::Arc, vec, vec::Vec};

use crate::{
    item::{Field, LimitState, Owner, Shard},
    rule::balance::share,
    rule::grant::{self, Grant, Sibling, candidates},
    rule::materialise::{Debit, LimitMaterialisation, Materialisation, Settings, proven_count, state_of},
    rule::window::Window,
    types::error::Error,
    types::key::{META_SK, STATE_SK},
    types::subject::{Subject, legal_count},
    write::{Action, Change, Clauses, ConditionalWrite, Term, Test, Value},
};

/// What a join is planned from: a strongly consistent read, or a look whose every reading the
/// transaction checks again.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    /// The slot.
    pub slot: u32,
    /// The slot's own item, where it exists and only lacks a limit.
    pub own: Option<&'a Shard>,
    /// Every sibling read that exists.
    pub siblings: &'a [Shard],
    /// The largest shard count known from elsewhere.
    pub shard_count: u32,
    /// The limits the request names: on an existing item, those it lacks are seeded.
    pub named: &'a [Debit],
}

/// A planned join.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Join {
    /// The slot's new state.
    pub materialisation: Materialisation,
    /// The quotas that a donor funds, and with how many millitokens.
    pub funded: Vec<(Arc<str>, i128)>,
    /// What each candidate must still be, and its raise or its debit.
    pub candidates: Vec<Candidate>,
}

/// A sibling's part of the transaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Candidate {
    /// Its slot.
    pub shard: u32,
    /// The raise and the debit; empty: only the conditions.
    pub changes: Vec<Change>,
    /// The sibling is as it was read.
    pub clauses: Vec<Vec<Term>>,
}

/// Plans the join of one slot.
///
/// # Errors
/// `unknown-limit` where a named limit is not configured, and what [`Materialisation::of`] fails with.
pub fn plan(reading: &Reading<'_>, settings: &Settings<'_>) -> Result<Join, Error> {
    let mut shard_count = reading.shard_count.max(reading.slot.saturating_add(1));
    for shard in reading.siblings.iter().chain(reading.own) {
        shard_count = shard_count.max(legal_count(proven_count(shard)));
    }
    let slots = candidates(reading.slot, shard_count, reading.own.is_none());
    let mut found: Vec<Candidate> = slots
        .iter()
        .map(|shard| match reading.siblings.iter().find(|sibling| sibling.id == *shard) {
            Some(sibling) => Candidate::raised(sibling, shard_count),
            None => {
                Candidate { shard: *shard, changes: Vec::new(), clauses: vec![vec![Term::absent(Field::Pk)]] }
            }
        })
        .collect();
    let mut funded = Vec::new();
    let mut seeds = Vec::new();
    for limit in wanted(reading, settings)? {
        let (state, donor, opened) = seed(limit, reading, shard_count, &slots, settings);
        if donor.is_some() {
            funded.push((state.name.clone(), state.tokens_milli));
        }
        for candidate in &mut found {
            if let Some(sibling) = reading.siblings.iter().find(|sibling| sibling.id == candidate.shard) {
                let is_donor = donor.is_some_and(|donor| donor.shard == sibling.id);
                candidate.pin(sibling, &state, if is_donor { state.tokens_milli } else { 0 });
            }
        }
        seeds.push(LimitMaterialisation::seeded(state, shard_count, opened));
    }
    let materialisation =
        Materialisation::with_seeds(reading.own, reading.slot, shard_count, seeds, settings)?;
    Ok(Join { materialisation, funded, candidates: found })
}

/// The limits to seed: all of them on a new item, the missing named ones on an old one.
fn wanted<'a>(reading: &Reading<'_>, settings: &Settings<'a>) -> Result<Vec<LimitState>, Error> {
    let known = |name: &str| known(name, reading, settings);
    let missing = |debit: &&Debit| reading.own.is_none_or(|own| own.limit(&debit.limit).is_none());
    let mut wanted: Vec<LimitState> = Vec::new();
    if reading.own.is_none() {
        for limit in settings.limits {
            wanted.extend(known(&limit.name));
        }
    }
    for debit in reading.named.iter().filter(missing) {
        if wanted.iter().all(|state| state.name != debit.limit) {
            wanted.push(known(&debit.limit).ok_or_else(|| Error::unknown_limit(&debit.limit))?);
        }
    }
    Ok(wanted)
}

/// A limit's parameters: as configured, else as a sibling has it.
///
/// A configuration that may be old does not undo what an operator changed: the parameters are
/// those of the first sibling that has the limit (R15). The length stays the configured one (R1).
fn known(name: &str, reading: &Reading<'_>, settings: &Settings<'_>) -> Option<LimitState> {
    let configured = settings.limit(name);
    let stored = reading.siblings.iter().find_map(|sibling| sibling.limit(name));
    let mut state = match configured {
        Some(limit) => state_of(limit),
        None => LimitState { name: stored?.name.clone(), ..LimitState::default() },
    };
    if let Some(stored) = stored.filter(|_| configured.is_none() || !settings.authoritative) {
        state.capacity_milli = stored.capacity_milli;
        state.refill_amount_milli = stored.refill_amount_milli;
        state.refill_period_ms = stored.refill_period_ms;
        // Whether it is a quota at all, too: a drip beside quotas would mint a share.
        state.reset_after_seconds = state.reset_after_seconds.or(stored.reset_after_seconds);
    }
    Some(state)
}

/// The seeded limit, who funds it, and whether it opens a window of its own.
fn seed(
    mut state: LimitState,
    reading: &Reading<'_>,
    shard_count: u32,
    slots: &[u32],
    settings: &Settings<'_>,
) -> (LimitState, Option<Sibling>, bool) {
    let full = share(state.capacity_milli, shard_count.into());
    state.tokens_milli = full;
    let Some(length_ms) = state.reset_after_seconds.map(|seconds| seconds.saturating_mul(1000)) else {
        return (state, None, false);
    };
    state.grant_count = Some(shard_count.into());
    let joined = joined_start_ms(&state.name, reading.siblings, length_ms, settings.now_ms);
    let start_ms = joined.unwrap_or(settings.now_ms);
    state.window_start_ms = Some(start_ms);
    state.window_applied_ms = Some(start_ms);
    let mut donor = None;
    if joined.is_some() {
        let mut siblings = Vec::new();
        for sibling in reading.siblings.iter().filter(|sibling| slots.contains(&sibling.id)) {
            siblings.extend(as_sibling(sibling, &state.name, start_ms, length_ms));
        }
        Grant { tokens_milli: state.tokens_milli, donor } = grant::plan(reading.slot, full, &siblings);
    }
    (state, donor, joined.is_none())
}

/// The entity's live window (R7): shard 0's; where the shards disagree, the latest live start.
#[must_use]
pub fn joined_start_ms(limit: &str, siblings: &[Shard], length_ms: i64, now_ms: i64) -> Option<i64> {
    siblings
        .iter()
        .filter_map(|sibling| {
            let state = sibling.limit(limit)?;
            Window::of(state, length_ms, sibling.last_refill_ms, now_ms).live_start_ms()
        })
        .max()
}

/// A sibling as a grant of the window that begins at `start_ms` sees it; none: it lacks the quota.
#[must_use]
pub fn as_sibling(shard: &Shard, limit: &str, start_ms: i64, length_ms: i64) -> Option<Sibling> {
    let state = shard.limit(limit)?;
    let unmarked = state.window_start_ms.filter(|_| state.is_applied(shard.last_refill_ms));
    let applied_ms = state.window_applied_ms.or(unmarked);
    Some(Sibling {
        shard: shard.id,
        current: applied_ms
            .is_some_and(|applied| start_ms.saturating_sub(length_ms) < applied && applied <= start_ms),
        grant_count: grant::grant_count(state, shard.shard_count),
        tokens_milli: state.tokens_milli,
    })
}

impl Candidate {
    /// A sibling that knows fewer shards is told, in the same transaction.
    fn raised(sibling: &Shard, shard_count: u32) -> Self {
        let behind = sibling.shard_count < shard_count;
        Self {
            shard: sibling.id,
            changes: behind.then(|| Change::set(Field::ShardCount, shard_count)).into_iter().collect(),
            clauses: vec![vec![Term::exists(Field::Pk)], count_is(sibling.shard_count)],
        }
    }

    /// Pins what the grant of one quota was planned from, and takes what moves.
    fn pin(&mut self, sibling: &Shard, seeded: &LimitState, amount: i128) {
        if seeded.reset_after_seconds.is_none() {
            return;
        }
        let of = |field: Field| field.of(&seeded.name);
        let Some(state) = sibling.limit(&seeded.name) else {
            // It may carry the start of a propagation all the same; what counts is that it holds none.
            self.clauses.require(Term::absent(of(Field::Tokens)));
            return;
        };
        self.clauses.require(Term::as_read(of(Field::WindowStart), state.window_start_ms));
        self.clauses.require(Term::as_read(of(Field::WindowApplied), state.window_applied_ms));
        self.clauses.require(Term::as_read(of(Field::GrantCount), state.grant_count));
        if state.window_start_ms.is_some() && state.window_applied_ms.is_none() {
            // Without the marker, `rf` tells whether the window is applied.
            self.clauses.require(Term::compare(Field::LastRefill, Test::Equal, sibling.last_refill_ms));
        }
        if state.grant_count.is_none() {
            let count = grant::grant_count(state, sibling.shard_count);
            // The size was read off the balance; a credit since would tell another.
            self.clauses.require(Term::compare(
                of(Field::Tokens),
                Test::AtMost,
                share(state.capacity_milli, count).max(state.tokens_milli),
            ));
            if !self.changes.is_empty() {
                self.changes.push(Change::set(of(Field::GrantCount), count));
            }
        }
        if amount > 0 {
            self.clauses.require(Term::compare(of(Field::Tokens), Test::AtLeast, amount));
            self.changes.push(Change::add(of(Field::Tokens), amount.saturating_neg()));
        }
    }

    /// The candidate's write.
    #[must_use]
    pub fn write(self, subject: &Subject) -> ConditionalWrite {
        ConditionalWrite {
            pk: subject.bucket_pk(self.shard),
            sk: Cow::Borrowed(STATE_SK),
            action: if self.changes.is_empty() { Action::Check } else { Action::Update(self.changes) },
            clauses: self.clauses,
        }
    }
}

/// The stored count is `count`: an item without one counts as 1, and so does one that spells less.
pub(crate) fn count_is(count: u32) -> Vec<Term> {
    if count == 1 {
        return Term::unless_absent(Field::ShardCount.into(), Test::AtMost, 1);
    }
    vec![Term::compare(Field::ShardCount, Test::Equal, count)]
}

/// The entity's own record is as it was read (section 7); none: there is none.
pub(crate) fn owner_check(subject: &Subject, owner: Option<&Owner>) -> ConditionalWrite {
    let mut clauses = Vec::new();
    if let Some(owner) = owner {
        let text = |text: &Option<alloc::string::String>| text.clone().map(Value::Text);
        clauses.require(Term::exists(Field::Pk));
        let stamp = |field: Field, read| vec![Term::is(field.into(), read)];
        clauses.push(stamp(Field::Cascade, owner.cascade.map(Value::Boolean)));
        let mut parent = stamp(Field::ParentId, text(&owner.parent_id));
        if owner.parent_id.is_none() {
            parent.push(Term::with(Field::ParentId.into(), Test::Equal, Value::Null));
        }
        clauses.push(parent);
        clauses.push(stamp(Field::ParentGeneration, owner.parent_generation.map(Value::Number)));
        clauses.push(stamp(Field::ParentIncarnation, text(&owner.parent_incarnation)));
    } else {
        clauses.require(Term::absent(Field::Pk));
    }
    ConditionalWrite { pk: subject.entity_pk(), sk: Cow::Borrowed(META_SK), action: Action::Check, clauses }
}

impl Join {
    /// Whether a donor funds the quota, even with nothing.
    #[must_use]
    pub fn is_funded(&self, limit: &str) -> bool {
        self.funded.iter().any(|(name, _)| &**name == limit)
    }

    /// Whether tokens move: then the transaction is committed even where it admits nothing (R8).
    #[must_use]
    pub fn moves(&self) -> bool {
        self.funded.iter().any(|(_, milli)| *milli > 0)
    }

    /// The slot's new state, and the whole transaction that makes it so: the slot first, then its
    /// candidates, then, for a new item, the entity's own record.
    #[must_use]
    pub fn into_writes(
        self,
        subject: &Subject,
        owner: Option<&Owner>,
        debits: &[Debit],
    ) -> (Materialisation, Vec<ConditionalWrite>) {
        let mut writes =
            vec![self.materialisation.write(subject, owner.unwrap_or(&Owner::default()), debits)];
        writes.extend(self.candidates.into_iter().map(|candidate| candidate.write(subject)));
        if self.materialisation.read().is_none() {
            writes.push(owner_check(subject, owner));
        }
        (self.materialisation, writes)
    }
}
