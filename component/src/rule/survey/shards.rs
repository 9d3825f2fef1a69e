//! The slots of one entity, and the state of its limits over all of them.

use alloc::vec::Vec;

use super::slot::Slot;
use crate::{
    item::{LimitState, Shard},
    rule::{
        balance::tokens,
        materialise::{Debit, Settings},
        shard_count,
        window::reported_reset_ms,
    },
    types::{error::Error, limit::Amount, preview::ShardView, status::LimitStatus},
};

/// The slots of one entity at one instant.
pub(crate) struct ShardSurvey<'a> {
    pub(super) slots: Vec<Slot>,
    pub(super) debits: &'a [Debit],
    pub(super) settings: Settings<'a>,
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
            slots.push(Slot::present(shard, shard_count::proven(shard), &settings)?);
        }
        Ok(Self { slots, debits, settings })
    }

    /// What is left of a limit over all shards, millitokens.
    pub(super) fn total_milli(&self, limit: &str) -> i128 {
        self.slots.iter().map(|slot| slot.counted_milli(limit)).fold(0, i128::saturating_add)
    }

    /// Whether a live stamp on any shard admits any amount of the limit.
    pub(super) fn is_waived(&self, limit: &str) -> bool {
        self.slots.iter().any(|slot| slot.join.materialisation.is_waived(limit))
    }

    /// Whether an amount of 0 has to wait (R15).
    pub(crate) fn is_in_debt(&self, limit: &str) -> bool {
        self.total_milli(limit).is_negative() && !self.is_waived(limit)
    }

    /// The most that is reported as left over all shards. Shards in different windows, or with different
    /// counts, may seem to hold more.
    fn most_milli(&self, limit: &str, state: &LimitState) -> i128 {
        let topped_up = self
            .slots
            .iter()
            .filter_map(|slot| slot.join.materialisation.limit(limit)?.after.topped_up_milli);
        topped_up.fold(state.capacity_milli, i128::saturating_add)
    }

    /// The latest live end of a quota's windows (R13), and its length, ms.
    fn live_end_ms(&self, limit: &str) -> Option<(i64, i64)> {
        self.slots.iter().filter_map(|slot| slot.live_end_ms(limit)).max()
    }

    /// The earliest live end, epoch ms, bounded like a reported one. From then on more may be left than this
    /// survey counts.
    pub(super) fn first_end_ms(&self, limit: &str) -> Option<u64> {
        let (end_ms, length_ms) = self.slots.iter().filter_map(|slot| slot.live_end_ms(limit)).min()?;
        Some(reported_reset_ms(end_ms, length_ms, self.settings.now_ms))
    }

    /// The status of every named limit.
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

    pub(super) fn state(&self, limit: &str) -> Option<&LimitState> {
        self.slots
            .iter()
            .find_map(|slot| slot.join.materialisation.limit(limit))
            .map(|materialisation| &materialisation.after)
    }

    /// What a limit may hold over all slots, millitokens (R12).
    pub(super) fn ceiling_milli(&self, limit: &str) -> i128 {
        let ceilings = self
            .slots
            .iter()
            .filter_map(|slot| slot.join.materialisation.limit(limit))
            .map(|materialisation| materialisation.ceiling_milli);
        ceilings.fold(0, i128::saturating_add)
    }
}
