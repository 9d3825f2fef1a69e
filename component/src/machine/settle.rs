//! A lease is settled to what was really used (section 6.8): one update on the shard that admitted
//! it.
//!
//! More than was debited is always charged, even into debt. Less is credited only into the window
//! that was debited, and never above what the shard may hold.

use alloc::{borrow::Cow, string::String, sync::Arc, vec::Vec};
use core::mem;

use crate::{
    item::{Field, LimitState, Shard},
    rule::balance::ceiling,
    text::quoted,
    types::answer::{Call, Reply, Step},
    types::error::Error,
    types::key::STATE_SK,
    types::lease::{Lease, LeasedLimit, LeasedWindow},
    types::limit::{Amount, instant_ms},
    types::request::unique,
    types::subject::Subject,
    wire::{Answer, read},
    write::{Action, Change, Clauses, ConditionalWrite, Images, Term, Test},
};

/// Writes one part may try: as leased, and again as the failed one's image shows it.
const MAX_TRIES: u32 = 4;

/// What became of a settlement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Settlement {
    /// Every difference is recorded.
    Settled,
    /// The window that was debited is over: nothing to credit.
    WindowOver,
    /// The item is gone: nothing to settle.
    ItemGone,
    /// The lease or the amounts are at fault. Nothing was written.
    Failed(Error),
    /// The table did not answer in a usable way; the difference may or may not be recorded.
    Unavailable(String),
    /// The table refuses the caller.
    Misconfigured(String),
}

/// The machine that settles a lease. See the [crate's](crate) loop.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Settle {
    table: String,
    lease: String,
    actual: Vec<Amount>,
    state: State,
    subject: Subject,
    /// The worst result of any part.
    settlement: Settlement,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum State {
    Start,
    Writing(Vec<Part>),
    Done,
}

/// What is left to do on one shard.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Part {
    shard: u32,
    limits: Vec<Correction>,
    tries: u32,
}

/// One limit's difference.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Correction {
    name: Arc<str>,
    /// Millitokens used beyond what was debited; negative: a credit.
    more_milli: i128,
    capacity_milli: i128,
    ceiling_milli: i128,
    window: Option<LeasedWindow>,
    /// The shard is too full for the credit: the next materialisation has to clamp it.
    clamp: bool,
}

impl Settle {
    /// A machine for one lease. `actual` is what was really used, by limit: 0 releases, a limit
    /// left out keeps its estimate. Nothing is checked before the first `advance`.
    #[must_use]
    pub fn new(table: &str, lease: &str, actual: Vec<Amount>) -> Self {
        Self {
            table: table.into(),
            lease: lease.into(),
            actual,
            state: State::Start,
            subject: Subject::default(),
            settlement: Settlement::Settled,
        }
    }

    /// Reads the replies to the calls of the step before, and returns the next step. `now_ms` is one
    /// reading of the host's clock, epoch milliseconds.
    #[must_use = "a step holds the calls to make, or the settlement"]
    pub fn advance(&mut self, now_ms: u64, replies: &[Reply]) -> Step<Settlement> {
        let state = mem::replace(&mut self.state, State::Done);
        let next = instant_ms(now_ms).and_then(|now_ms| {
            Ok((
                now_ms,
                match state {
                    State::Start => self.start(),
                    State::Writing(parts) => self.written(parts, replies),
                    State::Done => Err(Error::misuse("the machine has already decided")),
                }?,
            ))
        });
        match next {
            Ok((now_ms, parts)) => self.go_on(parts, now_ms),
            Err(error) => Step::Done(Settlement::Failed(error)),
        }
    }

    fn start(&mut self) -> Result<Vec<Part>, Error> {
        let lease = Lease::decode(&self.lease)?;
        self.subject = lease.subject(&self.table);
        self.subject.check()?;
        let parts = corrections(&lease, &self.actual)?;
        if lease.parts.is_empty() {
            // The request was of 0 tokens, and there was no item.
            self.fell(Settlement::ItemGone);
        }
        Ok(parts)
    }

    fn written(&mut self, parts: Vec<Part>, replies: &[Reply]) -> Result<Vec<Part>, Error> {
        if parts.len() != replies.len() {
            return Err(Error::miscounted(replies.len(), "as many as it named calls"));
        }
        let mut again = Vec::new();
        for (mut part, reply) in parts.into_iter().zip(replies) {
            match read(reply) {
                Answer::Landed(_) => {}
                Answer::Refused(Some(image)) if part.tries < MAX_TRIES => match image.shard() {
                    Ok(shard) => {
                        part.judge(&shard).into_iter().for_each(|settlement| self.fell(settlement));
                        again.push(part);
                    }
                    Err(error) => self.fell(Settlement::Failed(error.into())),
                },
                Answer::Refused(None) => self.fell(Settlement::ItemGone),
                Answer::Misconfigured(reason) => self.fell(Settlement::Misconfigured(reason)),
                Answer::Unavailable(reason) => self.fell(Settlement::Unavailable(reason)),
                Answer::Busy | Answer::Refused(Some(_)) => {
                    self.fell(Settlement::Unavailable("other writers won every round".into()));
                }
                Answer::Read { .. } | Answer::Cancelled(_) => {
                    let reason = "the table answered something other than what was asked";
                    self.fell(Settlement::Unavailable(reason.into()));
                }
            }
        }
        Ok(again)
    }

    fn go_on(&mut self, mut parts: Vec<Part>, now_ms: i64) -> Step<Settlement> {
        for part in &mut parts {
            let before = part.limits.len();
            part.limits.retain(|limit| !limit.is_over(now_ms));
            if part.limits.len() < before {
                self.fell(Settlement::WindowOver);
            }
            part.tries = part.tries.saturating_add(1);
        }
        parts.retain(|part| !part.limits.is_empty());
        if parts.is_empty() {
            return Step::Done(mem::replace(&mut self.settlement, Settlement::Settled));
        }
        let calls = parts.iter().map(|part| part.call(&self.subject)).collect();
        self.state = State::Writing(parts);
        Step::Perform(calls)
    }

    fn fell(&mut self, settlement: Settlement) {
        let weight = |settlement: &Settlement| match settlement {
            Settlement::Settled => 0_u8,
            Settlement::WindowOver => 1,
            Settlement::ItemGone => 2,
            Settlement::Failed(_) => 3,
            Settlement::Unavailable(_) => 4,
            Settlement::Misconfigured(_) => 5,
        };
        if weight(&settlement) > weight(&self.settlement) {
            self.settlement = settlement;
        }
    }
}

/// The differences, shard by shard. What was used beyond the estimate is charged to the first
/// shard that served the limit; what was not used is credited to the shards that were debited.
fn corrections(lease: &Lease, actual: &[Amount]) -> Result<Vec<Part>, Error> {
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

    /// A credit whose window is over is dropped: the reset has credited it already.
    fn is_over(&self, now_ms: i64) -> bool {
        self.is_credit() && self.window.is_some_and(|window| window.end_ms <= now_ms)
    }

    /// Reads the limit as a refused write's image shows it; false: its window is over.
    fn judge(&mut self, state: &LimitState, shard: &Shard) -> bool {
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
    /// Plans again from what came back; returns why a correction was dropped.
    fn judge(&mut self, shard: &Shard) -> Option<Settlement> {
        let mut worst = None;
        self.limits.retain_mut(|limit| match shard.limit(&limit.name) {
            Some(state) if limit.judge(state, shard) => true,
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

    fn call(&self, subject: &Subject) -> Call {
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
