//! One level of a cascade: an entity, its configuration and its sequence.

use alloc::{borrow::ToOwned, string::String, vec, vec::Vec};
use core::mem;

use crate::{
    machine::{
        acquire::{Acquire, End},
        config,
    },
    rule::balance::{share, tokens},
    types::{
        answer::{Call, Decision, Outcome, Reply, Step},
        hint::Hint,
        lease::Lease,
        limit::milli,
        request::AcquireRequest,
        subject::Subject,
    },
};

/// Entities in one chain at most.
pub const MAX_LEVELS: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Level {
    pub(super) request: AcquireRequest,
    /// The parent that its items debit as well, as far as is known.
    parent: Option<String>,
    pub(super) state: State,
    /// When it was decided, by the host's clock: the answer may be given later.
    decided_ms: u64,
    /// Calls of its own under way.
    pub(super) calls: usize,
}

#[expect(clippy::large_enum_variant, reason = "there are few, and they do not move")]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum State {
    /// It reads its configuration from the table.
    Configuring,
    Acquiring(Acquire),
    /// Its items debit this parent instead of the expected one; with its follow-ups.
    ParentChanged(Option<String>, Vec<Call>),
    Decided(Decision),
}

impl Level {
    pub(super) fn acquiring(request: AcquireRequest, parent: Option<String>) -> Self {
        Self { state: State::acquiring(&request, parent.clone()), request, parent, decided_ms: 0, calls: 0 }
    }

    /// A level that reads its configuration first. `request` holds where the table configures nothing.
    pub(super) fn configuring(request: AcquireRequest, parent: Option<String>) -> Self {
        Self { request, parent, state: State::Configuring, decided_ms: 0, calls: 0 }
    }

    pub(super) fn step(&mut self, now_ms: u64, replies: &[Reply]) -> Vec<Call> {
        if matches!(self.state, State::Configuring) {
            let [reply] = replies else { return vec![config::call(&self.request.subject)] };
            self.state = match self.configure(reply) {
                Ok(()) => State::acquiring(&self.request, self.parent.clone()),
                Err(outcome) => State::Decided(bare(outcome, self.request.subject.hint_key())),
            };
            return self.step(now_ms, &[]);
        }
        let State::Acquiring(machine) = &mut self.state else { return Vec::new() };
        match machine.advance_level(now_ms, replies) {
            Step::Perform(calls) => calls,
            Step::Done(end) => {
                self.state = match end {
                    End::OtherParent { found, follow_ups } => State::ParentChanged(found, follow_ups),
                    End::Decided(decision) => State::Decided(decision),
                };
                self.decided_ms = now_ms;
                Vec::new()
            }
        }
    }

    fn configure(&mut self, reply: &Reply) -> Result<(), Outcome> {
        let found = config::resolve(&self.request.subject, reply)?;
        if found.disabled {
            return Err(Outcome::Disabled);
        }
        if !found.limits.is_empty() {
            self.request.permanent = found.is_permanent();
            self.request.authoritative = true;
            self.request.limits = found.limits;
        }
        self.request = mem::take(&mut self.request).of_known();
        Ok(())
    }

    /// The parent that its items debit instead of the expected one.
    pub(super) fn other_parent(&self) -> Option<Option<String>> {
        match &self.state {
            State::ParentChanged(parent, _) => Some(parent.clone()),
            _ => None,
        }
    }

    /// Updates a decision that waited for other levels or for credits: a window that ended meanwhile
    /// counts as restored (R13), and the wait is shorter by the time that passed.
    pub(super) fn bring_up_to_date(&mut self, now_ms: u64) {
        let State::Decided(decision) = &mut self.state else { return };
        let mut shards = i128::from(decision.hint.shard_count);
        if let Outcome::Rejected { retry_after_ms } = &mut decision.outcome {
            let waited_ms = now_ms.saturating_sub(self.decided_ms);
            *retry_after_ms = retry_after_ms.saturating_sub(waited_ms).max(1);
            shards = 1;
        }
        for limit in &mut decision.limits {
            if limit.resets_at_ms.is_some_and(|instant| instant <= now_ms) {
                limit.resets_at_ms = None;
                limit.available = tokens(share(milli(limit.capacity), shards));
            }
        }
    }

    /// Starts again with the parent that its items debit.
    pub(super) fn restart(&mut self, parent: Option<String>) {
        self.state = State::Acquiring(Acquire::of_level(self.request.clone(), parent.clone()));
        self.parent = parent;
    }

    /// Ends without asking the table again.
    pub(super) fn end(&mut self, outcome: Outcome) {
        self.state = State::Decided(bare(outcome, self.request.subject.hint_key()));
    }

    pub(super) fn lease(&self) -> Option<Lease> {
        match &self.state {
            State::Decided(Decision { outcome: Outcome::Admitted(lease), .. }) => Some(lease.clone()),
            _ => None,
        }
    }
}

impl State {
    /// The follow-ups of a level that leaves the chain.
    pub(super) fn into_follow_ups(self) -> Vec<Call> {
        match self {
            Self::Configuring => Vec::new(),
            Self::Acquiring(machine) => machine.into_follow_ups(),
            Self::ParentChanged(_, follow_ups) => follow_ups,
            Self::Decided(decision) => decision.follow_ups,
        }
    }

    fn acquiring(request: &AcquireRequest, parent: Option<String>) -> Self {
        if request.consume.is_empty() && !request.limits.is_empty() {
            // None of its limits is asked for: it admits.
            let Subject { namespace, entity, resource, .. } = request.subject.clone();
            let lease = Lease { namespace, entity, resource, parts: Vec::new() };
            return Self::Decided(bare(Outcome::Admitted(lease), request.subject.hint_key()));
        }
        Self::Acquiring(Acquire::of_level(request.clone(), parent))
    }
}

impl AcquireRequest {
    /// The same request, for the entity `parent`.
    pub(super) fn of_parent(&self, parent: &str) -> Self {
        let subject = Subject { entity: parent.to_owned(), ..self.subject.clone() };
        Self { subject, authoritative: false, permanent: false, ..self.clone() }
    }

    /// The request without the amounts whose limit is not configured.
    pub(super) fn of_known(mut self) -> Self {
        let limits = &self.limits;
        if !limits.is_empty() {
            self.consume.retain(|amount| limits.iter().any(|limit| limit.name == amount.limit));
        }
        self
    }
}

/// A decision without limits.
pub(super) fn bare(outcome: Outcome, key: String) -> Decision {
    let hint = Hint { key, shard_count: 1, rejections: Vec::new() };
    Decision { outcome, limits: Vec::new(), follow_ups: Vec::new(), hint }
}
