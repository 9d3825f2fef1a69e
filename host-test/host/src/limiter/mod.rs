//! The limiter: an engine, a client and a clock, and the loop between them.
//!
//! Each answer is a `tracing` span `onewindow.acquire` at the level debug, with the outcome,
//! round trips, requests, resends, the reset instant and the wait; no entity is named.

mod chains;
mod configurations;
mod drive;
mod follow_ups;
mod telemetry;

use std::{sync::Arc, time::Duration};

use onewindow::{
    AcquireRequest, Amount, Call, CascadeDecision, Decision, Hint, Lease, Limit, LimitStatus, Outcome,
    PreviewOutcome, Settlement, Subject, config,
};
use tokio::time::Instant;

use crate::{
    Hints,
    clock::Clock,
    dynamo::{Client, Cost},
    engine::{Engine, PreviewDecision},
};
use chains::Chains;
use configurations::Configurations;
use drive::{Undecided, drive};
pub use follow_ups::FollowUpStats;
use follow_ups::FollowUps;
use telemetry::{Reported, in_span};

/// What to do with a request that the table did not answer in time.
///
/// It is never asked where the table *refuses* us: a wrong set-up must not become an unlimited
/// quota.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnUnavailable {
    /// Let it through, counted nowhere.
    Allow,
    /// Turn it away.
    #[default]
    Block,
}

/// How a [`Limiter`] behaves.
#[derive(Clone, Debug)]
pub struct LimiterOptions {
    /// The clock that windows are read against.
    pub clock: Clock,
    /// How long a caller waits for an answer at most, resends and all.
    pub deadline: Duration,
    /// How long a follow-up may take, resends and all. Nobody waits for it.
    pub follow_up_deadline: Duration,
    /// What to do where the table did not answer in time.
    pub on_unavailable: OnUnavailable,
    /// Subjects remembered at most; about 200 bytes each. 0 remembers nothing.
    pub remembered_subjects: usize,
    /// How long a rejection that the table gave is repeated without asking the table, at most.
    ///
    /// Such a rejection costs nothing, where one that reaches the table costs a write unit. It
    /// is never repeated beyond the instant it was told for; this bounds how long an operator's
    /// top-up or reset goes unnoticed here. Zero asks the table each time.
    pub repeat_rejections_for: Duration,
    /// How long configuration that was read from the table (section 8) is kept. It is read for
    /// requests that bring no limits of their own, in one batch. None: the table's is never read,
    /// and such a request takes every limit as the item has it.
    pub keep_configuration_for: Option<Duration>,
}

impl Default for LimiterOptions {
    fn default() -> Self {
        Self {
            clock: Clock::System,
            deadline: Duration::from_secs(1),
            follow_up_deadline: Duration::from_secs(10),
            on_unavailable: OnUnavailable::Block,
            remembered_subjects: 10_000,
            repeat_rejections_for: Duration::from_secs(10),
            keep_configuration_for: None,
        }
    }
}

/// Enforces limits on a table. Cheap to clone; clones share everything.
///
/// It runs inside a Tokio runtime, where it spawns the follow-ups. A future of its that is dropped
/// half-way gives up like a host that crashed: nothing is admitted that was not written, and what
/// was written stays taken.
#[derive(Clone, Debug)]
pub struct Limiter {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    engine: Engine,
    client: Client,
    options: LimiterOptions,
    hints: Hints,
    chains: Chains,
    configurations: Configurations,
    follow_ups: FollowUps,
}

/// The answer to a request for tokens.
#[derive(Clone, Debug)]
#[must_use = "it says whether the tokens were taken"]
pub struct Answer {
    /// What was decided. Its follow-ups are under way already.
    pub decision: Decision,
    /// Whether the request is let through although the table did not answer
    /// ([`OnUnavailable::Allow`]). The outcome stays what it is: unavailable.
    pub degraded: bool,
    /// How many follow-ups were begun.
    pub follow_ups: usize,
    /// What it took to come to the answer; the follow-ups are not in it.
    pub cost: Cost,
}

impl Answer {
    /// Whether the caller may go ahead: taken, or let through under [`OnUnavailable::Allow`].
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.degraded || self.decision.outcome.is_admitted()
    }

    /// What was taken, to be settled later.
    #[must_use]
    pub fn lease(&self) -> Option<&Lease> {
        match &self.decision.outcome {
            Outcome::Admitted(lease) => Some(lease),
            _ => None,
        }
    }
}

impl Reported for Answer {
    fn outcome(&self) -> &Outcome {
        &self.decision.outcome
    }

    fn limits(&self) -> &[LimitStatus] {
        &self.decision.limits
    }

    fn cost(&self) -> &Cost {
        &self.cost
    }
}

/// The answer to a request for tokens of an entity and of those above it.
#[derive(Clone, Debug)]
#[must_use = "it says whether the tokens were taken"]
pub struct CascadeAnswer {
    /// What was decided. Its follow-ups are under way already.
    pub decision: CascadeDecision,
    /// Whether the request is let through although the table did not answer
    /// ([`OnUnavailable::Allow`]).
    pub degraded: bool,
    /// How many follow-ups were begun.
    pub follow_ups: usize,
    /// What it took to come to the answer; the follow-ups are not in it.
    pub cost: Cost,
}

impl Reported for CascadeAnswer {
    fn outcome(&self) -> &Outcome {
        &self.decision.outcome
    }

    /// Those of the level that decided.
    fn limits(&self) -> &[LimitStatus] {
        self.decision.levels.get(self.decision.decided_by).map_or(&[], |level| &level.limits)
    }

    fn cost(&self) -> &Cost {
        &self.cost
    }
}

/// The answer to a settlement.
#[derive(Clone, Debug)]
#[must_use = "it says whether the difference is recorded"]
pub struct Settled {
    /// What became of it.
    pub settlement: Settlement,
    /// What it took.
    pub cost: Cost,
}

/// The answer to a preview.
#[derive(Clone, Debug)]
#[must_use]
pub struct Previewed {
    /// What was read.
    pub outcome: PreviewOutcome,
    /// What it took.
    pub cost: Cost,
}

impl Limiter {
    /// A limiter. Nothing is sent.
    #[must_use]
    pub fn new(engine: Engine, client: Client, options: LimiterOptions) -> Self {
        let hints = Hints::new(options.remembered_subjects);
        let configurations = Configurations::new(options.keep_configuration_for);
        let follow_ups = FollowUps::default();
        Self {
            inner: Arc::new(Inner {
                engine,
                client,
                options,
                hints,
                chains: Chains::default(),
                configurations,
                follow_ups,
            }),
        }
    }

    /// Takes tokens, all or nothing.
    ///
    /// Where the request carries no hint, the one remembered for its subject is used; where its
    /// seed is 0, a random one is drawn.
    pub async fn acquire(&self, request: AcquireRequest) -> Answer {
        in_span(self.decide(request)).await
    }

    async fn decide(&self, mut request: AcquireRequest) -> Answer {
        let Inner { engine, client, options, hints, configurations, .. } = &*self.inner;
        let key = request.subject.hint_key();
        let now_ms = options.clock.now_ms();
        if let Some(hint) = hints.rejecting(&key, now_ms, options.repeat_rejections_for)
            && let Some(decision) = engine.reject(&request, &hint, now_ms)
        {
            return self.answer(decision, Cost::default());
        }
        if request.hint.is_none() {
            request.hint = hints.get(&key);
        }
        if request.seed == 0 {
            request.seed = fastrand::u64(1..);
        }
        let mut cost = Cost::default();
        let deadline = Instant::now() + options.deadline;
        let configured = match configurations.fill_in(&mut request, client, deadline, &mut cost).await {
            Ok(Some(configuration)) if configuration.disabled => {
                return self.answer(bare(Outcome::Disabled), cost);
            }
            Ok(configured) => configured,
            Err(outcome) => return self.answer(bare(outcome), cost),
        };
        let driven = drive(&self.inner, |engine| engine.acquire(request), &mut cost).await;
        let decision = driven.unwrap_or_else(|undecided| {
            bare(match undecided {
                Undecided::Busy => Outcome::Unavailable(undecided.to_string()),
                Undecided::Runaway => Outcome::Failed(undecided.into()),
            })
        });
        if decision.hint.key == key {
            hints.put(decision.hint.clone(), options.clock.now_ms());
        }
        if configured.is_some_and(|configured| configured.differs_from(&decision)) {
            configurations.forget(&key);
        }
        self.answer(decision, cost)
    }

    /// Takes tokens from an entity and from every entity above it: from all or from none.
    ///
    /// Who is above whom is what the items and the entities' records say; it is remembered, so
    /// that the steady state is one round trip. Limits that the request leaves out are read from the
    /// table for each level ([`LimiterOptions::keep_configuration_for`]). A lease is given for each
    /// level, to be settled by itself.
    pub async fn acquire_cascading(&self, request: AcquireRequest) -> CascadeAnswer {
        in_span(self.decide_cascading(request)).await
    }

    async fn decide_cascading(&self, request: AcquireRequest) -> CascadeAnswer {
        let Inner { options, hints, chains, .. } = &*self.inner;
        let key = request.subject.hint_key();
        let mut cost = Cost::default();
        let decision = match self.levels(request, chains.get(&key), &mut cost).await {
            Ok(levels) => {
                let subjects: Vec<_> = levels.iter().map(|level| level.subject.clone()).collect();
                let driven = drive(&self.inner, |engine| engine.cascade(levels), &mut cost).await;
                let decision = driven.unwrap_or_else(|undecided| match undecided {
                    Undecided::Busy => chains::bare(Outcome::Unavailable(undecided.to_string())),
                    Undecided::Runaway => chains::bare(Outcome::Failed(undecided.into())),
                });
                let above = decision.levels.iter().skip(1).map(|level| level.entity.clone());
                if !decision.levels.is_empty() {
                    chains.put(key, above.collect());
                }
                for (level, subject) in decision.levels.iter().zip(&subjects) {
                    if level.hint.key == subject.hint_key() {
                        hints.put(level.hint.clone(), options.clock.now_ms());
                    }
                }
                decision
            }
            Err(outcome) => chains::bare(outcome),
        };
        self.cascade_answer(decision, cost)
    }

    /// A request for each entity that is known to be in the chain.
    async fn levels(
        &self,
        request: AcquireRequest,
        above: Vec<String>,
        cost: &mut Cost,
    ) -> Result<Vec<AcquireRequest>, Outcome> {
        let Inner { client, options, hints, configurations, .. } = &*self.inner;
        let deadline = Instant::now() + options.deadline;
        let own = request.subject.entity.clone();
        let mut levels = Vec::new();
        for entity in std::iter::once(own).chain(above) {
            let mut level = request.clone();
            level.seed = fastrand::u64(1..);
            if !levels.is_empty() {
                // The caller's limits and hint are the entity's own.
                level.subject.entity = entity;
                level.limits.clear();
                level.hint = None;
            }
            if let Some(configured) = configurations.fill_in(&mut level, client, deadline, cost).await?
                && configured.disabled
            {
                return Err(Outcome::Disabled);
            }
            if level.hint.is_none() {
                level.hint = hints.get(&level.subject.hint_key());
            }
            levels.push(level);
        }
        Ok(levels)
    }

    fn cascade_answer(&self, mut decision: CascadeDecision, cost: Cost) -> CascadeAnswer {
        let follow_ups = self.begin(std::mem::take(&mut decision.follow_ups));
        let degraded = self.lets_through(&decision.outcome);
        CascadeAnswer { decision, degraded, follow_ups, cost }
    }

    fn answer(&self, mut decision: Decision, cost: Cost) -> Answer {
        let follow_ups = self.begin(std::mem::take(&mut decision.follow_ups));
        let degraded = self.lets_through(&decision.outcome);
        Answer { decision, degraded, follow_ups, cost }
    }

    /// Begins what follows an answer; how many calls it is.
    fn begin(&self, calls: Vec<Call>) -> usize {
        let Inner { client, options, follow_ups, .. } = &*self.inner;
        let begun = calls.len();
        follow_ups.begin(client, calls, options.follow_up_deadline);
        begun
    }

    fn lets_through(&self, outcome: &Outcome) -> bool {
        matches!(outcome, Outcome::Unavailable(_))
            && self.inner.options.on_unavailable == OnUnavailable::Allow
    }

    /// Corrects a lease to what was really used: 0 releases, a limit left out keeps its estimate.
    ///
    /// `lease` is what [`Lease::encode`] wrote, on this host or another.
    pub async fn settle(&self, table: &str, lease: &str, actual: Vec<Amount>) -> Settled {
        let mut cost = Cost::default();
        let driven = drive(&self.inner, |engine| engine.settle(table, lease, actual), &mut cost).await;
        let settlement = driven.unwrap_or_else(|undecided| match undecided {
            Undecided::Busy => Settlement::Unavailable(undecided.to_string()),
            Undecided::Runaway => Settlement::Failed(undecided.into()),
        });
        if let Ok(lease) = Lease::decode(lease) {
            // What was rejected before may fit now.
            self.inner.hints.forget_rejections(&lease.subject(table).hint_key());
        }
        Settled { settlement, cost }
    }

    /// Looks at what is left without taking. `limits` left empty: whatever the items know.
    pub async fn preview(&self, subject: Subject, mut limits: Vec<Limit>) -> Previewed {
        let mut cost = Cost::default();
        let key = subject.hint_key();
        let Inner { client, options, configurations, .. } = &*self.inner;
        if limits.is_empty() {
            let deadline = Instant::now() + options.deadline;
            match configurations.read(&subject, client, deadline, &mut cost).await {
                Ok(Some((configuration, _))) => limits.clone_from(&configuration.limits),
                Ok(None) => {}
                Err(outcome) => return Previewed { outcome: unreadable(outcome), cost },
            }
        }
        let hint = self.inner.hints.get(&key);
        let driven =
            drive(&self.inner, |engine| engine.preview(subject, limits, hint.as_ref()), &mut cost).await;
        let outcome = match driven {
            Ok(PreviewDecision { outcome, hint }) => {
                if hint.key == key {
                    self.inner.hints.learn_shard_count(hint, self.inner.options.clock.now_ms());
                }
                outcome
            }
            Err(busy @ Undecided::Busy) => PreviewOutcome::Unavailable(busy.to_string()),
            Err(runaway @ Undecided::Runaway) => PreviewOutcome::Failed(runaway.into()),
        };
        Previewed { outcome, cost }
    }

    /// The id of a namespace, from its name in the table's registry. To be kept: it never changes.
    ///
    /// # Errors
    /// Where there is none of that name, or the table does not say.
    pub async fn namespace_id(&self, table: &str, name: &str) -> Result<String, Outcome> {
        let deadline = Instant::now() + self.inner.options.deadline;
        let call = config::namespace_call(table, name)?;
        let reply = configurations::ask(&self.inner.client, call, deadline, &mut Cost::default()).await;
        config::namespace_id(name, &reply)
    }

    /// Waits until every follow-up begun so far is done. To be called before a process ends.
    pub async fn flush(&self) {
        self.inner.follow_ups.flush().await;
    }

    /// What became of the follow-ups.
    #[must_use]
    pub fn follow_up_stats(&self) -> FollowUpStats {
        self.inner.follow_ups.stats()
    }

    /// Forgets every hint and all configuration, as a host that was started anew.
    pub fn forget(&self) {
        self.inner.hints.clear();
        self.inner.chains.clear();
        self.inner.configurations.clear();
    }

    /// Who decides.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.inner.engine
    }

    /// The table's client.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.inner.client
    }

    /// How it behaves.
    #[must_use]
    pub fn options(&self) -> &LimiterOptions {
        &self.inner.options
    }
}

/// A decision that was come to without a machine.
fn bare(outcome: Outcome) -> Decision {
    Decision { outcome, limits: Vec::new(), follow_ups: Vec::new(), hint: Hint::default() }
}

/// Why there is no preview, as the configuration's reader says it.
fn unreadable(outcome: Outcome) -> PreviewOutcome {
    match outcome {
        Outcome::Failed(error) => PreviewOutcome::Failed(error),
        Outcome::Misconfigured(reason) => PreviewOutcome::Misconfigured(reason),
        Outcome::Unavailable(reason) => PreviewOutcome::Unavailable(reason),
        _ => PreviewOutcome::Unavailable("the configuration cannot be read".into()),
    }
}
