//! What a settlement changes: for each limit and shard, the actual amount less the estimate.

use alloc::{borrow::Cow, sync::Arc, vec::Vec};

use crate::{
    item::{Field, LimitState, Shard},
    rule::balance::ceiling,
    text::quoted,
    types::{
        answer::Call,
        error::Error,
        key::STATE_SK,
        lease::{Lease, LeasedLimit, LeasedWindow},
        limit::Amount,
        request::unique,
        settlement::Settlement,
        subject::Subject,
    },
    write::{Action, Change, Clauses, ConditionalWrite, Images, Term, Test},
};

/// What is left to do on one shard.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Part {
    shard: u32,
    limits: Vec<Correction>,
    pub(super) tries: u32,
}

/// The correction of one limit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Correction {
    name: Arc<str>,
    /// Millitokens used beyond what was debited; negative: a credit.
    more_milli: i128,
    capacity_milli: i128,
    ceiling_milli: i128,
    window: Option<LeasedWindow>,
    /// The credit exceeds the ceiling: the next materialisation has to clamp the balance.
    clamp: bool,
}

/// The differences, shard by shard. What was used beyond the estimate is charged to the first
/// shard that served the limit; what was not used is credited to the shards that were debited.
pub(super) fn corrections(lease: &Lease, actual: &[Amount]) -> Result<Vec<Part>, Error> {
    let mut parts: Vec<Part> =
        lease.parts.iter().map(|part| Part { shard: part.shard, limits: Vec::new(), tries: 0 }).collect();
    unique(actual.iter().map(|amount| amount.limit.as_str()))?;
    for amount in actual {
        let debited =
            lease.parts.iter().filter_map(|part| part.limit(&amount.limit)).map(|limit| limit.debited_milli);
        let Some(debited) = debited.map(i128::from).reduce(i128::saturating_add) else {
            if lease.parts.is_empty() {
                continue;
            }
            return Err(Error::invalid(&["limit ", &quoted(&amount.limit), " is not part of the lease"]));
        };
        let mut more = amount.milli().saturating_sub(debited);
        for (part, leased) in parts.iter_mut().zip(&lease.parts) {
            let Some(limit) = leased.limit(&amount.limit) else { continue };
            let here = more.max(i128::from(limit.debited_milli).saturating_neg());
            more = more.saturating_sub(here);
            if here != 0 {
                part.limits.push(Correction::new(limit, here));
            }
        }
    }
    Ok(parts)
}

impl Correction {
    fn new(limit: &LeasedLimit, more_milli: i128) -> Self {
        Self {
            name: Arc::from(limit.name.as_str()),
            more_milli,
            capacity_milli: limit.capacity_milli.into(),
            ceiling_milli: limit.ceiling_milli.into(),
            window: limit.window,
            clamp: false,
        }
    }

    fn is_credit(&self) -> bool {
        self.more_milli.is_negative()
    }

    /// Whether this is a credit whose window is over. It is dropped: the reset restores the balance anyway.
    fn is_over(&self, now_ms: i64) -> bool {
        self.is_credit() && self.window.is_some_and(|window| window.end_ms <= now_ms)
    }

    /// Plans again from the image of a refused write. False: the window is over, and the credit is dropped.
    fn settle(&mut self, state: &LimitState, shard: &Shard) -> bool {
        if !self.is_credit() {
            return true;
        }
        let same = |window: LeasedWindow| {
            state.window_start_ms == Some(window.start_ms) && state.window_applied_ms == window.applied_ms
        };
        if self.window.is_some_and(|window| !same(window)) {
            return false;
        }
        self.capacity_milli = state.capacity_milli;
        self.ceiling_milli = ceiling(state, shard.shard_count, self.window.is_some());
        self.clamp |= state.tokens_milli.saturating_sub(self.more_milli) > self.ceiling_milli;
        true
    }
}

impl Part {
    /// Drops the credits whose window is over; whether there were any.
    pub(super) fn drop_ended(&mut self, now_ms: i64) -> bool {
        let before = self.limits.len();
        self.limits.retain(|limit| !limit.is_over(now_ms));
        self.limits.len() < before
    }

    pub(super) fn is_settled(&self) -> bool {
        self.limits.is_empty()
    }

    /// Plans again from the returned image. Returns why a correction was dropped.
    pub(super) fn settle(&mut self, shard: &Shard) -> Option<Settlement> {
        let mut worst = None;
        self.limits.retain_mut(|limit| match shard.limit(&limit.name) {
            Some(state) if limit.settle(state, shard) => true,
            Some(_) => {
                worst = worst.take().or(Some(Settlement::WindowOver));
                false
            }
            None => {
                worst = Some(Settlement::ItemGone);
                false
            }
        });
        worst
    }

    pub(super) fn call(&self, subject: &Subject) -> Call {
        let mut changes = Vec::new();
        let mut clauses = Vec::new();
        for limit in &self.limits {
            let of = |field: Field| field.of(&limit.name);
            changes.push(Change::add(of(Field::Tokens), limit.more_milli.saturating_neg()));
            changes.push(Change::add(of(Field::Consumed), limit.more_milli));
            // An addition must re-create neither the item nor the limit.
            clauses.require(Term::exists(of(Field::Tokens)));
            if !limit.is_credit() {
                continue;
            }
            if let Some(window) = limit.window {
                clauses.require(Term::compare(of(Field::WindowStart), Test::Equal, window.start_ms));
                clauses.require(Term::as_read(of(Field::WindowApplied), window.applied_ms));
            }
            if !limit.clamp {
                // The ceiling was computed from a capacity that an operator may have lowered.
                let room = limit.ceiling_milli.saturating_add(limit.more_milli);
                clauses.require(Term::compare(of(Field::Capacity), Test::AtLeast, limit.capacity_milli));
                clauses.require(Term::compare(of(Field::Tokens), Test::AtMost, room));
            }
        }
        if self.limits.iter().any(|limit| limit.clamp) {
            changes.push(Change::set(Field::ValidUntil, 0));
        }
        let write = ConditionalWrite {
            pk: subject.bucket_pk(self.shard),
            sk: Cow::Borrowed(STATE_SK),
            action: Action::Update(changes),
            clauses,
        };
        write.call(&subject.table, Images::Both)
    }
}
