//! One shard brought up to date: every limit, `rf`, `vu` and `ttl`.

use alloc::{sync::Arc, vec::Vec};

use super::{
    debit::Debit, lifetime::ttl_seconds, limit::LimitMaterialisation, parameters::fresh_wcu,
    settings::Settings,
};
use crate::{
    item::{LimitState, Shard},
    rule::{propagate::Opened, shard_count},
    types::error::Error,
};

/// The whole new state of one shard.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Materialisation {
    /// The slot.
    pub id: u32,
    /// The shard count that it is planned with.
    pub shard_count: u32,
    /// The clock reading.
    pub now_ms: i64,
    /// The new `rf` (R6).
    pub last_refill_ms: i64,
    /// The new `vu` (R11).
    pub valid_until_ms: Option<i64>,
    /// The new `ttl`, epoch seconds.
    pub ttl_seconds: Option<i64>,
    /// Every limit on the item.
    pub limits: Vec<LimitMaterialisation>,
    /// The hidden `wcu` limit.
    pub wcu: Option<LimitMaterialisation>,
    /// The item as read; none for a new item.
    pub(super) read: Option<Shard>,
    /// The parent that the item must debit as well.
    pub(super) parent: Option<Arc<str>>,
}

/// Refuses an item whose balances a calendar moves, which this version cannot evaluate (section 7).
pub(crate) fn check_unscheduled(shard: &Shard) -> Result<(), Error> {
    if shard.scheduled {
        return Err(Error::unsupported("the stored item carries a calendar schedule"));
    }
    Ok(())
}

impl Materialisation {
    /// Brings `shard` up to date.
    ///
    /// # Errors
    /// `unsupported` where the item carries a schedule, `overflow` where a number leaves its range.
    pub fn of(shard: &Shard, settings: &Settings<'_>) -> Result<Self, Error> {
        Self::with_seeds(Some(shard), shard.id, shard_count::proven(shard), Vec::new(), settings)
    }

    /// A materialisation that adds `seeds`, to an existing item or as a new one.
    pub(crate) fn with_seeds(
        shard: Option<&Shard>,
        id: u32,
        shard_count: u32,
        seeds: Vec<LimitMaterialisation>,
        settings: &Settings<'_>,
    ) -> Result<Self, Error> {
        let mut limits = Vec::new();
        let mut wcu = None;
        let mut stored_rf = None;
        if let Some(shard) = shard {
            check_unscheduled(shard)?;
            for state in &shard.limits {
                limits.push(LimitMaterialisation::of(state, shard, shard_count, settings)?);
            }
            wcu = shard
                .wcu
                .as_ref()
                .map(|state| LimitMaterialisation::of(state, shard, 1, settings))
                .transpose()?;
            stored_rf = Some(shard.last_refill_ms);
        }
        // Without a write budget no fast write could ever land.
        let wcu = wcu.unwrap_or_else(|| LimitMaterialisation::seeded(fresh_wcu(), 1, false));
        limits.extend(seeds);
        let starts = limits.iter().filter_map(|limit| limit.length_ms.and(limit.after.window_start_ms));
        // R6: strictly forward; else the lock would not change where the clock runs behind.
        let last_refill_ms =
            starts.chain(stored_rf.map(|rf| rf.saturating_add(1))).fold(settings.now_ms, i64::max);
        let ttl_seconds = (!settings.permanent)
            .then(|| ttl_seconds(limits.iter().map(|limit| &limit.after), settings.now_ms));
        Ok(Self {
            id,
            shard_count,
            now_ms: settings.now_ms,
            last_refill_ms,
            valid_until_ms: limits.iter().filter_map(LimitMaterialisation::window_end_ms).min(),
            ttl_seconds,
            limits,
            wcu: Some(wcu),
            read: shard.cloned(),
            parent: settings.parent.map(Arc::from),
        })
    }

    /// The item as read; none for a new one.
    #[must_use]
    pub fn read(&self) -> Option<&Shard> {
        self.read.as_ref()
    }

    /// The item as read; the planned state is dropped.
    pub(crate) fn into_read(self) -> Option<Shard> {
        self.read
    }

    /// The limit of that name.
    #[must_use]
    pub fn limit(&self, name: &str) -> Option<&LimitMaterialisation> {
        self.limits.iter().find(|limit| &*limit.after.name == name)
    }

    /// Whether a live stamp admits any amount of the limit.
    #[must_use]
    pub fn is_waived(&self, name: &str) -> bool {
        self.read.as_ref().is_some_and(|read| read.is_waived(name, self.now_ms))
    }

    /// How many of `milli` millitokens are missing of a limit; 0 where they fit or the limit is waived.
    /// None where the limit is not known.
    #[must_use]
    pub fn shortfall_milli(&self, name: &str, milli: i128) -> Option<i128> {
        let limit = self.limit(name)?;
        let short = milli.saturating_sub(limit.after.tokens_milli).max(0);
        Some(if self.is_waived(name) { 0 } else { short })
    }

    /// Whether everything fits.
    #[must_use]
    pub fn admits(&self, debits: &[Debit]) -> bool {
        debits.iter().all(|debit| self.shortfall_milli(&debit.limit, debit.milli) == Some(0))
    }

    /// Milliseconds until this shard holds what is missing of `debits` (R14), by the item alone; 0 where
    /// everything fits. Where the window starts in the future, this is later than the
    /// [reported](crate::rule::window::reported_reset_ms) instant.
    #[must_use]
    pub fn retry_after_ms(&self, debits: &[Debit]) -> u64 {
        let wait = |debit: &Debit| {
            let short = self.shortfall_milli(&debit.limit, debit.milli).filter(|short| *short > 0)?;
            let limit = self.limit(&debit.limit)?;
            Some(match limit.window_end_ms() {
                Some(end_ms) => u64::try_from(end_ms.saturating_sub(self.now_ms)).unwrap_or_default(),
                None => limit.rate().retry_after_ms(short, self.shard_count.into()),
            })
        };
        debits.iter().filter_map(wait).max().unwrap_or(0)
    }

    /// Reverts every opening: a refill leaves an ended window to the next use.
    pub(crate) fn leave_ended(&mut self) {
        for limit in self.limits.iter_mut().filter(|limit| limit.opened) {
            let Some(before) = limit.before.clone() else { continue };
            limit.after = LimitState { window_applied_ms: before.window_start_ms, ..before };
            (limit.opened, limit.reset) = (false, false);
        }
        self.valid_until_ms = self.limits.iter().filter_map(LimitMaterialisation::window_end_ms).min();
    }

    /// The item as read, for a fast write that needs no materialisation.
    pub(crate) fn reverted(mut self) -> Self {
        for limit in self.limits.iter_mut().chain(&mut self.wcu) {
            let Some(before) = limit.before.clone() else { continue };
            limit.after = before;
            (limit.opened, limit.reset) = (false, false);
        }
        self
    }

    /// Whether any balance is raised or reset.
    pub(crate) fn raises(&self) -> bool {
        self.limits.iter().any(|limit| {
            limit.reset
                || limit.before.as_ref().is_some_and(|before| limit.after.tokens_milli > before.tokens_milli)
        })
    }

    /// The windows that it opens.
    #[must_use]
    pub fn opened(&self) -> Vec<Opened> {
        let mut opened = Vec::new();
        for LimitMaterialisation { after, .. } in self.limits.iter().filter(|limit| limit.opened) {
            let window = after.reset_after_seconds.zip(after.window_start_ms);
            opened.extend(window.map(|(length_seconds, start_ms)| Opened {
                limit: after.name.clone(),
                length_seconds,
                start_ms,
            }));
        }
        opened
    }

    /// The shard once `debits` are debited.
    #[must_use]
    pub fn after(&self, debits: &[Debit]) -> Shard {
        let debited = |materialisation: &LimitMaterialisation| {
            let milli = Debit::milli_of(debits, &materialisation.after.name);
            let mut state = materialisation.after.clone();
            state.tokens_milli = state.tokens_milli.saturating_sub(milli);
            if milli != 0 || materialisation.before.is_none() {
                state.consumed_milli = Some(state.consumed_milli.unwrap_or(0).saturating_add(milli));
            }
            state
        };
        let read = self.read.clone().unwrap_or_default();
        Shard {
            id: self.id,
            shard_count: self.shard_count,
            last_refill_ms: self.last_refill_ms,
            valid_until_ms: self.valid_until_ms,
            ttl_seconds: self.ttl_seconds,
            limits: self.limits.iter().map(debited).collect(),
            wcu: self.wcu.as_ref().map(debited),
            ..read
        }
    }
}
