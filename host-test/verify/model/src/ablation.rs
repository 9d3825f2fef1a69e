//! Ablations: one clause of the rules left out of every request, so that what breaks without it can
//! be seen. The core that ships has no knobs; its requests are changed on their way to the table.

use crate::{
    store::{
        Key, Request, Value, Write,
        expression::{Comparison, Condition, Operand},
        request::{Change, Effect},
    },
    world::attribute,
};

/// What is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "`Ablation::describe` says it")]
pub enum Ablation {
    #[default]
    Nothing,
    PropagationFloor,
    PropagationGuard,
    PropagationMark,
    PropagationForce,
    AppliedMarker,
    Lock,
    WindowPins,
    CountPin,
    StrictlyForward,
    Create,
    CandidateConditions,
    CandidateRaise,
    Move,
    RaiseGuard,
    DecreaseGuard,
    FastGate,
    FastValidUntil,
    FastBalance,
    ValidUntilPin,
    Restore,
    GrantCount,
    ConsistentRead,
    LatestStart,
    UntoldDoublings,
    ShardSurvey,
    DoublingPin,
    RaiseFloor,
    CreditWindow,
    CreditRoom,
    GiveBack,
    ParentGate,
    OwnerRecord,
}

impl Ablation {
    /// Every clause.
    pub const ALL: [Self; 32] = [
        Self::PropagationFloor,
        Self::PropagationGuard,
        Self::PropagationMark,
        Self::PropagationForce,
        Self::AppliedMarker,
        Self::Lock,
        Self::WindowPins,
        Self::CountPin,
        Self::StrictlyForward,
        Self::Create,
        Self::CandidateConditions,
        Self::CandidateRaise,
        Self::Move,
        Self::RaiseGuard,
        Self::DecreaseGuard,
        Self::FastGate,
        Self::FastValidUntil,
        Self::FastBalance,
        Self::ValidUntilPin,
        Self::Restore,
        Self::GrantCount,
        Self::ConsistentRead,
        Self::LatestStart,
        Self::UntoldDoublings,
        Self::ShardSurvey,
        Self::DoublingPin,
        Self::RaiseFloor,
        Self::CreditWindow,
        Self::CreditRoom,
        Self::GiveBack,
        Self::ParentGate,
        Self::OwnerRecord,
    ];

    /// The rule and the clause.
    #[must_use]
    pub const fn describe(self) -> (&'static str, &'static str) {
        match self {
            Self::Nothing => ("", "nothing"),
            Self::PropagationFloor => {
                ("R2", "propagate only over a window that had ended: `ws <= new - length`")
            }
            Self::PropagationGuard => ("R2", "propagate only to `wa` present or `rf < new`"),
            Self::PropagationMark => ("R2, R4", "the snapshot `wtc`"),
            Self::PropagationForce => ("R2", "propagation sets `vu = 0`"),
            Self::AppliedMarker => ("R5", "the marker `wa`"),
            Self::Lock => ("R5", "the lock `rf` as read"),
            Self::WindowPins => ("R5", "`ws` and `wa` as read"),
            Self::CountPin => ("R5", "a reset pins `shard_count <= S`"),
            Self::StrictlyForward => ("R6", "`rf` strictly forward"),
            Self::Create => ("R8", "a create finds no item"),
            Self::CandidateConditions => ("R8", "candidates as read"),
            Self::CandidateRaise => ("R8", "candidates are raised"),
            Self::Move => ("R8", "the donor pays"),
            Self::RaiseGuard => ("R10", "a raise finds `tk <=` as read"),
            Self::DecreaseGuard => ("R10", "a decrease finds `tk >=` it"),
            Self::FastGate => ("R11", "the fast write looks at the window itself"),
            Self::FastValidUntil => ("R11", "the fast write looks at `vu`"),
            Self::FastBalance => ("R11", "the fast write finds `tk >=` the amount"),
            Self::ValidUntilPin => ("R11", "a pass finds `vu` as read"),
            Self::Restore => ("R1, R4", "a reset restores the balance"),
            Self::GrantCount => ("R5", "the grant count `gc`"),
            Self::ConsistentRead => ("R7", "a join reads strongly consistently"),
            Self::LatestStart => ("R7", "a join takes the latest live start, not shard 0's"),
            Self::UntoldDoublings => ("R8", "a shard 0 made anew looks at doublings nobody told it of"),
            Self::ShardSurvey => ("R9", "a look at all shards before a rejection"),
            Self::DoublingPin => ("6.9", "a doubling finds the count as known"),
            Self::RaiseFloor => ("6.9", "a raise finds a smaller count"),
            Self::CreditWindow => ("6.8", "a credit finds `ws` and `wa` as leased"),
            Self::CreditRoom => ("6.8", "a credit finds room for it"),
            Self::GiveBack => ("7", "what a level took is given back"),
            Self::ParentGate => ("7", "a level takes where the item debits the parent it knows"),
            Self::OwnerRecord => ("7", "a created shard finds its entity's record as read"),
        }
    }

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> String {
        let mut name = String::new();
        for letter in format!("{self:?}").chars() {
            if letter.is_ascii_uppercase() && !name.is_empty() {
                name.push('-');
            }
            name.push(letter.to_ascii_lowercase());
        }
        name
    }

    /// Leaves the clause out of a request. `clock_ms` is the sender's.
    pub fn apply(self, request: &mut Request, clock_ms: i64) {
        if self == Self::Nothing {
            return;
        }
        let creates = request.writes().iter().any(|write| matches!(write.effect, Effect::Put(_)));
        if self == Self::LatestStart {
            join_shard_0(request);
        }
        if self == Self::UntoldDoublings {
            look_at_shard_1_alone(request);
        }
        for write in request.writes_mut() {
            let kind = Kind::of(write, creates);
            self.weaken(write, kind, clock_ms);
        }
    }

    fn weaken(self, write: &mut Write, kind: Kind, clock_ms: i64) {
        match (self, kind) {
            (Self::PropagationFloor, Kind::Propagation) => {
                drop_parts(write, |part| ends_with(part, &["_ws"]))
            }
            (Self::PropagationGuard, Kind::Propagation) => {
                drop_parts(write, |part| ends_with(part, &["_wa", "rf"]))
            }
            (Self::PropagationMark, Kind::Propagation) => drop_changes(write, |name| name.ends_with("_wtc")),
            (Self::PropagationForce, Kind::Propagation) => drop_changes(write, |name| name == "vu"),
            (Self::AppliedMarker, _) => drop_changes(write, |name| name.ends_with("_wa")),
            (Self::Lock, Kind::Materialisation) => drop_parts(write, |part| ends_with(part, &["rf"])),
            (Self::WindowPins, Kind::Materialisation) => {
                drop_parts(write, |part| ends_with(part, &["_ws", "_wa"]))
            }
            (Self::CountPin, Kind::Materialisation) => {
                drop_parts(write, |part| ends_with(part, &["shard_count"]))
            }
            (Self::StrictlyForward, Kind::Materialisation) => {
                set(write, "rf", Value::Number(clock_ms.into()))
            }
            (Self::Create, Kind::Create) => write.condition = Condition::All(Vec::new()),
            (Self::CandidateConditions, Kind::Candidate) => {
                drop_parts(write, |part| {
                    !ends_with(part, &["PK", "_tk"]) || matches!(part, Condition::Absent(_))
                });
            }
            (Self::CandidateRaise, Kind::Candidate) => drop_changes(write, |name| name == "shard_count"),
            (Self::Move, Kind::Candidate) => {
                drop_changes(write, |name| name.ends_with("_tk"));
                drop_parts(write, |part| ends_with(part, &["_tk"]));
            }
            (Self::RaiseGuard, Kind::Materialisation) => {
                drop_parts(write, |part| is_token_bound(part, Comparison::AtMost))
            }
            (Self::DecreaseGuard, Kind::Materialisation) => {
                drop_parts(write, |part| is_token_bound(part, Comparison::AtLeast))
            }
            (Self::FastGate, Kind::Fast) => drop_parts(write, |part| ends_with(part, &["_ws", "_wa"])),
            (Self::FastValidUntil, Kind::Fast) => drop_parts(write, |part| ends_with(part, &["vu"])),
            (Self::FastBalance, Kind::Fast) => {
                drop_parts(write, |part| ends_with(part, &[attribute("tk").as_str()]))
            }
            (Self::ValidUntilPin, Kind::Materialisation) => {
                drop_parts(write, |part| ends_with(part, &["vu"]))
            }
            (Self::Restore, Kind::Materialisation) if resets(write) => {
                drop_changes(write, |name| name.ends_with("_tk"))
            }
            (Self::GrantCount, _) => drop_changes(write, |name| name.ends_with("_gc")),
            (Self::DoublingPin, Kind::Other) => {
                let is_floor = |part: &_| is_count(part, |comparison| comparison == Comparison::Less);
                drop_parts(write, |part| ends_with(part, &["shard_count"]) && !is_floor(part));
            }
            (Self::RaiseFloor, Kind::Other) => {
                drop_parts(write, |part| is_count(part, |comparison| comparison != Comparison::Equal))
            }
            (Self::CreditWindow, Kind::Credit) => drop_parts(write, |part| ends_with(part, &["_ws", "_wa"])),
            (Self::CreditRoom, Kind::Credit) => {
                drop_parts(write, |part| is_token_bound(part, Comparison::AtMost))
            }
            (Self::GiveBack, Kind::Credit) => drop_changes(write, |_| true),
            (Self::ParentGate, _) if write.key.1 == "#STATE" => {
                drop_parts(write, |part| ends_with(part, &["cascade", "parent_id"]))
            }
            (Self::OwnerRecord, _) if write.key.1 == "#META" => write.condition = Condition::All(Vec::new()),
            _ => {}
        }
    }
}

/// What a write is for, told by what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Fast,
    Materialisation,
    Propagation,
    Create,
    Candidate,
    /// It gives tokens back.
    Credit,
    Other,
}

impl Kind {
    fn of(write: &Write, creates: bool) -> Self {
        let changes = match &write.effect {
            Effect::Put(_) => return Self::Create,
            Effect::Check => return if creates { Self::Candidate } else { Self::Other },
            Effect::Update(changes) => changes,
        };
        let changes_to = |suffix: &str| changes.iter().any(|change| change.name().ends_with(suffix));
        if write.given_back().is_some() {
            Self::Credit
        } else if changes_to("_wtc") {
            Self::Propagation
        } else if changes.iter().any(|change| change.name() == "rf") {
            Self::Materialisation
        } else if creates {
            Self::Candidate
        } else if changes_to("b_wcu_tk") {
            Self::Fast
        } else {
            Self::Other
        }
    }
}

fn drop_parts(write: &mut Write, unwanted: impl Fn(&Condition) -> bool) {
    match &mut write.condition {
        Condition::All(parts) => parts.retain(|part| !unwanted(part)),
        single if unwanted(single) => *single = Condition::All(Vec::new()),
        _ => {}
    }
}

fn drop_changes(write: &mut Write, unwanted: impl Fn(&str) -> bool) {
    match &mut write.effect {
        Effect::Update(changes) => changes.retain(|change| !unwanted(change.name())),
        Effect::Put(item) => item.retain(|name, _| !unwanted(name)),
        Effect::Check => {}
    }
}

fn set(write: &mut Write, wanted: &str, to: Value) {
    let Effect::Update(changes) = &mut write.effect else { return };
    for change in changes {
        if let Change::Set(name, value) = change
            && name == wanted
        {
            *value = to.clone();
        }
    }
}

/// Whether it speaks of an attribute that ends so.
fn ends_with(part: &Condition, suffixes: &[&str]) -> bool {
    part.attributes()
        .iter()
        .any(|name| suffixes.iter().any(|suffix| name == suffix || name.ends_with(suffix)))
}

fn is_token_bound(part: &Condition, wanted: Comparison) -> bool {
    match part {
        Condition::Compare(Operand::Attribute(name), comparison, _) => {
            name.ends_with("_tk") && *comparison == wanted
        }
        _ => false,
    }
}

/// Whether it gives a new grant.
fn resets(write: &Write) -> bool {
    matches!(&write.effect, Effect::Update(changes) if changes.iter().any(|change| change.name().ends_with("_gc")))
}

fn is_count(part: &Condition, wanted: impl Fn(Comparison) -> bool) -> bool {
    match part {
        Condition::Compare(Operand::Attribute(name), comparison, _) => {
            name == "shard_count" && wanted(*comparison)
        }
        _ => false,
    }
}

/// What a shard 0 that is made reads, and asks to be as it was, is shard 1.
fn look_at_shard_1_alone(request: &mut Request) {
    let shard = |key: &Key| {
        let shard = key.0.rsplit_once('#').and_then(|(_, shard)| shard.parse::<u32>().ok());
        shard.filter(|_| key.1 == "#STATE")
    };
    let is_further = |key: &Key| shard(key).is_some_and(|shard| shard > 1);
    match request {
        // A look has no use for the entity's own record, and no other slot of so few for shard 16.
        Request::Read { keys, .. }
            if keys.iter().any(|key| key.1 == "#META") && keys.iter().any(|key| shard(key) == Some(16)) =>
        {
            keys.retain(|key| !is_further(key));
        }
        Request::Transaction(writes)
            if writes
                .iter()
                .any(|write| shard(&write.key) == Some(0) && matches!(write.effect, Effect::Put(_))) =>
        {
            writes.retain(|write| !is_further(&write.key));
        }
        _ => {}
    }
}

/// A shard is made in shard 0's window, whatever the other candidates carry.
fn join_shard_0(request: &mut Request) {
    let first = request.writes().iter().find(|write| write.key.1 == "#STATE" && write.key.0.ends_with("#0"));
    let Some(start) = first.and_then(|write| pinned(&write.condition, "_ws")) else { return };
    for write in request.writes_mut() {
        if let Effect::Put(item) = &mut write.effect {
            for field in ["ws", "wa"] {
                item.insert(attribute(field), start.clone());
            }
        }
    }
}

/// The value that a condition asks of an attribute that ends so.
fn pinned(condition: &Condition, suffix: &str) -> Option<Value> {
    match condition {
        Condition::All(parts) => parts.iter().find_map(|part| pinned(part, suffix)),
        Condition::Compare(Operand::Attribute(name), Comparison::Equal, Operand::Value(value))
            if name.ends_with(suffix) =>
        {
            Some(value.clone())
        }
        _ => None,
    }
}
