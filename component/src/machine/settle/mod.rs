//! A lease is settled to what was really used (section 6.8): one update for each shard of the lease.
//!
//! More than was debited is always charged, even into debt. Less is credited only into the window
//! that was debited, and never above what the shard may hold.

mod correction;

use alloc::{string::String, vec::Vec};
use core::mem;

use self::correction::{Part, corrections};
use crate::{
    item::Shard,
    rule::shard_count,
    types::{
        answer::{Reply, Step},
        error::Error,
        hint::Hint,
        lease::Lease,
        limit::{Amount, instant_ms},
        settlement::Settlement,
        subject::Subject,
    },
    wire::{Answer, UNEXPECTED, read},
};

/// Attempts at one part's write: first as leased, then planned from the image of the failed attempt.
const MAX_TRIES: u32 = 4;

/// The machine that settles a lease. See the [crate's](crate) loop.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Settle {
    table: String,
    lease: String,
    actual: Vec<Amount>,
    state: State,
    subject: Subject,
    /// The largest shard count that an image showed.
    shard_count: Option<u32>,
    /// The worst result of any part.
    settlement: Settlement,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum State {
    Start,
    Writing(Vec<Part>),
    Done,
}

impl Settle {
    /// A machine for one lease. `actual` is what was really used, by limit: 0 credits the whole estimate,
    /// a limit left out keeps its estimate. Where `actual` is empty, nothing is sent. Nothing is
    /// checked before the first `advance`.
    #[must_use]
    pub fn new(table: &str, lease: &str, actual: Vec<Amount>) -> Self {
        Self {
            table: table.into(),
            lease: lease.into(),
            actual,
            state: State::Start,
            subject: Subject::default(),
            shard_count: None,
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
                match (state, replies) {
                    (State::Start, []) => self.start(),
                    (State::Writing(parts), replies) if parts.len() == replies.len() => {
                        Ok(self.written(parts, replies))
                    }
                    (State::Done, _) => Err(Error::misuse("the machine has already decided")),
                    (_, replies) => Err(Error::miscounted(replies.len(), "one for each call")),
                }?,
            ))
        });
        match next {
            Ok((now_ms, parts)) => self.go_on(parts, now_ms),
            Err(error) => Step::Done(Settlement::Failed(error)),
        }
    }

    /// Whose lease it is, after the first `advance`; none where the lease cannot be read.
    #[must_use]
    pub fn subject(&self) -> Option<&Subject> {
        Some(&self.subject).filter(|subject| **subject != Subject::default())
    }

    /// What the host may remember about the subject; none where no item was read. The host keeps the
    /// larger shard count of this and what it knows, and drops the rejections that it knows: what was
    /// rejected before may fit now.
    #[must_use]
    pub fn hint(&self) -> Option<Hint> {
        self.shard_count.map(|count| Hint::new(&self.subject, count))
    }

    fn learn_count(&mut self, shard: &Shard) {
        self.shard_count = Some(shard_count::largest(self.shard_count.unwrap_or(1), [shard]));
    }

    fn start(&mut self) -> Result<Vec<Part>, Error> {
        let lease = Lease::decode(&self.lease)?;
        self.subject = lease.subject(&self.table);
        self.subject.check()?;
        let parts = corrections(&lease, &self.actual)?;
        if lease.parts.is_empty() {
            // The request was of 0 tokens, and there was no item.
            self.worsen(Settlement::ItemGone);
        }
        Ok(parts)
    }

    fn written(&mut self, parts: Vec<Part>, replies: &[Reply]) -> Vec<Part> {
        let mut again = Vec::new();
        for (mut part, reply) in parts.into_iter().zip(replies) {
            match read(reply) {
                Answer::Landed(image) => {
                    // It is settled, whatever the rest of the item holds.
                    if let Some(Ok(shard)) = image.map(|image| image.shard()) {
                        self.learn_count(&shard);
                    }
                }
                Answer::Refused(Some(image)) if part.tries < MAX_TRIES => match image.shard() {
                    Ok(shard) => {
                        self.learn_count(&shard);
                        part.settle(&shard).into_iter().for_each(|settlement| self.worsen(settlement));
                        again.push(part);
                    }
                    Err(error) => self.worsen(Settlement::Failed(error.into())),
                },
                Answer::Refused(None) => self.worsen(Settlement::ItemGone),
                Answer::Misconfigured(reason) => self.worsen(Settlement::Misconfigured(reason)),
                Answer::Unavailable(reason) => self.worsen(Settlement::Unavailable(reason)),
                Answer::Busy | Answer::Refused(Some(_)) => {
                    self.worsen(Settlement::Unavailable("other writers won every round".into()));
                }
                Answer::Read { .. } | Answer::Cancelled(_) => {
                    self.worsen(Settlement::Unavailable(UNEXPECTED.into()));
                }
            }
        }
        again
    }

    fn go_on(&mut self, mut parts: Vec<Part>, now_ms: i64) -> Step<Settlement> {
        for part in &mut parts {
            if part.drop_ended(now_ms) {
                self.worsen(Settlement::WindowOver);
            }
            part.tries = part.tries.saturating_add(1);
        }
        parts.retain(|part| !part.is_settled());
        if parts.is_empty() {
            return Step::Done(mem::replace(&mut self.settlement, Settlement::Settled));
        }
        let calls = parts.iter().map(|part| part.call(&self.subject)).collect();
        self.state = State::Writing(parts);
        Step::Perform(calls)
    }

    /// The worse of two results is the answer.
    fn worsen(&mut self, settlement: Settlement) {
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
