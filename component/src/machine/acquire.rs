//! Taking tokens (section 6): the sequence from a fast write to a decision.
//!
//! ```text
//! fast write ──landed──▶ admitted
//!   │ failed: the item, as it is, comes back with the refusal
//!   ├─ nothing there ─────▶ join: read siblings, create in one transaction      R7 R8
//!   ├─ something is due ──▶ pass: one locked write planned from the image       R1 R4 R12
//!   ├─ write budget spent ▶ a pass restores it; where that is too little: double the shard count,
//!   │                       try a new shard                                     6.9
//!   └─ short ─────────────▶ unsharded: rejected; sharded: look at all shards    R9
//! ```
//!
//! A request is admitted only by a write that landed. Every write that loses a race sends the
//! sequence back to a fast write, at most [`MAX_ROUNDS`] times.

use alloc::{borrow::Cow, string::String, sync::Arc, vec, vec::Vec};
use core::mem;

use crate::{
    item::{Attributes, Field, LimitState, Owner, Shard},
    machine::preview::Preview,
    machine::settle,
    rule::balance::share,
    rule::fast::{self, Obstacle},
    rule::join::{self, Join, Reading, count_is},
    rule::materialise::{
        Debit, LimitMaterialisation, Materialisation, Settings, check_unscheduled, proven_count,
        service_gates,
    },
    rule::propagate,
    rule::survey::{Placement, Rejection, ShardSurvey, tokens},
    rule::window::reported_reset_ms,
    types::answer::{Call, Decision, Outcome, Reply, Step},
    types::error::{Corrupt, Error},
    types::hint::{Hint, KnownRejection},
    types::key::{META_SK, STATE_SK},
    types::lease::{Lease, LeasePart, LeasedLimit, LeasedWindow},
    types::limit::instant_ms,
    types::preview::{LimitPreview, PreviewOutcome},
    types::request::AcquireRequest,
    types::subject::{MAX_SHARD_COUNT, legal_count},
    wire::{Answer, Reason, read},
    write::{Action, Change, Clauses, ConditionalWrite, Images, Term, Test, Value, batch_read, transaction},
};

/// Admission writes one request may try.
pub const MAX_ROUNDS: u32 = 4;
/// How often a join is planned: once, and at most twice more.
pub const MAX_JOINS: u32 = 3;
/// When a contended request may ask again, ms.
pub const CONTENDED_MS: u64 = 100;
/// The machine that takes tokens. See the [crate's](crate) loop.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Acquire {
    request: AcquireRequest,
    debits: Vec<Debit>,
    now_ms: i64,
    state: State,
    /// The shard asked, and the largest shard count heard of.
    shard: u32,
    shard_count: u32,
    rounds: u32,
    joins: u32,
    reads: u32,
    doubled: bool,
    /// What the entity's own record says; none: there is none.
    owner: Option<Owner>,
    /// Whom the bucket's items debit besides, as a cascade that takes from both knows it.
    parent: Option<String>,
    /// What the items say about that instead.
    met: Option<Option<String>>,
    follow_ups: Vec<Call>,
}

/// What is under way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
enum State {
    #[default]
    Start,
    /// A read of an item, for limits that the configuration leaves out.
    Learning,
    /// A read of all shards, for a request of nothing.
    Asking(Preview),
    Fast,
    Locked(Materialisation),
    Doubling {
        from: u32,
        /// Whether the write also marks grants with their size.
        marking: bool,
    },
    /// The read a join is planned from; with the item, where it only lacks a limit.
    Siblings {
        own: Option<Shard>,
    },
    Joining {
        materialisation: Materialisation,
        siblings: Vec<Shard>,
        admits: bool,
    },
    Surveying,
    Gathering(Vec<(Materialisation, Vec<Debit>)>),
    Done,
}

/// An early end: the decision's outcome.
type Ended<T> = Result<T, Outcome>;

impl Acquire {
    /// A machine for one request. Nothing is checked before the first `advance`.
    #[must_use]
    pub fn new(request: AcquireRequest) -> Self {
        let debits = request.consume.iter().map(|amount| Debit::new(amount, &request.limits)).collect();
        let shard_count =
            request.hint.as_ref().and_then(|hint| hint.shard_count_for(&request.subject)).unwrap_or(1);
        Self {
            debits,
            now_ms: 0,
            state: State::Start,
            shard: draw(request.seed, shard_count),
            shard_count,
            rounds: 0,
            joins: 0,
            reads: 0,
            doubled: false,
            owner: None,
            parent: None,
            met: None,
            follow_ups: Vec::new(),
            request,
        }
    }

    /// A machine for one level of a cascade: it takes only from items that debit `parent` besides.
    pub(crate) fn of_level(request: AcquireRequest, parent: Option<String>) -> Self {
        Self { parent, ..Self::new(request) }
    }

    /// Whom the items debit besides, where it is not who was expected; then nothing was taken.
    pub(crate) fn met(&self) -> Option<Option<&str>> {
        self.met.as_ref().map(Option::as_deref)
    }

    /// What was to be done after the answer, of a sequence that is given up.
    pub(crate) fn give_up(self) -> Vec<Call> {
        self.follow_ups
    }

    /// Takes the replies to the calls of the step before, and says what is next. `now_ms` is one
    /// reading of the host's clock, epoch milliseconds.
    #[must_use = "a step holds the calls to make, or the decision"]
    pub fn advance(&mut self, now_ms: u64, replies: &[Reply]) -> Step {
        let state = mem::replace(&mut self.state, State::Done);
        let next = instant_ms(now_ms).map_err(Outcome::from).and_then(|now_ms| {
            self.now_ms = now_ms;
            self.step(state, replies)
        });
        next.unwrap_or_else(|outcome| Step::Done(self.decide(outcome, Vec::new(), Vec::new())))
    }

    fn step(&mut self, state: State, replies: &[Reply]) -> Ended<Step> {
        match (state, replies) {
            (State::Start, []) => self.start(),
            (State::Asking(preview), replies) => self.ask(preview, replies),
            (State::Done, _) => Err(Error::misuse("the machine has already decided").into()),
            (state, [reply]) if !matches!(state, State::Start) => {
                let answer = match read(reply) {
                    Answer::Unavailable(reason) => return Err(Outcome::Unavailable(reason)),
                    Answer::Misconfigured(reason) => return Err(Outcome::Misconfigured(reason)),
                    answer => answer,
                };
                self.answered(state, answer)
            }
            (_, replies) => Err(Error::miscounted(replies.len(), "as many as it named calls").into()),
        }
    }

    fn answered(&mut self, state: State, answer: Answer<'_>) -> Ended<Step> {
        match (state, answer) {
            (State::Learning, Answer::Read { items, incomplete: false }) => self.learned(&items),
            (State::Learning, Answer::Read { incomplete: true, .. }) => self.learn(),
            (State::Fast, Answer::Landed(Some(image))) => self.fast_landed(&image),
            (State::Fast, Answer::Refused(image)) => self.classify(image.as_ref()),
            // It asked for the new image: an answer without one is not the table's (F10).
            (State::Locked(materialisation), Answer::Landed(Some(_))) => {
                Ok(self.locked_write_landed(&[(materialisation, self.debits.clone())]))
            }
            // Somebody else has materialised the shard: back to the fast write (6.3).
            (State::Locked(_), Answer::Refused(_)) => self.fast(self.shard),
            (State::Doubling { from, .. }, Answer::Landed(image)) => self.doubled(from, image.as_ref()),
            (State::Doubling { from, marking }, Answer::Refused(image)) => {
                self.not_doubled(from, marking, image.as_ref())
            }
            (State::Siblings { own }, Answer::Read { items, incomplete }) => {
                self.siblings_read(own, &items, incomplete)
            }
            (State::Joining { materialisation, admits, .. }, Answer::Landed(_)) => {
                self.joined(materialisation, admits)
            }
            (State::Joining { siblings, materialisation, .. }, Answer::Cancelled(reasons)) => {
                self.join_cancelled(siblings, materialisation.into_read(), &reasons)
            }
            (State::Surveying, Answer::Read { items, incomplete: false }) => self.surveyed(&items),
            (State::Surveying, Answer::Read { incomplete: true, .. }) => self.look(),
            (State::Gathering(parts), Answer::Landed(_)) => Ok(self.locked_write_landed(&parts)),
            (State::Gathering(_), Answer::Cancelled(reasons)) => self.gather_cancelled(&reasons),
            (_, Answer::Busy) => Err(self.contended()),
            _ => Err(Outcome::Unavailable("the table answered something other than what was asked".into())),
        }
    }

    fn settings(&self) -> Settings<'_> {
        Settings {
            limits: &self.request.limits,
            authoritative: self.request.authoritative,
            permanent: self.request.permanent,
            now_ms: self.now_ms,
        }
    }

    // ---- the first step ----

    fn start(&mut self) -> Ended<Step> {
        self.request.check()?;
        for amount in &self.request.consume {
            let configured = self.settings().limit(&amount.limit).map(|limit| limit.capacity);
            if configured.is_some_and(|capacity| amount.tokens > capacity) {
                return Err(Outcome::NeverFits { limit: amount.limit.clone() });
            }
        }
        if self.debits.iter().all(|debit| debit.milli == 0) {
            let subject = self.request.subject.clone();
            let preview = Preview::new(subject, self.request.limits.clone(), self.request.hint.as_ref());
            return self.ask(preview, &[]);
        }
        let configured = |debit: &Debit| self.settings().limit(&debit.limit).is_some();
        if self.debits.iter().all(configured) {
            return self.fast(self.shard);
        }
        self.learn()
    }

    /// Reads what the configuration leaves out.
    fn learn(&mut self) -> Ended<Step> {
        if self.reads >= MAX_ROUNDS {
            return Err(Outcome::Unavailable("the table left items unread time and again".into()));
        }
        self.reads = self.reads.saturating_add(1);
        let slots: &[u32] = if self.shard == 0 { &[0] } else { &[0, self.shard] };
        let keys = self.request.subject.bucket_keys(slots);
        self.state = State::Learning;
        Ok(Step::Perform(vec![batch_read(&self.request.subject.table, &keys, false)]))
    }

    /// A named limit that neither the configuration nor the item knows is an error before any
    /// write (R15).
    fn learned(&mut self, items: &[Attributes<'_>]) -> Ended<Step> {
        let shards = Attributes::shards(items)?;
        for (amount, debit) in self.request.consume.iter().zip(&mut self.debits) {
            *debit = Debit::find(amount, &self.request.limits, &shards)?;
            let stored = shards.iter().find_map(|shard| shard.limit(&amount.limit));
            if stored.is_some_and(|stored| debit.milli > stored.capacity_milli) {
                return Err(Outcome::NeverFits { limit: amount.limit.clone() });
            }
        }
        for shard in &shards {
            self.learn_count_from(shard);
        }
        self.fast(self.shard)
    }

    /// A request of nothing is a question (F3): answered from a read, over all shards.
    fn ask(&mut self, mut preview: Preview, replies: &[Reply]) -> Ended<Step> {
        let report = match preview.advance(u64::try_from(self.now_ms).unwrap_or_default(), replies) {
            Step::Perform(calls) => {
                self.state = State::Asking(preview);
                return Ok(Step::Perform(calls));
            }
            Step::Done(PreviewOutcome::Report(report)) => report,
            Step::Done(PreviewOutcome::Failed(error)) => return Err(error.into()),
            Step::Done(PreviewOutcome::Unavailable(reason)) => return Err(Outcome::Unavailable(reason)),
            Step::Done(PreviewOutcome::Misconfigured(reason)) => return Err(Outcome::Misconfigured(reason)),
        };
        self.learn_count(report.shard_count);
        if preview.shards().iter().any(|shard| shard.disabled) {
            return Err(Outcome::Disabled);
        }
        let known = |name: &str| report.limits.iter().any(|limit| limit.status.name == name);
        if let Some(amount) = self.request.consume.iter().find(|amount| !known(&amount.limit)) {
            return Err(Error::unknown_limit(&amount.limit).into());
        }
        let debits = self.debits.clone();
        let shards = preview.shards();
        if shards.is_empty() {
            let mut limits = Vec::new();
            for LimitPreview { status, .. } in report.limits {
                if self.request.consume.iter().any(|amount| amount.limit == status.name) {
                    limits.push(status);
                }
            }
            let lease = self.lease(Vec::new());
            return Ok(Step::Done(self.decide(Outcome::Admitted(lease), limits, Vec::new())));
        }
        let survey = ShardSurvey::of(shards, self.shard_count, &debits, self.settings())?;
        if debits.iter().any(|debit| survey.is_in_debt(&debit.limit)) {
            let rejection = survey.rejection(&self.request.consume);
            return Ok(self.rejected(rejection));
        }
        let limits = survey.statuses(&self.request.consume);
        let parts = shards.first().map(|shard| self.lease_part(shard, &debits)).into_iter().collect();
        let lease = self.lease(parts);
        Ok(Step::Done(self.decide(Outcome::Admitted(lease), limits, Vec::new())))
    }

    // ---- the fast write ----

    fn fast(&mut self, shard: u32) -> Ended<Step> {
        self.begin_round()?;
        self.shard = shard;
        self.state = State::Fast;
        let write = fast::write(&self.request.subject, shard, &self.debits, &self.settings());
        Ok(self.perform(write))
    }

    fn fast_landed(&mut self, image: &Attributes<'_>) -> Ended<Step> {
        let after = image.shard().map_err(Corrupt::after_landing)?;
        self.learn_count_from(&after);
        self.restamp(&after);
        let debits = self.debits.clone();
        Ok(self.admitted(&[(after, debits)]))
    }

    /// A changed window length is honest from the next request on (R1): an item that was written
    /// with another is told.
    fn restamp(&mut self, image: &Shard) {
        let differs = |debit: &Debit| {
            let stored = image.limit(&debit.limit).and_then(|limit| limit.reset_after_seconds);
            debit.length_seconds.is_some() && debit.length_seconds != stored
        };
        if !self.debits.iter().any(differs) {
            return;
        }
        // Nobody would tell the siblings of a window that is opened on the side.
        if let Some(materialisation) = Materialisation::of(image, &self.settings())
            .ok()
            .filter(|materialisation| materialisation.opened().is_empty())
        {
            let write = materialisation.write(&self.request.subject, &Owner::default(), &[]);
            self.follow_ups.push(write.call(&self.request.subject.table, Images::Neither));
        }
    }

    /// A quota on the items is one, whatever a configuration says that may be old (R15): it has a
    /// window to gate by, and to give back into.
    fn learn_lengths(&mut self, shards: &[Shard]) {
        if self.request.authoritative {
            return;
        }
        for debit in self.debits.iter_mut().filter(|debit| debit.length_seconds.is_none()) {
            debit.length_seconds =
                shards.iter().find_map(|shard| shard.limit(&debit.limit)?.reset_after_seconds);
        }
    }

    /// Why the fast write failed, from the image that came back (section 6).
    fn classify(&mut self, image: Option<&Attributes<'_>>) -> Ended<Step> {
        let Some(image) = image else { return self.create() };
        let image = image.shard()?;
        self.learn_count_from(&image);
        self.learn_lengths(core::slice::from_ref(&image));
        self.check_served(&image)?;
        let obstacle = fast::obstacle(&image, &self.debits, &self.settings());
        match obstacle {
            // It changed in between.
            None => return self.fast(self.shard),
            Some(Obstacle::Unseeded) => return self.seed(image),
            Some(Obstacle::Due | Obstacle::Short | Obstacle::Wcu) => {}
        }
        let materialisation = Materialisation::of(&image, &self.settings())?;
        if !materialisation.admits(&self.debits) {
            return self.short(&image);
        }
        if obstacle == Some(Obstacle::Wcu) && self.is_outgrown(&materialisation) && self.may_double(&image) {
            return Ok(self.double(&image, None));
        }
        Ok(self.locked(materialisation))
    }

    /// No pass over the drawn shard helps.
    fn short(&mut self, image: &Shard) -> Ended<Step> {
        if self.shard_count > 1 {
            return self.look();
        }
        let debits = self.debits.clone();
        let rejection = ShardSurvey::present(core::slice::from_ref(image), &debits, self.settings())?
            .rejection(&self.request.consume);
        Ok(self.rejected(rejection))
    }

    fn locked(&mut self, materialisation: Materialisation) -> Step {
        let write = materialisation.write(&self.request.subject, &Owner::default(), &self.debits);
        self.state = State::Locked(materialisation);
        self.perform(write)
    }

    // ---- doubling (6.9) ----

    /// A spent write budget comes back with the time since the last pass. Where that is not one write,
    /// more shards are needed; where it is less than half of the budget, too, on a shard that the
    /// last doubling known of brought: an older one may have been left with a remainder. Callers who
    /// wait for their answers always find a write restored, and would all contend for that pass.
    fn is_outgrown(&self, materialisation: &Materialisation) -> bool {
        let is_newest = materialisation.id >= self.shard_count.div_euclid(2);
        materialisation.wcu.as_ref().is_some_and(|LimitMaterialisation { after, .. }| {
            after.tokens_milli < fast::WCU_MILLI
                || is_newest && after.tokens_milli < after.capacity_milli.div_euclid(2)
        })
    }

    fn may_double(&self, image: &Shard) -> bool {
        let doubled = i128::from(self.shard_count.saturating_mul(2));
        // A quota keeps at least one whole token a share (F5).
        let roomy = |limit: &LimitState| {
            limit.reset_after_seconds.is_none() || share(limit.capacity_milli, doubled) >= 1000
        };
        !self.doubled && self.shard_count < MAX_SHARD_COUNT && image.limits.iter().all(roomy)
    }

    fn double(&mut self, image: &Shard, stale: Option<&Shard>) -> Step {
        let write = self.doubling(image, stale);
        self.doubled = true;
        self.state = State::Doubling { from: self.shard_count, marking: stale.is_some() };
        self.perform(write)
    }

    /// Doubles the count on shard 0. `stale` is shard 0 as it came back, where it holds grants
    /// whose size is only told by the count that is about to change.
    fn doubling(&self, image: &Shard, stale: Option<&Shard>) -> ConditionalWrite {
        let from = self.shard_count;
        let mut changes = vec![Change::set(Field::ShardCount, from.saturating_mul(2))];
        // An item that is gone is not brought back by its count alone.
        let mut clauses = vec![vec![Term::exists(Field::Pk)], count_is(from)];
        for quota in self.quotas(image) {
            let of = |field: Field| field.of(&quota);
            let unmarked =
                stale.and_then(|shard| shard.limit(&quota)).filter(|state| state.grant_count.is_none());
            match (unmarked, stale) {
                (Some(state), Some(shard)) => {
                    let count = crate::rule::grant::grant_count(state, shard.shard_count);
                    changes.push(Change::set(of(Field::GrantCount), count));
                    clauses.require(Term::absent(of(Field::GrantCount)));
                    clauses.require(Term::compare(of(Field::Tokens), Test::Equal, state.tokens_milli));
                }
                _ => clauses.push(marked(&quota)),
            }
        }
        ConditionalWrite {
            pk: self.request.subject.bucket_pk(0),
            sk: Cow::Borrowed(STATE_SK),
            action: Action::Update(changes),
            clauses,
        }
    }

    fn doubled(&mut self, from: u32, image: Option<&Attributes<'_>>) -> Ended<Step> {
        self.learn_count(from.saturating_mul(2));
        if let Some(image) = image {
            self.raise_siblings(from, &image.shard()?);
        }
        self.fast(from.saturating_add(draw(self.request.seed, from)))
    }

    /// The quotas a doubling must not change the size of: those of an image, and the configured,
    /// which another shard may have.
    fn quotas(&self, image: &Shard) -> Vec<Arc<str>> {
        let mut names = Vec::new();
        for limit in image.limits.iter().filter(|limit| limit.reset_after_seconds.is_some()) {
            names.push(limit.name.clone());
        }
        let configured = self.request.limits.iter().filter(|limit| limit.length_seconds().is_some());
        for limit in configured.filter(|limit| image.limit(&limit.name).is_none()) {
            names.push(Arc::from(limit.name.as_str()));
        }
        names
    }

    /// The siblings hear of the doubling after the answer. A grant whose size is only told by the
    /// stored count stays as it is: the join that needs it raises it with its size (R8).
    fn raise_siblings(&mut self, from: u32, image: &Shard) {
        let quotas = self.quotas(image);
        let doubled = from.saturating_mul(2);
        for shard in 1..from {
            let mut clauses = vec![vec![Term::compare(Field::ShardCount, Test::Less, doubled)]];
            clauses.extend(quotas.iter().map(marked));
            let write = ConditionalWrite {
                pk: self.request.subject.bucket_pk(shard),
                sk: Cow::Borrowed(STATE_SK),
                action: Action::Update(vec![Change::set(Field::ShardCount, doubled)]),
                clauses,
            };
            self.follow_ups.push(write.call(&self.request.subject.table, Images::Neither));
        }
    }

    fn not_doubled(&mut self, from: u32, marking: bool, image: Option<&Attributes<'_>>) -> Ended<Step> {
        let Some(image) = image.map(Attributes::shard).transpose()? else {
            // Shard 0 is gone; making it anew comes first.
            return self.fast(0);
        };
        self.learn_count_from(&image);
        if image.shard_count >= self.shard_count && self.shard_count > from {
            return self.fast(from.saturating_add(draw(self.request.seed, from)));
        }
        if !marking && image.shard_count == from {
            // Then it was a grant without a size that refused it.
            // Once: a balance that moves all the time would keep us here for ever.
            return Ok(self.double(&image, Some(&image)));
        }
        self.fast(self.shard)
    }

    // ---- joining (6.5, 6.6) ----

    fn create(&mut self) -> Ended<Step> {
        if self.shard == 0 && self.shard_count == 1 && self.parent.is_none() {
            // Nothing is known of any sibling: the transaction finds out.
            return self.join(None, Vec::new());
        }
        self.read_siblings(None)
    }

    fn seed(&mut self, own: Shard) -> Ended<Step> {
        if self.shard_count == 1 {
            return self.join(Some(own), Vec::new());
        }
        self.read_siblings(Some(own))
    }

    fn read_siblings(&mut self, own: Option<Shard>) -> Ended<Step> {
        self.begin_join()?;
        let subject = &self.request.subject;
        let mut keys = subject.bucket_keys(&self.sibling_ids(own.is_none()));
        keys.push((subject.entity_pk(), META_SK));
        let call = batch_read(&subject.table, &keys, true);
        self.state = State::Siblings { own };
        Ok(Step::Perform(vec![call]))
    }

    /// The slot itself, shard 0 and the candidates.
    fn sibling_ids(&self, is_new: bool) -> Vec<u32> {
        let mut ids = crate::rule::grant::candidates(self.shard, self.shard_count, is_new);
        if ids.first() != Some(&0) {
            ids.insert(0, 0);
        }
        // Its candidates are smaller.
        ids.extend(Some(self.shard).filter(|shard| *shard != 0));
        ids
    }

    fn siblings_read(
        &mut self,
        own: Option<Shard>,
        items: &[Attributes<'_>],
        incomplete: bool,
    ) -> Ended<Step> {
        if incomplete {
            return self.read_siblings(own);
        }
        let record = items.iter().find(|item| item.is_entity_record());
        self.owner = record.map(Attributes::owner).transpose()?;
        let mut siblings = Attributes::shards(items)?;
        let known = self.sibling_ids(own.is_none());
        for sibling in &siblings {
            self.learn_count_from(sibling);
        }
        if self.sibling_ids(own.is_none()) != known {
            // A sibling knows of more shards, so more of them could cover the slot.
            return self.read_siblings(own);
        }
        let own = match siblings.iter().position(|sibling| sibling.id == self.shard) {
            Some(index) => {
                let fresh = siblings.swap_remove(index);
                if own.is_none() {
                    // Somebody else made it.
                    return self.fast(self.shard);
                }
                Some(fresh)
            }
            None => None,
        };
        self.join(own, siblings)
    }

    fn join(&mut self, own: Option<Shard>, siblings: Vec<Shard>) -> Ended<Step> {
        if own.is_none() && (self.owner.is_some() || self.parent.is_some()) {
            let owner = self.owner.clone().unwrap_or_default();
            self.check_parent(owner.cascade == Some(true), owner.parent_id.as_deref())?;
        }
        for shard in siblings.iter().chain(&own) {
            self.check_served(shard)?;
            check_unscheduled(shard)?;
        }
        let reading = Reading {
            slot: self.shard,
            own: own.as_ref(),
            siblings: &siblings,
            shard_count: self.shard_count,
            named: &self.debits,
        };
        let join = join::plan(&reading, &self.settings())?;
        let admits = join.materialisation.admits(&self.debits);
        if !admits && !join.moves() {
            // A rejected pass writes nothing, so it anchors nothing (R1).
            return self.look();
        }
        Ok(self.send_join(join, siblings, admits))
    }

    fn send_join(&mut self, join: Join, siblings: Vec<Shard>, admits: bool) -> Step {
        let debits = if admits { self.debits.as_slice() } else { &[] };
        let (materialisation, writes) = join.into_writes(&self.request.subject, self.owner.as_ref(), debits);
        let writes = self.gated(writes);
        self.shard = materialisation.id;
        self.state = State::Joining { materialisation, siblings, admits };
        Step::Perform(vec![transaction(&self.request.subject.table, &writes)])
    }

    fn joined(&mut self, materialisation: Materialisation, admits: bool) -> Ended<Step> {
        self.learn_count(materialisation.shard_count);
        if admits {
            return Ok(self.locked_write_landed(&[(materialisation, self.debits.clone())]));
        }
        // A rejected pass still commits its move; the rest of the entity may serve.
        self.propagate(&materialisation);
        self.look()
    }

    fn join_cancelled(
        &mut self,
        siblings: Vec<Shard>,
        own: Option<Shard>,
        reasons: &[Reason<'_>],
    ) -> Ended<Step> {
        let failed = |index: usize| reasons.get(index).is_some_and(|reason| reason.failed);
        if failed(0) {
            // The slot itself is not as it was: judge it by what came back, or start over.
            return match reasons.first().and_then(|reason| reason.item.as_ref()) {
                Some(image) => {
                    self.begin_round()?;
                    self.classify(Some(image))
                }
                None => self.fast(self.shard),
            };
        }
        let last = reasons.len().saturating_sub(1);
        let others_hold = (0..last).all(|index| !failed(index));
        if own.is_none() && failed(last) && others_hold {
            // Only the entity's own record is not as expected: what it says came back.
            self.begin_join()?;
            self.owner = None;
            self.learn_from_reasons(reasons)?;
            return self.join(own, siblings);
        }
        self.learn_from_reasons(reasons)?;
        self.read_siblings(own)
    }

    /// What cancelled a transaction: an entity's own record that is not as expected, or a shard, which may
    /// know of more shards than it was planned with.
    fn learn_from_reasons(&mut self, reasons: &[Reason<'_>]) -> Ended<()> {
        for item in reasons.iter().filter_map(|reason| reason.item.as_ref()) {
            if item.is_entity_record() {
                self.owner = Some(item.owner()?);
            } else {
                self.learn_count_from(&item.shard()?);
            }
        }
        Ok(())
    }

    // ---- the look (6.2a) ----

    fn look(&mut self) -> Ended<Step> {
        if self.rounds > MAX_ROUNDS {
            return Err(self.contended());
        }
        self.rounds = self.rounds.saturating_add(1);
        let subject = &self.request.subject;
        let slots: Vec<u32> = (0..self.shard_count).collect();
        let keys = subject.bucket_keys(&slots);
        let call = batch_read(&subject.table, &keys, false);
        self.state = State::Surveying;
        Ok(Step::Perform(vec![call]))
    }

    fn surveyed(&mut self, items: &[Attributes<'_>]) -> Ended<Step> {
        let shards = Attributes::shards(items)?;
        let known = self.shard_count;
        for shard in &shards {
            self.learn_count_from(shard);
        }
        if self.shard_count > known {
            return self.look();
        }
        for shard in &shards {
            self.check_served(shard)?;
        }
        self.learn_lengths(&shards);
        let debits = self.debits.clone();
        let mut survey = ShardSurvey::of(&shards, self.shard_count, &debits, self.settings())?;
        match survey.serve(&self.request.subject, self.owner.as_ref()) {
            Some(Placement::Fast(shard)) => self.fast(shard),
            Some(Placement::Locked(materialisation)) => {
                self.shard = materialisation.id;
                Ok(self.locked(materialisation))
            }
            Some(Placement::Created(join)) => Ok(self.send_join(join, shards, true)),
            Some(Placement::Gathered(parts, writes)) => {
                let call = transaction(&self.request.subject.table, &self.gated(writes));
                self.state = State::Gathering(parts);
                Ok(Step::Perform(vec![call]))
            }
            None => {
                let rejection = survey.rejection(&self.request.consume);
                let fits = rejection.retry_after_ms == 0 && rejection.never_fits.is_none();
                match survey.mover() {
                    // It is all there, but not yet where it can be had.
                    Some(join) if fits => Ok(self.send_join(join, shards, false)),
                    _ => Ok(self.rejected(rejection)),
                }
            }
        }
    }

    fn gather_cancelled(&mut self, reasons: &[Reason<'_>]) -> Ended<Step> {
        self.learn_from_reasons(reasons)?;
        self.look()
    }

    // ---- the ends ----

    fn locked_write_landed(&mut self, parts: &[(Materialisation, Vec<Debit>)]) -> Step {
        let mut served = Vec::with_capacity(parts.len());
        for (materialisation, debits) in parts {
            let after = materialisation.after(debits);
            self.propagate(materialisation);
            served.push((after, debits.clone()));
        }
        self.admitted(&served)
    }

    /// The opener tells its siblings, after the answer (R2).
    fn propagate(&mut self, materialisation: &Materialisation) {
        let subject = &self.request.subject;
        let count = self.shard_count.max(legal_count(materialisation.shard_count));
        let writes = propagate::writes(subject, materialisation.id, count, &materialisation.opened());
        let calls = writes.iter().map(|write| write.call(&subject.table, Images::Neither));
        self.follow_ups.extend(calls);
    }

    fn admitted(&mut self, parts: &[(Shard, Vec<Debit>)]) -> Step {
        let leased = parts.iter().map(|(shard, debits)| self.lease_part(shard, debits)).collect();
        let mut limits = Vec::new();
        for debit in &self.debits {
            limits.extend(self.standing(parts, debit));
        }
        let lease = self.lease(leased);
        Step::Done(self.decide(Outcome::Admitted(lease), limits, Vec::new()))
    }

    /// Where a limit stands on the shards that served. A window that ended while the reply was on
    /// its way counts as restored (R13).
    fn standing(&self, parts: &[(Shard, Vec<Debit>)], debit: &Debit) -> Option<crate::LimitStatus> {
        let length_ms = debit.length_seconds.map(|seconds| seconds.saturating_mul(1000));
        let (mut capacity, mut left, mut last_end_ms) = (None, 0_i128, None);
        for (shard, _) in parts {
            let Some(state) = shard.limit(&debit.limit) else { continue };
            let end_ms =
                state.window_start_ms.zip(length_ms).and_then(|(start, length)| start.checked_add(length));
            let restored = end_ms.is_some_and(|end_ms| end_ms <= self.now_ms);
            left = left.saturating_add(if restored {
                share(state.capacity_milli, shard.shard_count.into())
            } else {
                last_end_ms = last_end_ms.max(end_ms);
                state.tokens_milli
            });
            capacity = capacity.or(Some(state.capacity_milli));
        }
        Some(crate::LimitStatus {
            name: (*debit.limit).into(),
            capacity: tokens(capacity?).unsigned_abs(),
            available: tokens(left),
            resets_at_ms: last_end_ms
                .zip(length_ms)
                .map(|(end, length)| reported_reset_ms(end, length, self.now_ms)),
        })
    }

    fn lease(&self, parts: Vec<LeasePart>) -> Lease {
        let subject = &self.request.subject;
        Lease {
            namespace: subject.namespace.clone(),
            entity: subject.entity.clone(),
            resource: subject.resource.clone(),
            parts,
        }
    }

    fn lease_part(&self, shard: &Shard, debits: &[Debit]) -> LeasePart {
        let mut limits = Vec::new();
        for debit in debits {
            let Some(state) = shard.limit(&debit.limit) else { continue };
            let Ok(taken_milli) = i64::try_from(debit.milli) else { continue };
            let window =
                debit.length_seconds.zip(state.window_start_ms).map(|(seconds, start_ms)| LeasedWindow {
                    start_ms,
                    applied_ms: state.window_applied_ms,
                    end_ms: start_ms.saturating_add(seconds.saturating_mul(1000)),
                });
            let ceiling = settle::ceiling_milli(state, shard, window.is_some());
            limits.push(LeasedLimit {
                name: (*debit.limit).into(),
                taken_milli,
                capacity_milli: i64::try_from(state.capacity_milli).unwrap_or(i64::MAX),
                ceiling_milli: i64::try_from(ceiling).unwrap_or(i64::MAX),
                window,
            });
        }
        LeasePart { shard: shard.id, limits }
    }

    fn rejected(&mut self, rejection: Rejection) -> Step {
        let Rejection { retry_after_ms, never_fits, limits, rejections } = rejection;
        let outcome = match never_fits {
            Some(limit) => Outcome::NeverFits { limit: (*limit).into() },
            // Everything would fit, and yet nobody could be asked for it all at once.
            None if retry_after_ms == 0 => Outcome::Contended { retry_after_ms: CONTENDED_MS },
            None => Outcome::Rejected { retry_after_ms },
        };
        Step::Done(self.decide(outcome, limits, rejections))
    }

    fn contended(&self) -> Outcome {
        Outcome::Contended { retry_after_ms: CONTENDED_MS }
    }

    fn decide(
        &mut self,
        outcome: Outcome,
        limits: Vec<crate::LimitStatus>,
        rejections: Vec<KnownRejection>,
    ) -> Decision {
        let hint = Hint { rejections, ..Hint::new(&self.request.subject, self.shard_count) };
        Decision { outcome, limits, follow_ups: mem::take(&mut self.follow_ups), hint }
    }

    // ---- small parts ----

    fn perform(&self, write: ConditionalWrite) -> Step {
        let table = &self.request.subject.table;
        Step::Perform(self.gated(vec![write]).iter().map(|write| write.call(table, Images::Both)).collect())
    }

    /// A level of a cascade takes only where the items debit the same parent besides.
    fn gated(&self, mut writes: Vec<ConditionalWrite>) -> Vec<ConditionalWrite> {
        let Some(parent) = &self.parent else { return writes };
        let [_, alone] = service_gates();
        for write in &mut writes {
            let Some(clause) = write.clauses.iter_mut().find(|clause| **clause == alone) else { continue };
            *clause = vec![Term::with(Field::Cascade.into(), Test::Equal, Value::Boolean(true))];
            write.clauses.push(vec![Term::with(
                Field::ParentId.into(),
                Test::Equal,
                Value::Text(parent.clone()),
            )]);
        }
        writes
    }

    /// Refuses to take from a shard that is switched off, or debits another parent than expected.
    fn check_served(&mut self, shard: &Shard) -> Ended<()> {
        if shard.disabled {
            return Err(Outcome::Disabled);
        }
        self.check_parent(shard.cascade, shard.parent_id.as_deref())
    }

    /// Refuses to take from an item that debits another parent than expected (section 7).
    fn check_parent(&mut self, cascade: bool, parent: Option<&str>) -> Ended<()> {
        let found = parent.filter(|_| cascade);
        if found.is_none() && cascade {
            return Err(
                Error::unsupported("the item debits a parent as well (cascade), and names none").into()
            );
        }
        if found == self.parent.as_deref() {
            return Ok(());
        }
        self.met = Some(found.map(Into::into));
        Err(Error::unsupported("the entity debits a parent as well (cascade)").into())
    }

    fn begin_round(&mut self) -> Ended<()> {
        if self.rounds >= MAX_ROUNDS {
            return Err(self.contended());
        }
        self.rounds = self.rounds.saturating_add(1);
        Ok(())
    }

    fn begin_join(&mut self) -> Ended<()> {
        if self.joins >= MAX_JOINS {
            return Err(self.contended());
        }
        self.joins = self.joins.saturating_add(1);
        Ok(())
    }

    fn learn_count_from(&mut self, shard: &Shard) {
        self.learn_count(proven_count(shard));
    }

    fn learn_count(&mut self, count: u32) {
        self.shard_count = self.shard_count.max(legal_count(count));
    }
}

/// The quota's grant carries its own size, or the quota is not there at all.
fn marked(limit: &Arc<str>) -> Vec<Term> {
    let of = |field: Field| field.of(limit);
    vec![Term::exists(of(Field::GrantCount)), Term::absent(of(Field::Tokens))]
}

/// A slot below `count`, from a number that may be drawn badly.
fn draw(seed: u64, count: u32) -> u32 {
    let mixed = (seed ^ (seed >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    u32::try_from(mixed.checked_rem(u64::from(count)).unwrap_or_default()).unwrap_or_default()
}
