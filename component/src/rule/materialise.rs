//! One pass over one shard: bring every limit up to date, take what is asked, write it under the
//! lock.
//!
//! [`Materialisation`] is the whole new state; [`Materialisation::write`] is the one place that turns the difference to
//! what was read into an expression.

use alloc::{borrow::Cow, sync::Arc, vec, vec::Vec};

use crate::{
    item::{Field, LimitState, Owner, Shard},
    rule::balance::{Rate, quota_ceiling, share},
    rule::grant,
    rule::propagate::Opened,
    rule::window::{Window, roll_target_milli},
    text::decimal,
    types::error::Error,
    types::key::STATE_SK,
    types::limit::{Amount, Drip, Limit, Recovery, milli},
    types::subject::{Subject, legal_count},
    write::{Action, Change, Clauses, ConditionalWrite, Term, Test, Value},
};

/// Windows an item outlives its slowest recovery by.
const TTL_MULTIPLIER: i64 = 7;

/// The largest change of a balance: what is taken on top still fits the table's 38 digits.
const FARTHEST_MOVE_MILLI: u128 = 10_u128.pow(37);

/// What a pass is made with besides the item.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// The configuration.
    pub limits: &'a [Limit],
    /// Whether it is stamped where an item differs (R15).
    pub authoritative: bool,
    /// Whether items carry no `ttl`.
    pub permanent: bool,
    /// The one clock reading of the pass, epoch ms.
    pub now_ms: i64,
}

impl Settings<'_> {
    /// The configured limit of that name.
    #[must_use]
    pub fn limit(&self, name: &str) -> Option<&Limit> {
        self.limits.iter().find(|limit| limit.name == name)
    }
}

/// Millitokens of one limit that a write takes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Debit {
    /// The limit.
    pub limit: Arc<str>,
    /// Millitokens, at least 0.
    pub milli: i128,
    /// The window's length as configured (as stored, where the configuration leaves the limit
    /// out); none for a dripping limit.
    pub length_seconds: Option<i64>,
}

impl Debit {
    /// An amount, with the window's length as configured.
    #[must_use]
    pub fn new(amount: &Amount, limits: &[Limit]) -> Self {
        let configured = limits.iter().find(|limit| limit.name == amount.limit);
        Self {
            limit: Arc::from(amount.limit.as_str()),
            milli: amount.milli(),
            length_seconds: configured.and_then(Limit::length_seconds),
        }
    }

    /// An amount, with the window's length as configured or, where the configuration leaves the
    /// limit out, as stored.
    ///
    /// # Errors
    /// `unknown-limit` where neither knows it (R15).
    pub fn find(amount: &Amount, limits: &[Limit], shards: &[Shard]) -> Result<Self, Error> {
        let debit = Self::new(amount, limits);
        if limits.iter().any(|limit| limit.name == amount.limit) {
            return Ok(debit);
        }
        let stored = shards.iter().find_map(|shard| shard.limit(&amount.limit));
        let length_seconds = stored.ok_or_else(|| Error::unknown_limit(&amount.limit))?.reset_after_seconds;
        Ok(Self { length_seconds, ..debit })
    }
}

/// One limit in a pass.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LimitMaterialisation {
    /// As read; none where the pass seeds it.
    pub before: Option<LimitState>,
    /// Up to date, before anything is taken.
    pub after: LimitState,
    /// What it may hold on this shard, millitokens (R12).
    pub ceiling_milli: i128,
    /// The window's length, ms; none for a dripping limit.
    pub length_ms: Option<i64>,
    /// Whether its reset was pending (R3).
    pub was_pending: bool,
    /// Whether the pass opened its window (R1).
    pub opened: bool,
    /// Whether the pass set its balance anew (R1, R4).
    pub reset: bool,
}

/// The state of one shard after a pass.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Materialisation {
    /// The slot.
    pub id: u32,
    /// The shard count the pass worked with.
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
    read: Option<Shard>,
}

impl LimitMaterialisation {
    /// Brings one limit of `shard` up to date (R1, R4, R12, R15).
    fn of(
        state: &LimitState,
        shard: &Shard,
        shard_count: u32,
        settings: &Settings<'_>,
    ) -> Result<Self, Error> {
        let configured = settings.limit(&state.name);
        let stamped = configured.filter(|_| settings.authoritative);
        let mut after = state.clone();
        if let Some(limit) = stamped {
            stamp_parameters(&mut after, limit);
        }
        // The length is the configured one (R1); whether it is a quota at all, too, unless the
        // item says so and the configuration may be old.
        let length_seconds = match configured.map(|limit| limit.length_seconds()) {
            Some(Some(length)) => Some(length),
            Some(None) if settings.authoritative => None,
            _ => state.reset_after_seconds,
        };
        let materialisation = Self {
            before: Some(state.clone()),
            after,
            ceiling_milli: 0,
            length_ms: length_seconds.map(|seconds| seconds.saturating_mul(1000)),
            was_pending: !state.is_applied(shard.last_refill_ms),
            opened: false,
            reset: false,
        };
        let materialisation = match materialisation.length_ms {
            Some(length_ms) => materialisation.quota(state, shard, shard_count, length_ms, settings.now_ms),
            None => materialisation.drip(state, shard, shard_count, settings.now_ms),
        }?;
        let moved = materialisation.after.tokens_milli.checked_sub(state.tokens_milli);
        if moved.is_none_or(|moved| moved.unsigned_abs() > FARTHEST_MOVE_MILLI) {
            return Err(Error::overflow("the change of a balance"));
        }
        Ok(materialisation)
    }

    fn quota(
        mut self,
        state: &LimitState,
        shard: &Shard,
        shard_count: u32,
        length_ms: i64,
        now_ms: i64,
    ) -> Result<Self, Error> {
        let count = i128::from(shard_count);
        let full = share(self.after.capacity_milli, count);
        self.after.reset_after_seconds = Some(length_ms.div_euclid(1000));
        match Window::of(state, length_ms, shard.last_refill_ms, now_ms) {
            Window::Unstarted | Window::Ended { .. } => {
                self.opened = true;
                self.reset_to(full, now_ms, shard_count);
            }
            Window::Live { start_ms, applied: false, .. } => {
                self.reset_to(roll_target_milli(state, full), start_ms, shard_count);
            }
            Window::Live { start_ms, applied: true, .. } => {
                let granted = state.grant_count_or(shard.shard_count);
                self.after.window_applied_ms = Some(start_ms);
                if state.grant_count.is_none() && shard_count != shard.shard_count {
                    // Its size must outlive the count it was read off.
                    self.after.grant_count = i64::try_from(grant::grant_count(state, shard.shard_count)).ok();
                }
                let shift = capacity_shift(state.capacity_milli, self.after.capacity_milli, granted, count);
                self.after.tokens_milli = self.after.tokens_milli.saturating_add(shift);
                self.ceiling_milli =
                    quota_ceiling(self.after.capacity_milli, granted, state.topped_up_milli.unwrap_or(0))?;
                self.after.tokens_milli = self.after.tokens_milli.min(self.ceiling_milli);
                return Ok(self);
            }
        }
        self.ceiling_milli = full;
        Ok(self)
    }

    fn reset_to(&mut self, tokens_milli: i128, start_ms: i64, shard_count: u32) {
        self.reset = true;
        self.after.tokens_milli = tokens_milli;
        self.after.window_start_ms = Some(start_ms);
        self.after.window_applied_ms = Some(start_ms);
        self.after.grant_count = Some(shard_count.into());
        self.after.topped_up_milli = None;
    }

    fn drip(
        mut self,
        state: &LimitState,
        shard: &Shard,
        shard_count: u32,
        now_ms: i64,
    ) -> Result<Self, Error> {
        // The write budget belongs to the partition: it is not divided.
        let count = if &*state.name == "wcu" { 1 } else { i128::from(shard_count) };
        self.ceiling_milli = share(self.after.capacity_milli, count);
        self.after.reset_after_seconds = None;
        let rate =
            Rate { amount_milli: self.after.refill_amount_milli, period_ms: self.after.refill_period_ms };
        let elapsed_ms = now_ms.saturating_sub(shard.last_refill_ms);
        self.after.tokens_milli = rate.refill(state.tokens_milli, elapsed_ms, count, self.ceiling_milli)?;
        Ok(self)
    }

    /// A limit that is not on the item yet.
    pub(crate) fn seeded(state: LimitState, shard_count: u32, opened: bool) -> Self {
        Self {
            before: None,
            ceiling_milli: share(state.capacity_milli, shard_count.into()),
            length_ms: state.reset_after_seconds.map(|seconds| seconds.saturating_mul(1000)),
            was_pending: false,
            opened,
            reset: true,
            after: state,
        }
    }

    /// The end of the window after the pass, ms.
    #[must_use]
    pub fn window_end_ms(&self) -> Option<i64> {
        Some(self.after.window_start_ms?.saturating_add(self.length_ms?))
    }

    /// The drip's rate; of no use for a quota.
    #[must_use]
    pub fn rate(&self) -> Rate {
        Rate { amount_milli: self.after.refill_amount_milli, period_ms: self.after.refill_period_ms }
    }
}

/// How a live balance moves when an operator changes a quota's capacity, so that what was already
/// admitted in the window keeps counting (F2, F16).
///
/// What is taken away is taken by the grant, what is added by the share: a donor's grant speaks
/// for slots it has since given away, and adding by it would mint them twice.
fn capacity_shift(old_milli: i128, new_milli: i128, grant_count: i128, shard_count: i128) -> i128 {
    let difference = new_milli.saturating_sub(old_milli);
    if difference.is_negative() {
        share(new_milli, grant_count).saturating_sub(share(old_milli, grant_count))
    } else {
        share(difference, shard_count.max(grant_count))
    }
}

fn stamp_parameters(state: &mut LimitState, limit: &Limit) {
    state.capacity_milli = milli(limit.capacity);
    match limit.recovery {
        Recovery::Session(_) => {
            state.refill_amount_milli = 0;
            state.refill_period_ms = 1000;
        }
        Recovery::Drip(Drip { refill_amount, refill_period_seconds }) => {
            state.refill_amount_milli = milli(refill_amount);
            state.refill_period_ms = i64::try_from(refill_period_seconds).unwrap_or(1).saturating_mul(1000);
        }
    }
}

/// A configured limit as a new item stores it, without its balance.
pub(crate) fn state_of(limit: &Limit) -> LimitState {
    let mut state = LimitState { name: Arc::from(limit.name.as_str()), ..LimitState::default() };
    stamp_parameters(&mut state, limit);
    state.reset_after_seconds = limit.length_seconds();
    state
}

/// The write budget of a new item: a thousand writes, and a thousand more each second.
fn fresh_wcu() -> LimitState {
    LimitState {
        name: Arc::from("wcu"),
        tokens_milli: 1_000_000,
        capacity_milli: 1_000_000,
        refill_amount_milli: 1_000_000,
        ..LimitState::default()
    }
}

/// `multiplier` times what a limit takes to be full again from nothing, seconds: a window's length,
/// a drip's time to fill.
fn recovery_seconds(state: &LimitState, multiplier: i64) -> i64 {
    if let Some(length_seconds) = state.reset_after_seconds {
        return length_seconds.saturating_mul(multiplier);
    }
    state
        .capacity_milli
        .checked_mul(state.refill_period_ms.into())
        .and_then(|product| product.checked_mul(multiplier.into()))
        .and_then(|product| product.checked_div(state.refill_amount_milli.max(1)))
        .and_then(|ms| i64::try_from(ms.div_euclid(1000)).ok())
        .unwrap_or(i64::MAX)
}

/// How long an item outlives its last use, seconds: `multiplier` times its slowest recovery.
fn lifetime<'a>(limits: impl Iterator<Item = &'a LimitState>, multiplier: i64) -> i64 {
    limits.map(|state| recovery_seconds(state, multiplier)).max().unwrap_or(0)
}

/// How long an item of these limits outlives its last use, seconds: `multiplier` times its slowest
/// recovery (section 8). Items are written with a multiplier of 7.
#[must_use]
pub fn lifetime_seconds(limits: &[Limit], multiplier: i64) -> i64 {
    let states: Vec<LimitState> = limits.iter().map(state_of).collect();
    lifetime(states.iter(), multiplier)
}

/// Refuses an item whose balances a calendar moves, which we cannot evaluate (section 7).
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
    /// `unsupported` where the item needs what we cannot evaluate, `overflow` where a number
    /// leaves its range.
    pub fn of(shard: &Shard, settings: &Settings<'_>) -> Result<Self, Error> {
        Self::with_seeds(Some(shard), shard.id, proven_count(shard), Vec::new(), settings)
    }

    /// A pass that seeds limits: onto an item, or as a new one.
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
        // R6: strictly forward, or the lock would not change under a clock that runs behind.
        let last_refill_ms =
            starts.chain(stored_rf.map(|rf| rf.saturating_add(1))).fold(settings.now_ms, i64::max);
        let lifetime = lifetime(limits.iter().map(|limit| &limit.after), TTL_MULTIPLIER);
        let ttl_seconds = (!settings.permanent).then(|| {
            let now_seconds = settings.now_ms.div_euclid(1000);
            now_seconds.saturating_add(lifetime).min(FARTHEST_TTL_SECONDS)
        });
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
        })
    }

    /// The item as read; none for a new one.
    #[must_use]
    pub fn read(&self) -> Option<&Shard> {
        self.read.as_ref()
    }

    /// The item as read, the pass given up.
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
        let Some(read) = &self.read else { return false };
        let soft = read.limit(name).and_then(|limit| limit.soft_until_ms);
        read.is_bypassed(self.now_ms) || soft.is_some_and(|until| until > self.now_ms)
    }

    /// What is missing of `milli` of a limit; 0 where it fits or is waived. None where the pass
    /// does not know the limit.
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

    /// Milliseconds until what is missing of `takes` is there on this shard (R14), as the item
    /// says: where its window starts in the future, later than what is [told](crate::rule::window::told_ms). 0 where
    /// everything fits.
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

    /// Takes back every opening: who only refills leaves what has ended to the next use.
    pub(crate) fn leave_ended(&mut self) {
        for limit in self.limits.iter_mut().filter(|limit| limit.opened) {
            let Some(before) = limit.before.clone() else { continue };
            limit.after = LimitState { window_applied_ms: before.window_start_ms, ..before };
            (limit.opened, limit.reset) = (false, false);
        }
        self.valid_until_ms = self.limits.iter().filter_map(LimitMaterialisation::window_end_ms).min();
    }

    /// The pass taken back: the item as read, for a fast write that needs none.
    pub(crate) fn reverted(mut self) -> Self {
        for limit in self.limits.iter_mut().chain(&mut self.wcu) {
            let Some(before) = limit.before.clone() else { continue };
            limit.after = before;
            (limit.opened, limit.reset) = (false, false);
        }
        self
    }

    /// Whether any balance is raised or set anew.
    pub(crate) fn raises(&self) -> bool {
        self.limits.iter().any(|limit| {
            limit.reset
                || limit.before.as_ref().is_some_and(|before| limit.after.tokens_milli > before.tokens_milli)
        })
    }

    /// The windows this pass opens.
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

    /// The shard once `takes` are taken.
    #[must_use]
    pub fn after(&self, debits: &[Debit]) -> Shard {
        let taken = |materialisation: &LimitMaterialisation| {
            let milli = taken_of(debits, &materialisation.after.name);
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
            limits: self.limits.iter().map(taken).collect(),
            wcu: self.wcu.as_ref().map(taken),
            ..read
        }
    }

    /// The write that makes it so: a locked update of the item that was read, or the put of a new
    /// one, with `takes` taken.
    #[must_use]
    pub fn write(&self, subject: &Subject, owner: &Owner, debits: &[Debit]) -> ConditionalWrite {
        let sk = Cow::Borrowed(STATE_SK);
        if let Some(read) = &self.read {
            let (action, clauses) = self.update(read, debits);
            return ConditionalWrite { pk: read.pk.clone(), sk, action, clauses };
        }
        ConditionalWrite {
            pk: subject.bucket_pk(self.id),
            sk,
            action: Action::Put(self.item(subject, owner, debits)),
            clauses: vec![vec![Term::absent(Field::Pk)]],
        }
    }

    fn update(&self, read: &Shard, debits: &[Debit]) -> (Action, Vec<Vec<Term>>) {
        let mut changes = vec![Change::set(Field::LastRefill, self.last_refill_ms)];
        let mut clauses = vec![vec![Term::compare(Field::LastRefill, Test::Equal, read.last_refill_ms)]];
        if !debits.is_empty() {
            clauses.extend(service_gates());
        }
        // R11: a `vu` of 0 that somebody wrote in between asks for a pass of its own.
        clauses.require(Term::as_read(Field::ValidUntil.into(), read.valid_until_ms));
        if self.valid_until_ms != read.valid_until_ms {
            changes.push(Change::to(Field::ValidUntil.into(), self.valid_until_ms));
        }
        if self.ttl_seconds != read.ttl_seconds {
            changes.push(Change::to(Field::Ttl.into(), self.ttl_seconds));
        }
        if self.shard_count != read.shard_count {
            changes.push(Change::set(Field::ShardCount, self.shard_count));
        }
        if self.shard_count != read.shard_count || self.limits.iter().any(|limit| limit.reset) {
            // A doubling in between would make the share too large, and must not be undone.
            let count = i64::from(self.shard_count);
            clauses.push(Term::unless_absent(Field::ShardCount.into(), Test::AtMost, count));
        }
        for limit in self.limits.iter().chain(&self.wcu) {
            limit.update(taken_of(debits, &limit.after.name), &mut changes, &mut clauses);
        }
        (Action::Update(changes), clauses)
    }

    /// A new item.
    fn item(&self, subject: &Subject, owner: &Owner, debits: &[Debit]) -> Vec<Change> {
        let Subject { namespace, entity, resource, .. } = subject;
        let id = &*decimal(self.id);
        let text = |field: Field, parts: &[&str]| Change::with(field.into(), Value::Text(parts.concat()));
        let mut item = vec![
            text(Field::EntityId, &[entity]),
            text(Field::Resource, &[resource]),
            text(Field::Gsi2Pk, &[namespace, "/RESOURCE#", resource]),
            text(Field::Gsi2Sk, &["BUCKET#", entity, "#", id]),
            text(Field::Gsi3Pk, &[namespace, "/ENTITY#", entity]),
            text(Field::Gsi3Sk, &["BUCKET#", resource, "#", id]),
            text(Field::Gsi4Pk, &[namespace]),
            text(Field::Gsi4Sk, &["BUCKET#", entity, "#", resource, "#", id]),
            Change::set(Field::LastRefill, self.last_refill_ms),
            Change::set(Field::ShardCount, self.shard_count),
            Change::with(Field::Cascade.into(), Value::Boolean(owner.cascade.unwrap_or(false))),
        ];
        item.extend(self.valid_until_ms.map(|instant| Change::set(Field::ValidUntil, instant)));
        item.extend(self.ttl_seconds.map(|instant| Change::set(Field::Ttl, instant)));
        item.extend(owner.parent_id.as_ref().map(|parent| text(Field::ParentId, &[parent])));
        item.extend(
            owner.parent_generation.map(|generation| Change::set(Field::ParentGeneration, generation)),
        );
        item.extend(owner.parent_incarnation.as_ref().map(|stamp| text(Field::ParentIncarnation, &[stamp])));
        for limit in self.limits.iter().chain(&self.wcu) {
            item.extend(limit.seed(taken_of(debits, &limit.after.name)));
        }
        item
    }
}

/// The shard count an item proves (R4): the stored one, or the size of a grant on it that is larger.
///
/// Another writer may seed a quota sized at 16 shards onto an item that was made by one which knew
/// of 8, and leave the count as it is. The next reset at 8 would grant again what the shard split
/// off meanwhile was granted.
pub(crate) fn proven_count(shard: &Shard) -> u32 {
    let granted = shard.limits.iter().filter_map(|limit| u32::try_from(limit.grant_count?).ok()).max();
    shard.shard_count.max(granted.map_or(1, legal_count))
}

/// The farthest instant a `ttl` is set to: year 9999.
const FARTHEST_TTL_SECONDS: i64 = 253_402_300_799;

fn taken_of(debits: &[Debit], name: &str) -> i128 {
    debits.iter().find(|debit| &*debit.limit == name).map_or(0, |debit| debit.milli)
}

/// No write of ours takes from a bucket that is switched off, nor from one that debits a parent as
/// well, unless it is a cascade's, which changes the second of these gates.
pub(crate) fn service_gates() -> [Vec<Term>; 2] {
    [Field::Disabled, Field::Cascade].map(|field| {
        vec![Term::absent(field), Term::with(field.into(), Test::NotEqual, Value::Boolean(true))]
    })
}

impl LimitMaterialisation {
    /// A seeded limit's attributes.
    fn seed(&self, taken: i128) -> Vec<Change> {
        let state = &self.after;
        let of = |field: Field| field.of(&state.name);
        let mut item = vec![
            Change::set(of(Field::Tokens), state.tokens_milli.saturating_sub(taken)),
            Change::set(of(Field::Capacity), state.capacity_milli),
            Change::set(of(Field::RefillAmount), state.refill_amount_milli),
            Change::set(of(Field::RefillPeriod), state.refill_period_ms),
            Change::set(of(Field::Consumed), taken),
        ];
        let mut known = |field: Field, value: Option<i64>| {
            item.extend(value.map(|value| Change::set(field.of(&state.name), value)));
        };
        known(Field::ResetAfter, state.reset_after_seconds);
        known(Field::WindowStart, state.window_start_ms);
        known(Field::WindowApplied, state.window_applied_ms);
        known(Field::GrantCount, state.grant_count);
        item
    }

    /// The difference to what was read, and what must not have changed since (R5, R10).
    fn update(&self, taken: i128, changes: &mut Vec<Change>, clauses: &mut Vec<Vec<Term>>) {
        let of = |field: Field| field.of(&self.after.name);
        let Some(before) = &self.before else {
            clauses.require(Term::absent(of(Field::Tokens)));
            return changes.extend(self.seed(taken));
        };
        let after = &self.after;
        let mut stamp = |field, old: i128, new: i128| {
            if old != new {
                changes.push(Change::set(of(field), new));
                clauses.require(Term::compare(of(field), Test::Equal, old));
            }
        };
        stamp(Field::Capacity, before.capacity_milli, after.capacity_milli);
        stamp(Field::RefillAmount, before.refill_amount_milli, after.refill_amount_milli);
        stamp(Field::RefillPeriod, before.refill_period_ms.into(), after.refill_period_ms.into());
        if before.grant_count != after.grant_count && !self.reset {
            // Whoever marks a grant with its size in between has read it off another balance.
            clauses.require(Term::as_read(of(Field::GrantCount), before.grant_count));
        }
        let mut change = |field, old: Option<i64>, new: Option<i64>| {
            if old != new {
                changes.push(Change::to(of(field), new));
            }
        };
        change(Field::ResetAfter, before.reset_after_seconds, after.reset_after_seconds);
        change(Field::WindowStart, before.window_start_ms, after.window_start_ms);
        change(Field::WindowApplied, before.window_applied_ms, after.window_applied_ms);
        change(Field::GrantCount, before.grant_count, after.grant_count);
        if before.topped_up_milli != after.topped_up_milli {
            changes.push(Change::to(of(Field::ToppedUp), None));
        }
        if self.length_ms.is_some() || before.reset_after_seconds.is_some() {
            // R5: `rf` alone is no lock against a clock that runs behind, nor against a
            // propagation that lands between the read and the write.
            clauses.require(Term::as_read(of(Field::WindowStart), before.window_start_ms));
            clauses.require(Term::as_read(of(Field::WindowApplied), before.window_applied_ms));
        }
        let raise = after.tokens_milli.saturating_sub(before.tokens_milli);
        let delta = raise.saturating_sub(taken);
        if self.reset || raise > 0 {
            // R10: a credit that landed in between must not stack on the balance that is set here.
            // A reset that finds what it sets is no raise, and yet it would.
            clauses.require(Term::compare(of(Field::Tokens), Test::AtMost, before.tokens_milli));
        }
        if delta < 0 {
            // R10; a balance in debt, or one that a reset takes into debt, could never meet the
            // decrease itself: then what was read is enough.
            let floor = delta.saturating_neg().min(before.tokens_milli);
            clauses.require(Term::compare(of(Field::Tokens), Test::AtLeast, floor));
        }
        if delta != 0 {
            changes.push(Change::add(of(Field::Tokens), delta));
        }
        if taken != 0 {
            changes.push(Change::add(of(Field::Consumed), taken));
        }
    }
}
