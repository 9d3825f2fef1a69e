//! A look at all shards (R9): who can serve, together or alone, and what is left if nobody can.

use alloc::{sync::Arc, vec::Vec};
use core::mem;

use crate::{
    answer::LimitStatus,
    balance::Rate,
    error::Error,
    fast,
    hint::Blocked,
    item::{LimitState, Owner, Shard},
    join::{self, Join, Reading},
    key::Subject,
    limit::Amount,
    materialise::{Pass, Settings, Take, proven_count},
    preview::{ShardView, WindowState},
    window::{Window, told_ms},
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
pub(crate) struct Look<'a> {
    slots: Vec<Slot>,
    takes: &'a [Take],
    settings: Settings<'a>,
}

/// How a request that one shard cannot serve is served.
pub(crate) enum Served {
    /// By one shard that is there, with a fast write.
    Fast(u32),
    /// By one shard that is there, with a pass.
    Locked(Pass),
    /// By a slot that is made for it.
    Made(Join),
    /// By several shards in one transaction.
    Gathered(Vec<(Pass, Vec<Take>)>, Vec<ConditionalWrite>),
}

/// Why it is not served.
pub(crate) struct Rejection {
    pub(crate) retry_after_ms: u64,
    /// The limit whose shares, all of them full, do not hold the amount.
    pub(crate) never_fits: Option<Arc<str>>,
    pub(crate) limits: Vec<LimitStatus>,
    pub(crate) blocked: Vec<Blocked>,
}

impl<'a> Look<'a> {
    /// Reads `shards` as the slots of an entity whose largest known shard count is `shard_count`.
    pub(crate) fn of(
        shards: &[Shard],
        shard_count: u32,
        takes: &'a [Take],
        settings: Settings<'a>,
    ) -> Result<Self, Error> {
        let mut slots = Vec::new();
        for id in 0..shard_count {
            let present = shards.iter().find(|shard| shard.id == id);
            let lacks = |shard: &Shard| takes.iter().any(|take| shard.limit(&take.limit).is_none());
            let slot = match present {
                Some(shard) if !lacks(shard) => Slot::present(shard, shard_count, &settings)?,
                own => Slot::joining(id, own, shards, shard_count, takes, &settings)?,
            };
            slots.push(slot);
        }
        Ok(Self { slots, takes, settings })
    }

    /// The given items alone, each by the shard count it proves.
    pub(crate) fn present(
        shards: &[Shard],
        takes: &'a [Take],
        settings: Settings<'a>,
    ) -> Result<Self, Error> {
        let mut slots = Vec::new();
        for shard in shards {
            slots.push(Slot::present(shard, proven_count(shard), &settings)?);
        }
        Ok(Self { slots, takes, settings })
    }

    /// Who serves the request, taken out of the look; none: nobody can.
    pub(crate) fn serve(&mut self, subject: &Subject, owner: Option<&Owner>) -> Option<Served> {
        // The fullest first; of equals, one that is there, then the lowest.
        let mut fullest = None;
        for (index, slot) in self.slots.iter().enumerate() {
            let fit = (slot.headroom(self.takes), slot.is_whole);
            if slot.join.pass.admits(self.takes) && fullest.is_none_or(|(best, _)| fit > best) {
                fullest = Some((fit, index));
            }
        }
        let Some((_, index)) = fullest else { return self.gather(subject, owner) };
        let Slot { id, join, is_whole } = self.slots.swap_remove(index);
        Some(if is_fast(&join.pass, self.takes, &self.settings) {
            Served::Fast(id)
        } else if is_whole {
            Served::Locked(join.pass)
        } else {
            Served::Made(join)
        })
    }

    /// Takes the amounts from several shards, the fullest first and as few as serve.
    ///
    /// A slot that is missing and would be funded by a donor adds nothing that the donor does
    /// not hold; one that was never granted adds its share.
    fn gather(&mut self, subject: &Subject, owner: Option<&Owner>) -> Option<Served> {
        // What each slot gives.
        let mut parts: Vec<Vec<Take>> = self.slots.iter().map(|_| Vec::new()).collect();
        for take in self.takes {
            let mut holders: Vec<(i128, &mut Vec<Take>)> = Vec::new();
            for (slot, part) in self.slots.iter().zip(&mut parts) {
                let held = slot.gatherable_milli(&take.limit);
                let place = holders.partition_point(|(other, _)| *other >= held);
                holders.insert(place, (held, part));
            }
            // Who holds nothing comes last: whatever is still missing then is nowhere.
            let mut missing = take.milli;
            for (held, part) in holders {
                if missing > 0 {
                    part.push(Take { milli: held.min(missing), ..take.clone() });
                    missing = missing.saturating_sub(held);
                }
            }
            if missing > 0 {
                return None;
            }
        }
        if self.takes.iter().any(|take| take.milli == 0 && self.is_in_debt(&take.limit)) {
            return None;
        }
        let mut writes: Vec<ConditionalWrite> = Vec::new();
        let mut neighbours = Vec::new();
        let mut passes = Vec::new();
        for (slot, takes) in mem::take(&mut self.slots).into_iter().zip(parts) {
            if takes.is_empty() {
                continue;
            }
            let pass = if is_fast(&slot.join.pass, &takes, &self.settings) {
                writes.push(fast::write(subject, slot.id, &takes, &self.settings));
                slot.join.pass.unmade()
            } else {
                let (pass, joining) = slot.join.into_writes(subject, owner, &takes);
                let mut joining = joining.into_iter();
                writes.extend(joining.next());
                neighbours.extend(joining);
                pass
            };
            passes.push((pass, takes));
        }
        // What a shard's own pass changes comes before what a neighbour's making would change.
        neighbours.into_iter().for_each(|write| merge(&mut writes, write));
        Some(Served::Gathered(passes, writes))
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
        self.slots.iter().any(|slot| slot.join.pass.is_waived(limit))
    }

    /// Whether an amount of 0 has to wait (R15).
    pub(crate) fn is_in_debt(&self, limit: &str) -> bool {
        self.total_milli(limit).is_negative() && !self.is_waived(limit)
    }

    /// What a limit may hold over all shards: shards that stand in different windows, or know
    /// different counts, may seem to hold more.
    fn most_milli(&self, limit: &str, state: &LimitState) -> i128 {
        let topped_up =
            self.slots.iter().filter_map(|slot| slot.join.pass.limit(limit)?.after.topped_up_milli);
        topped_up.fold(state.capacity_milli, i128::saturating_add)
    }

    /// The latest live end of a quota's windows (R13), and its length, ms.
    pub(crate) fn live_end_ms(&self, limit: &str) -> Option<(i64, i64)> {
        self.slots.iter().filter_map(|slot| slot.live_end_ms(limit)).max()
    }

    /// The earliest live end (as told): from then on more may be left than this look found.
    fn first_end_ms(&self, limit: &str) -> Option<u64> {
        let (end_ms, length_ms) = self.slots.iter().filter_map(|slot| slot.live_end_ms(limit)).min()?;
        Some(told_ms(end_ms, length_ms, self.settings.now_ms))
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
                .map(|(end_ms, length_ms)| told_ms(end_ms, length_ms, self.settings.now_ms)),
        })
    }

    /// Every slot's part of a limit.
    pub(crate) fn views(&self, limit: &str) -> Vec<ShardView> {
        self.slots.iter().map(|slot| slot.view(limit)).collect()
    }

    fn state(&self, limit: &str) -> Option<&LimitState> {
        self.slots.iter().find_map(|slot| slot.join.pass.limit(limit)).map(|pass| &pass.after)
    }

    /// The refusal (R14): the longest wait of the limits that say no.
    pub(crate) fn rejection(&self, consume: &[Amount]) -> Rejection {
        let now_ms = u64::try_from(self.settings.now_ms).unwrap_or_default();
        let mut rejection = Rejection {
            retry_after_ms: 0,
            never_fits: None,
            limits: self.statuses(consume),
            blocked: Vec::new(),
        };
        for take in self.takes {
            let total = self.total_milli(&take.limit);
            let (Some(status), Some(state)) = (self.status(&take.limit), self.state(&take.limit)) else {
                continue;
            };
            if total >= take.milli || self.is_waived(&take.limit) {
                continue;
            }
            let is_quota = state.reset_after_seconds.is_some();
            let (wait_ms, above_milli) = match status.resets_at_ms {
                Some(told) => (told.saturating_sub(now_ms), total),
                None if is_quota || take.milli > self.ceiling_milli(&take.limit) => {
                    // Full, and yet too little: what floors of shares lose (R12).
                    rejection.never_fits = Some(take.limit.clone());
                    continue;
                }
                None => {
                    let rate =
                        Rate { amount_milli: state.refill_amount_milli, period_ms: state.refill_period_ms };
                    // A smaller amount fits sooner, so the wait says nothing about it.
                    (rate.retry_after_ms(take.milli.saturating_sub(total), 1), take.milli.saturating_sub(1))
                }
            };
            let wait_ms = wait_ms.max(1);
            let until_ms = self.first_end_ms(&take.limit).unwrap_or(now_ms.saturating_add(wait_ms));
            rejection.retry_after_ms = rejection.retry_after_ms.max(wait_ms);
            if let Ok(above_milli) = i64::try_from(above_milli) {
                rejection.blocked.push(Blocked { status, above_milli, until_ms });
            }
        }
        rejection
    }

    fn ceiling_milli(&self, limit: &str) -> i128 {
        let ceilings =
            self.slots.iter().filter_map(|slot| slot.join.pass.limit(limit)).map(|pass| pass.ceiling_milli);
        ceilings.fold(0, i128::saturating_add)
    }
}

impl Slot {
    fn present(shard: &Shard, shard_count: u32, settings: &Settings<'_>) -> Result<Self, Error> {
        // A shard that knows fewer shards than there are is told by the pass, and reset by it to
        // the smaller share.
        let pass = Pass::with_seeds(Some(shard), shard.id, shard_count, Vec::new(), settings)?;
        let join = Join { pass, funded: Vec::new(), candidates: Vec::new() };
        Ok(Self { id: shard.id, join, is_whole: true })
    }

    /// A slot that has no item, or whose item lacks a limit that is asked for.
    fn joining(
        id: u32,
        own: Option<&Shard>,
        shards: &[Shard],
        shard_count: u32,
        takes: &[Take],
        settings: &Settings<'_>,
    ) -> Result<Self, Error> {
        let reading = Reading { slot: id, own, siblings: shards, shard_count, named: takes };
        Ok(Self { id, join: join::plan(&reading, settings)?, is_whole: false })
    }

    /// What would be left of the tightest named limit.
    fn headroom(&self, takes: &[Take]) -> i128 {
        let left = |take: &Take| self.held_milli(&take.limit).saturating_sub(take.milli);
        takes.iter().map(left).min().unwrap_or(0)
    }

    fn held_milli(&self, limit: &str) -> i128 {
        self.join.pass.limit(limit).map_or(0, |pass| pass.after.tokens_milli)
    }

    /// What one transaction could take of a limit here, next to its siblings: any amount where a
    /// live stamp says so.
    fn gatherable_milli(&self, limit: &str) -> i128 {
        match &self.join {
            join if join.moves() => 0,
            join if join.pass.is_waived(limit) => i128::MAX,
            _ => self.held_milli(limit),
        }
    }

    /// What counts towards the total: a move changes none.
    fn counted_milli(&self, limit: &str) -> i128 {
        if self.join.is_funded(limit) { 0 } else { self.held_milli(limit) }
    }

    fn view(&self, limit: &str) -> ShardView {
        let pass = self.join.pass.limit(limit);
        let read = self.join.pass.read();
        let before = pass.and_then(|pass| pass.before.as_ref());
        let window = match (read, before, pass.and_then(|pass| pass.length_ms)) {
            (Some(read), Some(before), Some(length_ms)) => {
                Window::of(before, length_ms, read.last_refill_ms, self.join.pass.now_ms)
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
            ceiling_milli: pass.map_or(0, |pass| saturate(pass.ceiling_milli)),
        }
    }

    /// The end of the window in force as stored, and its length, ms.
    fn live_end_ms(&self, limit: &str) -> Option<(i64, i64)> {
        let pass = self.join.pass.limit(limit)?;
        let (read, before) = (self.join.pass.read()?, pass.before.as_ref()?);
        let length_ms = pass.length_ms?;
        let window = Window::of(before, length_ms, read.last_refill_ms, self.join.pass.now_ms);
        Some((window.live_end_ms()?, length_ms))
    }
}

/// Whether a fast write would do.
fn is_fast(pass: &Pass, takes: &[Take], settings: &Settings<'_>) -> bool {
    pass.read().is_some_and(|shard| fast::obstacle(shard, takes, settings).is_none())
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
