//! Debiting tokens (section 6): the sequence from a fast write to a decision.
//!
//! ```text
//! fast write ──landed──▶ admitted
//!   │ failed: the refusal returns the item as it is
//!   ├─ nothing there ─────▶ join: read siblings, create in one transaction         R7 R8
//!   ├─ something is due ──▶ materialise: one locked write planned from the image   R1 R4 R12
//!   ├─ write budget spent ▶ a locked write restores it; where that is too little: double the shard
//!   │                       count and try a new shard                              6.9
//!   └─ short ─────────────▶ unsharded: rejected; sharded: survey all shards        R9
//! ```
//!
//! A request is admitted only by a write that landed. Every write that loses a race sends the
//! sequence back to a fast write, at most [`MAX_ROUNDS`] times.
//!
//! | file | its part of the sequence |
//! | --- | --- |
//! | `start` | the checks, a read of what is not configured, a request of 0 tokens |
//! | `fast` | the fast write, and why it was refused |
//! | `due` | the locked write, and the propagation of what it opened |
//! | `survey` | all shards, where one is short |
//! | `join` | a shard that is created, a limit that is seeded |
//! | `double` | a shard count that is doubled |
//! | `end` | the decision and the lease |

mod decide;
mod double;
mod fast;
mod join;
mod locked;
mod start;
mod state;
mod survey;
mod tries;

use alloc::{string::String, vec::Vec};
use core::mem;

pub(crate) use self::{state::End, tries::Contended};
use self::{
    state::{Next, State, Stop},
    tries::{MAX_ROUNDS, Tries},
};
use crate::{
    item::{Owner, Shard},
    rule::{
        materialise::{Debit, Settings},
        shard_count,
    },
    types::{
        answer::{Call, Outcome, Reply, Step},
        error::Error,
        limit::instant_ms,
        request::AcquireRequest,
    },
    wire::{Answer, UNEXPECTED, read},
    write::{ConditionalWrite, Images},
};

/// The machine that debits tokens. See the [crate's](crate) loop.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Acquire {
    request: AcquireRequest,
    debits: Vec<Debit>,
    /// The parent that the items must debit as well (section 7).
    parent: Option<String>,
    state: State,
    /// The clock reading of the step.
    now_ms: i64,
    /// The largest shard count that anything read proves.
    shard_count: u32,
    /// The entity's own record; none until it is read, and where there is none.
    owner: Option<Owner>,
    tries: Tries,
    follow_ups: Vec<Call>,
}

impl Acquire {
    /// A machine for one request. Nothing is checked before the first `advance`.
    #[must_use]
    pub fn new(request: AcquireRequest) -> Self {
        Self {
            debits: request.consume.iter().map(|amount| Debit::new(amount, &request.limits)).collect(),
            parent: None,
            state: State::Start,
            now_ms: 0,
            shard_count: shard_count::remembered(request.hint.as_ref(), &request.subject).unwrap_or(1),
            owner: None,
            tries: Tries::default(),
            follow_ups: Vec::new(),
            request,
        }
    }

    /// A machine for one level of a cascade: it debits only items that debit `parent` as well.
    pub(crate) fn of_level(request: AcquireRequest, parent: Option<String>) -> Self {
        Self { parent, ..Self::new(request) }
    }

    /// The follow-ups of an abandoned sequence.
    pub(crate) fn into_follow_ups(self) -> Vec<Call> {
        self.follow_ups
    }

    /// Reads the replies to the calls of the step before, and returns the next step. `now_ms` is one
    /// reading of the host's clock, epoch milliseconds.
    #[must_use = "a step holds the calls to make, or the decision"]
    pub fn advance(&mut self, now_ms: u64, replies: &[Reply]) -> Step {
        match self.advance_level(now_ms, replies) {
            Step::Perform(calls) => Step::Perform(calls),
            Step::Done(End::Decided(decision)) => Step::Done(decision),
            Step::Done(End::OtherParent { follow_ups, .. }) => {
                self.follow_ups = follow_ups;
                let error = Error::unsupported("the entity debits a parent as well (cascade)");
                Step::Done(self.decide(error.into(), Vec::new(), Vec::new()))
            }
        }
    }

    /// [`Acquire::advance`], for a cascade.
    pub(crate) fn advance_level(&mut self, now_ms: u64, replies: &[Reply]) -> Step<End> {
        let state = mem::replace(&mut self.state, State::Done);
        let next = instant_ms(now_ms).map_err(Stop::from).and_then(|now_ms| {
            self.now_ms = now_ms;
            self.step(state, replies)
        });
        Step::Done(match next {
            Ok(Step::Perform(calls)) => return Step::Perform(calls),
            Ok(Step::Done(decision)) => End::Decided(decision),
            Err(Stop::Outcome(outcome)) => End::Decided(self.decide(outcome, Vec::new(), Vec::new())),
            Err(Stop::OtherParent(found)) => {
                End::OtherParent { found, follow_ups: mem::take(&mut self.follow_ups) }
            }
        })
    }

    fn step(&mut self, state: State, replies: &[Reply]) -> Next {
        match (state, replies) {
            (State::Start, []) => self.start(),
            (State::Previewing(preview), replies) => self.preview(preview, replies),
            (State::Done, _) => Err(Error::misuse("the machine has already decided").into()),
            (state, [reply]) if !matches!(state, State::Start) => {
                let answer = match read(reply) {
                    Answer::Unavailable(reason) => return Err(Outcome::Unavailable(reason).into()),
                    Answer::Misconfigured(reason) => return Err(Outcome::Misconfigured(reason).into()),
                    answer => answer,
                };
                self.answered(state, answer)
            }
            (_, replies) => Err(Error::miscounted(replies.len(), "as many as it named calls").into()),
        }
    }

    fn answered(&mut self, state: State, answer: Answer<'_>) -> Next {
        match (state, answer) {
            (State::ReadingLimits { shard, .. }, Answer::Read { items, incomplete: false }) => {
                self.learned(shard, &items)
            }
            (State::ReadingLimits { shard, reads }, Answer::Read { incomplete: true, .. }) => {
                self.learn(shard, reads)
            }
            (State::Fast { .. }, Answer::Landed(Some(image))) => self.fast_landed(&image),
            (State::Fast { shard }, Answer::Refused(image)) => self.fast_refused(shard, image.as_ref()),
            // The new image was asked for: an answer without one is not the table's (F10).
            (State::Locked(materialisation), Answer::Landed(Some(_))) => {
                Ok(self.locked_landed(&[(materialisation, self.debits.clone())]))
            }
            // Somebody else has materialised the shard: back to the fast write (6.3).
            (State::Locked(materialisation), Answer::Refused(_)) => self.fast(materialisation.id),
            (State::Doubling { from, .. }, Answer::Landed(image)) => self.doubled(from, image.as_ref()),
            (State::Doubling { shard, from, stores_grant_count }, Answer::Refused(image)) => {
                self.not_doubled(shard, from, stores_grant_count, image.as_ref())
            }
            (State::Siblings { shard, own }, Answer::Read { items, incomplete }) => {
                self.siblings_read(shard, own, &items, incomplete)
            }
            (State::Joining { materialisation, admits, .. }, Answer::Landed(_)) => {
                self.joined(materialisation, admits)
            }
            (State::Joining { siblings, materialisation, .. }, Answer::Cancelled(reasons)) => {
                self.join_cancelled(materialisation, siblings, &reasons)
            }
            (State::Surveying, Answer::Read { items, incomplete: false }) => self.surveyed(&items),
            (State::Surveying, Answer::Read { incomplete: true, .. }) => self.survey(),
            (State::Gathering(parts), Answer::Landed(_)) => Ok(self.locked_landed(&parts)),
            (State::Gathering(_), Answer::Cancelled(reasons)) => self.gather_cancelled(&reasons),
            (_, Answer::Busy) => Err(Contended.into()),
            _ => Err(Outcome::Unavailable(UNEXPECTED.into()).into()),
        }
    }

    fn settings(&self) -> Settings<'_> {
        Settings {
            limits: &self.request.limits,
            authoritative: self.request.authoritative,
            permanent: self.request.permanent,
            parent: self.parent.as_deref(),
            now_ms: self.now_ms,
        }
    }

    /// The write as a call whose reply carries the item's image.
    fn perform(&self, write: &ConditionalWrite) -> Step {
        Step::Perform([write.call(&self.request.subject.table, Images::Both)].into())
    }

    fn learn_count(&mut self, count: u32) {
        self.shard_count = self.shard_count.max(shard_count::legal(count));
    }

    fn learn_count_from<'a>(&mut self, shards: impl IntoIterator<Item = &'a Shard>) {
        self.shard_count = shard_count::largest(self.shard_count, shards);
    }
}

/// A slot below `count`, from a seed that may be poorly random.
fn draw(seed: u64, count: u32) -> u32 {
    let mixed = (seed ^ (seed >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    u32::try_from(mixed.checked_rem(u64::from(count)).unwrap_or_default()).unwrap_or_default()
}
