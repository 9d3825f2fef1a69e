//! One slot of a survey.

use alloc::vec::Vec;

use crate::{
    item::Shard,
    rule::{
        balance::saturate,
        join::{self, Join, Reading},
        materialise::{Debit, Materialisation, Settings},
        window::Window,
    },
    types::{
        error::Error,
        preview::{ShardView, WindowState},
    },
};

/// One slot as the survey read it.
pub(super) struct Slot {
    pub(super) id: u32,
    /// Its state once it is materialised, or created.
    pub(super) join: Join,
    /// Whether its item exists and has every limit that is asked for. Then it does not have to join.
    pub(super) is_whole: bool,
}

impl Slot {
    pub(super) fn present(shard: &Shard, shard_count: u32, settings: &Settings<'_>) -> Result<Self, Error> {
        // A shard with an older, smaller count gets the current one when it is materialised. A reset then
        // grants the smaller share.
        let materialisation =
            Materialisation::with_seeds(Some(shard), shard.id, shard_count, Vec::new(), settings)?;
        let join = Join { materialisation, funded: Vec::new(), candidates: Vec::new() };
        Ok(Self { id: shard.id, join, is_whole: true })
    }

    /// A slot that has no item, or whose item lacks a limit that is asked for.
    pub(super) fn joining(
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

    /// What the debits would leave of the named limit that has the least left, millitokens.
    pub(super) fn headroom(&self, debits: &[Debit]) -> i128 {
        let left = |debit: &Debit| self.held_milli(&debit.limit).saturating_sub(debit.milli);
        debits.iter().map(left).min().unwrap_or(0)
    }

    fn held_milli(&self, limit: &str) -> i128 {
        self.join.materialisation.limit(limit).map_or(0, |materialisation| materialisation.after.tokens_milli)
    }

    /// What one transaction could debit of a limit on this slot, beside its siblings, millitokens. Any amount
    /// where a live stamp waives the limit.
    pub(super) fn gatherable_milli(&self, limit: &str) -> i128 {
        match &self.join {
            join if join.moves() => 0,
            join if join.materialisation.is_waived(limit) => i128::MAX,
            _ => self.held_milli(limit),
        }
    }

    /// What counts towards the total. A slot funded by a donor counts 0, because the donor counts the tokens.
    pub(super) fn counted_milli(&self, limit: &str) -> i128 {
        if self.join.is_funded(limit) { 0 } else { self.held_milli(limit) }
    }

    pub(super) fn view(&self, limit: &str) -> ShardView {
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
    pub(super) fn live_end_ms(&self, limit: &str) -> Option<(i64, i64)> {
        let materialisation = self.join.materialisation.limit(limit)?;
        let (read, before) = (self.join.materialisation.read()?, materialisation.before.as_ref()?);
        let length_ms = materialisation.length_ms?;
        let window = Window::of(before, length_ms, read.last_refill_ms, self.join.materialisation.now_ms);
        Some((window.live_end_ms()?, length_ms))
    }
}
