//! A preview: what is left over all shards, and the one instant at which it resets (R13). Nothing is
//! debited.

use alloc::{sync::Arc, vec, vec::Vec};
use core::mem;

use crate::{
    item::Shard,
    rule::materialise::{Debit, Settings},
    rule::shard_count,
    rule::survey::ShardSurvey,
    types::answer::{Reply, Step},
    types::error::Error,
    types::hint::Hint,
    types::limit::{Limit, instant_ms},
    types::preview::{LimitPreview, PreviewOutcome, PreviewReport},
    types::request::check_limits,
    types::subject::{MAX_SHARD_COUNT, Subject},
    wire::{Answer, UNEXPECTED, read},
    write::batch_read,
};

/// Batch reads one preview may make: for the rest of the shards, for a count that grew, for unprocessed keys.
const MAX_READS: u32 = 6;
/// The shards that are read first where the count is not known: the first shard of each doubling.
const PROBES: [u32; 6] = [0, 1, 2, 4, 8, 16];

/// What is left of `shards` at `now_ms`.
///
/// `shard_count` is the number of slots: those without an item count with what R8 would grant them.
/// 0: the given items alone.
///
/// # Errors
/// `invalid-request` for bad limits, `unsupported` where an item carries a schedule, `overflow`.
pub fn report(
    shards: &[Shard],
    shard_count: u32,
    limits: &[Limit],
    now_ms: i64,
) -> Result<PreviewReport, Error> {
    check_limits(limits)?;
    let settings = Settings { limits, authoritative: false, permanent: false, parent: None, now_ms };
    let debits = all_limits(shards, &settings);
    let survey = if shard_count == 0 {
        ShardSurvey::present(shards, &debits, settings)?
    } else {
        ShardSurvey::of(shards, shard_count.min(MAX_SHARD_COUNT), &debits, settings)?
    };
    let mut previews = Vec::new();
    for debit in &debits {
        let status = survey.status(&debit.limit);
        previews.extend(status.map(|status| LimitPreview { status, shards: survey.views(&debit.limit) }));
    }
    Ok(PreviewReport { shard_count, disabled: shards.iter().any(|shard| shard.disabled), limits: previews })
}

/// A request of 0 tokens for every limit that is configured or stored.
fn all_limits(shards: &[Shard], settings: &Settings<'_>) -> Vec<Debit> {
    let debit = |limit: Arc<str>, length_seconds| Debit { limit, milli: 0, length_seconds };
    let configured = settings.limits.iter();
    let mut debits: Vec<Debit> =
        configured.map(|limit| debit(Arc::from(limit.name.as_str()), limit.length_seconds())).collect();
    for state in shards.iter().flat_map(|shard| &shard.limits) {
        if debits.iter().all(|debit| debit.limit != state.name) {
            debits.push(debit(state.name.clone(), state.reset_after_seconds));
        }
    }
    debits
}

/// The machine that reads what is left. See the [crate's](crate) loop.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Preview {
    subject: Subject,
    limits: Vec<Limit>,
    /// The largest shard count that is known; none: nothing was read yet.
    shard_count: Option<u32>,
    shards: Vec<Shard>,
    /// Slots read so far, with or without an item.
    asked: Vec<u32>,
    reads: u32,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum State {
    Start,
    Reading,
    Done,
}

/// An early end.
type Ended<T> = Result<T, PreviewOutcome>;

impl Preview {
    /// A machine for one preview. Where `limits` is empty, the limits are those that the items store. With
    /// a hint it takes one round trip; without, one or two.
    #[must_use]
    pub fn new(subject: Subject, limits: Vec<Limit>, hint: Option<&Hint>) -> Self {
        Self {
            shard_count: shard_count::remembered(hint, &subject),
            subject,
            limits,
            shards: Vec::new(),
            asked: Vec::new(),
            reads: 0,
            state: State::Start,
        }
    }

    /// Reads the replies to the calls of the step before, and returns the next step. `now_ms` is one
    /// reading of the host's clock, epoch milliseconds.
    #[must_use = "a step holds the calls to make, or the outcome"]
    pub fn advance(&mut self, now_ms: u64, replies: &[Reply]) -> Step<PreviewOutcome> {
        self.step(now_ms, replies).unwrap_or_else(Step::Done)
    }

    fn step(&mut self, now_ms: u64, replies: &[Reply]) -> Ended<Step<PreviewOutcome>> {
        let state = mem::replace(&mut self.state, State::Done);
        let now_ms = instant_ms(now_ms)?;
        match (state, replies) {
            (State::Start, []) => {
                self.subject.check()?;
                check_limits(&self.limits)?;
                self.read(match self.shard_count {
                    Some(count) => (0..count).collect(),
                    None => PROBES.to_vec(),
                })
            }
            (State::Reading, [reply]) => self.found(reply, now_ms),
            (State::Done, _) => Err(Error::misuse("the machine has already decided").into()),
            (_, replies) => Err(Error::miscounted(replies.len(), "one for each call").into()),
        }
    }

    fn read(&mut self, slots: Vec<u32>) -> Ended<Step<PreviewOutcome>> {
        if self.reads >= MAX_READS {
            return Err(PreviewOutcome::Unavailable("the table left items unread time and again".into()));
        }
        self.reads = self.reads.saturating_add(1);
        let keys = self.subject.bucket_keys(&slots);
        self.asked = slots;
        self.state = State::Reading;
        Ok(Step::Perform(vec![batch_read(&self.subject.table, &keys, false)]))
    }

    fn found(&mut self, reply: &Reply, now_ms: i64) -> Ended<Step<PreviewOutcome>> {
        let (items, incomplete) = match read(reply) {
            Answer::Read { items, incomplete } => (items, incomplete),
            Answer::Misconfigured(reason) => return Err(PreviewOutcome::Misconfigured(reason)),
            Answer::Unavailable(reason) => return Err(PreviewOutcome::Unavailable(reason)),
            _ => {
                return Err(PreviewOutcome::Unavailable(UNEXPECTED.into()));
            }
        };
        if incomplete {
            let slots = mem::take(&mut self.asked);
            return self.read(slots);
        }
        for item in &items {
            let shard = item.shard()?;
            self.shards.retain(|other| other.id != shard.id);
            self.shards.push(shard);
        }
        let count = shard_count::largest(self.shard_count.unwrap_or(1), &self.shards);
        let known = self.shard_count.replace(count).unwrap_or(0);
        let rest: Vec<u32> = (0..count).filter(|id| *id >= known && !self.asked.contains(id)).collect();
        if !rest.is_empty() {
            return self.read(rest);
        }
        self.shards.retain(|shard| shard.id < count);
        Ok(Step::Done(PreviewOutcome::Report(report(&self.shards, count, &self.limits, now_ms)?)))
    }

    /// The items read so far.
    pub(crate) fn shards(&self) -> &[Shard] {
        &self.shards
    }

    /// What the host may remember about the subject.
    #[must_use]
    pub fn hint(&self) -> Hint {
        Hint::new(&self.subject, self.shard_count.unwrap_or(1))
    }
}
