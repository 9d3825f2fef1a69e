//! The core's machines, as a client runs them.

use std::mem;

use onewindow::{
    Acquire, AcquireRequest, Amount, Call, Cascade, CascadeDecision, Decision, Hint, Outcome, Reply, Settle,
    Settlement, Step,
};

use crate::{
    ledger::{Actor, CascadeLedger},
    quota::LIMIT,
    setting::Setting,
    store::Request,
};

/// What a client knows of one entity: the one it asks for, or a parent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Known {
    /// The entity's place in the setting.
    pub(super) place: u8,
    pub(super) hint: Hint,
}

impl Known {
    pub(super) fn at_first(setting: &Setting, place: u8, client: Option<u8>) -> Self {
        Self { place, hint: setting.entity(place).hint(client) }
    }

    /// Rejections are not remembered: a client that repeats one sends nothing to the table.
    pub(super) fn of(place: u8, hint: Hint) -> Self {
        Self { place, hint: Hint { rejections: Vec::new(), ..hint } }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::large_enum_variant, reason = "most are the large one")]
pub(super) enum Machine {
    Acquire(Acquire),
    Cascade(Cascade, CascadeLedger),
    Settle(Settle),
}

/// A machine's answer.
pub(super) enum End {
    Decision(Decision),
    Cascade(CascadeDecision, CascadeLedger),
    Settlement(Settlement),
}

impl End {
    /// The answer, where it was a request.
    pub(super) fn outcome(self) -> Option<Outcome> {
        match self {
            Self::Decision(decision) => Some(decision.outcome),
            Self::Cascade(decision, _) => Some(decision.outcome),
            Self::Settlement(_) => None,
        }
    }
}

impl Machine {
    /// A request on the first of these entities that draws these shards, and its first calls. For an
    /// entity with a parent it is a cascade.
    pub(super) fn begin(
        setting: &Setting,
        known: &[Known],
        shards: &[u32],
        now_ms: u64,
    ) -> Option<(Self, Vec<Call>)> {
        let mut levels: Vec<AcquireRequest> = known
            .iter()
            .zip(shards)
            .map(|(known, shard)| request(setting, known, *shard, now_ms))
            .collect::<Option<_>>()?;
        let cascades = setting.entity(known.first()?.place).parent.is_some();
        let mut machine = if cascades {
            Self::Cascade(Cascade::new(levels), CascadeLedger::default())
        } else {
            Self::Acquire(Acquire::new(levels.remove(0)))
        };
        match machine.advance(now_ms, &[]) {
            Step::Perform(calls) => Some((machine, calls)),
            Step::Done(_) => None,
        }
    }

    pub(super) fn advance(&mut self, now_ms: u64, replies: &[Reply]) -> Step<End> {
        match self {
            Self::Acquire(machine) => ending(machine.advance(now_ms, replies), End::Decision),
            Self::Cascade(machine, ledger) => {
                ending(machine.advance(now_ms, replies), |decision| End::Cascade(decision, mem::take(ledger)))
            }
            Self::Settle(machine) => ending(machine.advance(now_ms, replies), End::Settlement),
        }
    }

    /// The actor that the ledgers record for a call of this machine.
    pub(super) fn actor(&self, client: u8, request: &Request) -> Actor {
        match self {
            Self::Cascade(..) if request.credit().is_some() => Actor::Credit,
            Self::Acquire(_) | Self::Cascade(..) => Actor::Acquire,
            Self::Settle(_) => Actor::Settle(client),
        }
    }
}

fn ending<D>(step: Step<D>, end: impl FnOnce(D) -> End) -> Step<End> {
    match step {
        Step::Perform(calls) => Step::Perform(calls),
        Step::Done(decision) => Step::Done(end(decision)),
    }
}

/// A request that draws this shard.
fn request(setting: &Setting, known: &Known, shard: u32, now_ms: u64) -> Option<AcquireRequest> {
    let entity = setting.entity(known.place);
    let pk = format!("\"{}\"", entity.subject().bucket_pk(shard));
    let request = |seed| AcquireRequest {
        subject: entity.subject(),
        consume: vec![Amount::new(LIMIT, setting.amount)],
        limits: vec![entity.limit()],
        hint: Some(known.hint.clone()),
        seed,
        ..AcquireRequest::default()
    };
    let draws = |request: &AcquireRequest| match Acquire::new(request.clone()).advance(now_ms, &[]) {
        Step::Perform(calls) => calls[0].body.contains(&pk),
        Step::Done(_) => false,
    };
    (0..256).map(request).find(draws)
}

/// A client's clock as the core reads it, epoch ms.
pub(super) fn clock(ms: i64) -> u64 {
    u64::try_from(ms).unwrap_or_default()
}
