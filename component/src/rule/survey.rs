//! A look at all shards (R9): who can serve, together or alone, and what is left if nobody can.

use alloc::{sync::Arc, vec::Vec};
use core::mem;

use crate::{
    item::{LimitState, Owner, Shard},
    rule::balance::Rate,
    rule::fast,
    rule::join::{self, Join, Reading},
    rule::materialise::{Debit, Materialisation, Settings, proven_count},
    rule::window::{Window, reported_reset_ms},
    types::error::Error,
    types::hint::KnownRejection,
    types::limit::Amount,
    types::preview::{ShardView, WindowState},
    types::status::LimitStatus,
    types::subject::Subject,
    write::{Action, ConditionalWrite},
};

/// One slot as the look found it.
struct Slot {
    id: u32,
    /// Its state after a pass, or after it is made.
    join: Join,
    /// Whether its item is there, with every limit that is asked for: then nothing is joined.
    is_whole: bool,
}

/// The slots of one entity at one instant.
pub(crate) struct ShardSurvey<'a> {
    slots: Vec<Slot>,
    debits: &'a [Debit],
    settings: Settings<'a>,
}

/// How a request that one shard cannot serve is served.
pub(crate) enum Placement {
    /// By one shard that is there, with a fast write.
    Fast(u32),
    /// By one shard that is there, with a pass.
    Locked(Materialisation),
    /// By a slot that is made for it.
    Created(Join),
    /// By several shards in one transaction.
    Gathered(Vec<(Materialisation, Vec<Debit>)>, Vec<ConditionalWrite>),
}

/// Why it is not served.
pub(crate) struct Rejection {
    pub(crate) retry_after_ms: u64,
    /// The limit whose shares, all of them full, do not hold the amount.
    pub(crate) never_fits: Option<Arc<str>>,
    pub(crate) limits: Vec<LimitStatus>,
    pub(crate) rejections: Vec<KnownRejection>,
}

impl<'a> ShardSurvey<'a> {
    /// Reads `shards` as the slots of an entity whose largest known shard count is `shard_count`.
    pub(crate) fn of(
        shards: &[Shard],
        shard_count: u32,
        debits: &'a [Debit],
        settings: Settings<'a>,
    ) -> Result<Self, Error> {
        let mut slots = Vec::new();
        for id in 0..shard_count {
            let present = shards.iter().find(|shard| shard.id == id);
            let lacks = |shard: &Shard| debits.iter().any(|debit| shard.limit(&debit.limit).is_none());
            let slot = match present {
                Some(shard) if !lacks(shard) => Slot::present(shard, shard_count, &settings)?,
                own => Slot::joining(id, own, shards, shard_count, debits, &settings)?,
            };
            slots.push(slot);
        }
        Ok(Self { slots, debits, settings })
    }

    /// The given items alone, each by the shard count it proves.
    pub(crate) fn present(
        shards: &[Shard],
        debits: &'a [Debit],
        settings: Settings<'a>,
    ) -> Result<Self, Error> {
        let mut slots = Vec::new();
        for shard in shards {
            slots.push(Slot::present(shard, proven_count(shard), &settings)?);
        }
        Ok(Self { slots, debits, settings })
    }

    /// Who serves the request, taken out of the look; none: nobody can.
    pub(crate) fn serve(&mut self, subject: &Subject, owner: Option<&Owner>) -> Option<Placement> {
        // The fullest first; of equals, one that is there, then the lowest.
        let mut fullest = None;
        for (index, slot) in self.slots.iter().enumerate() {
            let fit = (slot.headroom(self.debits), slot.is_whole);
            if slot.join.materialisation.admits(self.debits) && fullest.is_none_or(|(best, _)| fit > best) {
                fullest = Some((fit, index));
            }
        }
        let Some((_, index)) = fullest else { return self.gather(subject, owner) };
        let Slot { id, join, is_whole } = self.slots.swap_remove(index);
        Some(if is_fast(&join.materialisation, self.debits, &self.settings) {
            Placement::Fast(id)
        } else if is_whole {
            Placement::Locked(join.materialisation)
        } else {
            Placement::Created(join)
        })
    }

    /// Takes the amounts from several shards, the fullest first and as few as serve.
    ///
    /// A slot that is missing and would be funded by a donor adds nothing that the donor does
    /// not hold; one that was never granted adds its share.
    fn gather(&mut self, subject: &Subject, owner: Option<&Owner>) -> Option<Placement> {
        // What each slot gives.
        let mut parts: Vec<Vec<Debit>> = self.slots.iter().map(|_| Vec::new()).collect();
        for debit in self.debits {
            let mut holders: Vec<(i128, &mut Vec<Debit>)> = Vec::new();
            for (slot, part) in self.slots.iter().zip(&mut parts) {
                let held = slot.gatherable_milli(&debit.limit);
                let place = holders.partition_point(|(other, _)| *other >= held);
                holders.insert(place, (held, part));
            }
            // Who holds nothing comes last: whatever is still missing then is nowhere.
            let mut missing = debit.milli;
            for (held, part) in holders {
                if missing > 0 {
                    part.push(Debit { milli: held.min(missing), ..debit.clone() });
                    missing = missing.saturating_sub(held);
                }
            }
            if missing > 0 {
                return None;
            }
        }
        if self.debits.iter().any(|debit| debit.milli == 0 && self.is_in_debt(&debit.limit)) {
            return None;
        }
        let mut writes: Vec<ConditionalWrite> = Vec::new();
        let mut neighbours = Vec::new();
        let mut materialisations = Vec::new();
        for (slot, debits) in mem::take(&mut self.slots).into_iter().zip(parts) {
            if debits.is_empty() {
                continue;
            }
            let materialisation = if is_fast(&slot.join.materialisation, &debits, &self.settings) {
                writes.push(fast::write(subject, slot.id, &debits, &self.settings));
                slot.join.materialisation.reverted()
            } else {
                let (materialisation, joining) = slot.join.into_writes(subject, owner, &debits);
                let mut joining = joining.into_iter();
                writes.extend(joining.next());
                neighbours.extend(joining);
                materialisation
            };
            materialisations.push((materialisation, debits));
        }
        // What a shard's own pass changes comes before what a neighbour's making would change.
        neighbours.into_iter().for_each(|write| merge(&mut writes, write));
        Some(Placement::Gathered(materialisations, writes))
    }

    /// A slot whose making moves tokens, so that they are where they can be gathered.
    pub(crate) fn mover(&mut self) -> Option<Join> {
        let index = self.slots.iter().position(|slot| slot.join.moves())?;
        Some(self.slots.swap_remove(index).join)
    }

    /// What is left of a limit over all shards, millitokens.
    fn total_milli(&self, limit: &str) -> i128 {
        self.slots.iter().map(|slot| slot.counted_milli(limit)).fold(0, i128::saturating_add)
    }

    /// Whether a live stamp on any shard admits any amount of the limit.
    fn is_waived(&self, limit: &str) -> bool {
        self.slots.iter().any(|slot| slot.join.materialisation.is_waived(limit))
    }

    /// Whether an amount of 0 has to wait (R15).
    pub(crate) fn is_in_debt(&self, limit: &str) -> bool {
        self.total_milli(limit).is_negative() && !self.is_waived(limit)
    }

    /// What a limit may hold over all shards: shards that stand in different windows, or know
    /// different counts, may seem to hold more.
    fn most_milli(&self, limit: &str, state: &LimitState) -> i128 {
        let topped_up = self
            .slots
            .iter()
            .filter_map(|slot| slot.join.materialisation.limit(limit)?.after.topped_up_milli);
        topped_up.fold(state.capacity_milli, i128::saturating_add)
    }

    /// The latest live end of a quota's windows (R13), and its length, ms.
    pub(crate) fn live_end_ms(&self, limit: &str) -> Option<(i64, i64)> {
        self.slots.iter().filter_map(|slot| slot.live_end_ms(limit)).max()
    }

    /// The earliest live end (as told): from then on more may be left than this look found.
    fn first_end_ms(&self, limit: &str) -> Option<u64> {
        let (end_ms, length_ms) = self.slots.iter().filter_map(|slot| slot.live_end_ms(limit)).min()?;
        Some(reported_reset_ms(end_ms, length_ms, self.settings.now_ms))
    }

    /// Where every named limit stands.
    pub(crate) fn statuses(&self, consume: &[Amount]) -> Vec<LimitStatus> {
        let mut statuses = Vec::new();
        for amount in consume {
            statuses.extend(self.status(&amount.limit));
        }
        statuses
    }

    pub(crate) fn status(&self, limit: &str) -> Option<LimitStatus> {
        let state = self.state(limit)?;
        Some(LimitStatus {
            name: limit.into(),
            capacity: tokens(state.capacity_milli).unsigned_abs(),
            available: tokens(self.total_milli(limit).min(self.most_milli(limit, state))),
            resets_at_ms: self
                .live_end_ms(limit)
                .map(|(end_ms, length_ms)| reported_reset_ms(end_ms, length_ms, self.settings.now_ms)),
        })
    }

    /// Every slot's part of a limit.
    pub(crate) fn views(&self, limit: &str) -> Vec<ShardView> {
        self.slots.iter().map(|slot| slot.view(limit)).collect()
    }

    fn state(&self, limit: &str) -> Option<&LimitState> {
        self.slots
            .iter()
            .find_map(|slot| slot.join.materialisation.limit(limit))
            .map(|materialisation| &materialisation.after)
    }

    /// The refusal (R14): the longest wait of the limits that say no.
    pub(crate) fn rejection(&self, consume: &[Amount]) -> Rejection {
        let now_ms = u64::try_from(self.settings.now_ms).unwrap_or_default();
        let mut rejection = Rejection {
            retry_after_ms: 0,
            never_fits: None,
            limits: self.statuses(consume),
            rejections: Vec::new(),
        };
        for debit in self.debits {
            let total = self.total_milli(&debit.limit);
            let (Some(status), Some(state)) = (self.status(&debit.limit), self.state(&debit.limit)) else {
                continue;
            };
            if total >= debit.milli || self.is_waived(&debit.limit) {
                continue;
            }
            let is_quota = state.reset_after_seconds.is_some();
            let (wait_ms, above_milli) = match status.resets_at_ms {
                Some(told) => (told.saturating_sub(now_ms), total),
                None if is_quota || debit.milli > self.ceiling_milli(&debit.limit) => {
                    // Full, and yet too little: what floors of shares lose (R12).
                    rejection.never_fits = Some(debit.limit.clone());
                    continue;
                }
                None => {
                    let rate =
                        Rate { amount_milli: state.refill_amount_milli, period_ms: state.refill_period_ms };
                    // A smaller amount fits sooner, so the wait says nothing about it.
                    (rate.retry_after_ms(debit.milli.saturating_sub(total), 1), debit.milli.saturating_sub(1))
                }
            };
            let wait_ms = wait_ms.max(1);
            let until_ms = self.first_end_ms(&debit.limit).unwrap_or(now_ms.saturating_add(wait_ms));
            rejection.retry_after_ms = rejection.retry_after_ms.max(wait_ms);
            if let Ok(above_milli) = i64::try_from(above_milli) {
                rejection.rejections.push(KnownRejection { status, above_milli, until_ms });
            }
        }
        rejection
    }

    fn ceiling_milli(&self, limit: &str) -> i128 {
        let ceilings = self
            .slots
            .iter()
            .filter_map(|slot| slot.join.materialisation.limit(limit))
            .map(|materialisation| materialisation.ceiling_milli);
        ceilings.fold(0, i128::saturating_add)
    }
}

impl Slot {
    fn present(shard: &Shard, shard_count: u32, settings: &Settings<'_>) -> Result<Self, Error> {
        // A shard that knows fewer shards than there are is told by the pass, and reset by it to
        // the smaller share.
        let materialisation =
            Materialisation::with_seeds(Some(shard), shard.id, shard_count, Vec::new(), settings)?;
        let join = Join { materialisation, funded: Vec::new(), candidates: Vec::new() };
        Ok(Self { id: shard.id, join, is_whole: true })
    }

    /// A slot that has no item, or whose item lacks a limit that is asked for.
    fn joining(
        id: u32,
        own: Option<&Shard>,
        shards: &[Shard],
        shard_count: u32,
        debits: &[Debit],
        settings: &Settings<'_>,
    ) -> Result<Self, Error> {
        let reading = Reading { slot: id, own, siblings: shards, shard_count, named: debits };
        Ok(Self { id, join: join::plan(&reading, settings)?, is_whole: false })
    }

    /// What would be left of the tightest named limit.
    fn headroom(&self, debits: &[Debit]) -> i128 {
        let left = |debit: &Debit| self.held_milli(&debit.limit).saturating_sub(debit.milli);
        debits.iter().map(left).min().unwrap_or(0)
    }

    fn held_milli(&self, limit: &str) -> i128 {
        self.join.materialisation.limit(limit).map_or(0, |materialisation| materialisation.after.tokens_milli)
    }

    /// What one transaction could take of a limit here, next to its siblings: any amount where a
    /// live stamp says so.
    fn gatherable_milli(&self, limit: &str) -> i128 {
        match &self.join {
            join if join.moves() => 0,
            join if join.materialisation.is_waived(limit) => i128::MAX,
            _ => self.held_milli(limit),
        }
    }

    /// What counts towards the total: a move changes none.
    fn counted_milli(&self, limit: &str) -> i128 {
        if self.join.is_funded(limit) { 0 } else { self.held_milli(limit) }
    }

    fn view(&self, limit: &str) -> ShardView {
        let materialisation = self.join.materialisation.limit(limit);
        let read = self.join.materialisation.read();
        let before = materialisation.and_then(|materialisation| materialisation.before.as_ref());
        let window =
            match (read, before, materialisation.and_then(|materialisation| materialisation.length_ms)) {
                (Some(read), Some(before), Some(length_ms)) => {
                    Window::of(before, length_ms, read.last_refill_ms, self.join.materialisation.now_ms)
                }
                _ => Window::Unstarted,
            };
        let (state, bounds) = match window {
            _ if read.is_none() => (WindowState::Absent, None),
            Window::Unstarted => (WindowState::Unstarted, None),
            Window::Ended { start_ms, end_ms } => (WindowState::Ended, Some((start_ms, end_ms))),
            Window::Live { start_ms, end_ms, applied: true } => (WindowState::Live, Some((start_ms, end_ms))),
            Window::Live { start_ms, end_ms, applied: false } => {
                (WindowState::Pending, Some((start_ms, end_ms)))
            }
        };
        ShardView {
            shard: self.id,
            state,
            starts_at_ms: bounds.and_then(|(start_ms, _)| u64::try_from(start_ms).ok()),
            ends_at_ms: bounds.and_then(|(_, end_ms)| u64::try_from(end_ms).ok()),
            balance_milli: before.map_or(0, |before| saturate(before.tokens_milli)),
            counted_milli: saturate(self.counted_milli(limit)),
            ceiling_milli: materialisation
                .map_or(0, |materialisation| saturate(materialisation.ceiling_milli)),
        }
    }

    /// The end of the window in force as stored, and its length, ms.
    fn live_end_ms(&self, limit: &str) -> Option<(i64, i64)> {
        let materialisation = self.join.materialisation.limit(limit)?;
        let (read, before) = (self.join.materialisation.read()?, materialisation.before.as_ref()?);
        let length_ms = materialisation.length_ms?;
        let window = Window::of(before, length_ms, read.last_refill_ms, self.join.materialisation.now_ms);
        Some((window.live_end_ms()?, length_ms))
    }
}

/// Whether a fast write would do.
fn is_fast(materialisation: &Materialisation, debits: &[Debit], settings: &Settings<'_>) -> bool {
    materialisation.read().is_some_and(|shard| fast::obstacle(shard, debits, settings).is_none())
}

/// Millitokens as whole tokens, rounded down.
pub(crate) fn tokens(milli: i128) -> i64 {
    saturate(milli.div_euclid(1000))
}

/// The nearest number that fits.
fn saturate(number: i128) -> i64 {
    i64::try_from(number).unwrap_or(if number.is_negative() { i64::MIN } else { i64::MAX })
}

/// Adds a write to a transaction, which may hold one operation for each item only: conditions
/// add up, a put or an update replaces a mere check, and an attribute is changed once.
fn merge(writes: &mut Vec<ConditionalWrite>, write: ConditionalWrite) {
    let Some(there) = writes.iter_mut().find(|other| other.pk == write.pk && other.sk == write.sk) else {
        writes.push(write);
        return;
    };
    for clause in write.clauses {
        if !there.clauses.contains(&clause) {
            there.clauses.push(clause);
        }
    }
    match (&mut there.action, write.action) {
        (_, Action::Check) => {}
        (there @ Action::Check, action) => *there = action,
        (Action::Update(changes), Action::Update(more)) => {
            for change in more {
                if changes.iter().all(|other| other.attribute != change.attribute) {
                    changes.push(change);
                }
            }
        }
        (Action::Put(_), _) | (_, Action::Put(_)) => {}
    }
}
