//! The plan of a join: what a new slot starts with, and which donor funds it.

use alloc::{vec, vec::Vec};

use super::{candidate::Candidate, write::Join};
use crate::{
    item::{Field, LimitState, Shard},
    rule::{
        balance::share,
        grant::{self, Grant, Sibling, candidates},
        materialise::{Debit, LimitMaterialisation, Materialisation, Settings, state_of},
        shard_count,
        window::{Window, length_ms, newest_ended_ms},
    },
    types::error::Error,
    write::Term,
};

/// What a join is planned from: a strongly consistent read, or a survey. The transaction checks everything
/// again.
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

/// Plans the join of one slot.
///
/// # Errors
/// `unknown-limit` where a named limit is not configured, and what [`Materialisation::of`] fails with.
pub fn plan(reading: &Reading<'_>, settings: &Settings<'_>) -> Result<Join, Error> {
    let known = reading.shard_count.max(reading.slot.saturating_add(1));
    let shard_count = shard_count::largest(known, reading.siblings.iter().chain(reading.own));
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

/// A limit's parameters: as configured, else as a sibling stores them.
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
        // A quota on the siblings is a quota here too: a drip beside quotas would create a share twice.
        state.reset_after_seconds = state.reset_after_seconds.or(stored.reset_after_seconds);
    }
    Some(state)
}

/// The seeded limit, its donor, and whether it opens a window of its own.
fn seed(
    mut state: LimitState,
    reading: &Reading<'_>,
    shard_count: u32,
    slots: &[u32],
    settings: &Settings<'_>,
) -> (LimitState, Option<Sibling>, bool) {
    let full = share(state.capacity_milli, shard_count.into());
    state.tokens_milli = full;
    let Some(length_ms) = state.reset_after_seconds.map(length_ms) else {
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

/// What the grant of a window that starts at `start_ms` depends on of a sibling. None: it lacks the quota.
#[must_use]
pub fn as_sibling(shard: &Shard, limit: &str, start_ms: i64, length_ms: i64) -> Option<Sibling> {
    let state = shard.limit(limit)?;
    let unmarked = state.window_start_ms.filter(|_| state.is_applied(shard.last_refill_ms));
    let applied_ms = state.window_applied_ms.or(unmarked);
    Some(Sibling {
        shard: shard.id,
        current: applied_ms
            .is_some_and(|applied| newest_ended_ms(start_ms, length_ms) < applied && applied <= start_ms),
        grant_count: grant::grant_count(state, shard.shard_count),
        tokens_milli: state.tokens_milli,
    })
}
