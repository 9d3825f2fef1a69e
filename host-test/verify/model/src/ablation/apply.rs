//! Leaves a clause out of a request on its way to the table.

use super::{
    clause::Ablation,
    edit::{drop_changes, drop_parts, ends_with, is_count, is_token_bound, pinned, resets, set},
    write_kind::WriteKind,
};
use crate::{
    quota::attribute,
    store::{
        Effect, Key, Request, Value, Write,
        expression::{Comparison, Condition},
    },
};

impl Ablation {
    /// Leaves the clause out of a request. `clock_ms` is the sender's.
    pub fn apply(self, request: &mut Request, clock_ms: i64) {
        if self == Self::Nothing {
            return;
        }
        let creates = request.writes().iter().any(|write| matches!(write.effect, Effect::Put(_)));
        if self == Self::LatestStart {
            join_shard_0(request);
        }
        if self == Self::UnpropagatedDoublings {
            read_shard_1_only(request);
        }
        for write in request.writes_mut() {
            let kind = WriteKind::of(write, creates);
            self.weaken(write, kind, clock_ms);
        }
    }

    fn weaken(self, write: &mut Write, kind: WriteKind, clock_ms: i64) {
        match (self, kind) {
            (Self::PropagationFloor, WriteKind::Propagation) => {
                drop_parts(write, |part| ends_with(part, &["_ws"]))
            }
            (Self::PropagationGuard, WriteKind::Propagation) => {
                drop_parts(write, |part| ends_with(part, &["_wa", "rf"]))
            }
            (Self::PropagationMark, WriteKind::Propagation) => {
                drop_changes(write, |name| name.ends_with("_wtc"))
            }
            (Self::PropagationForce, WriteKind::Propagation) => drop_changes(write, |name| name == "vu"),
            (Self::AppliedMarker, _) => drop_changes(write, |name| name.ends_with("_wa")),
            (Self::Lock, WriteKind::Materialisation) => drop_parts(write, |part| ends_with(part, &["rf"])),
            (Self::WindowPins, WriteKind::Materialisation) => {
                drop_parts(write, |part| ends_with(part, &["_ws", "_wa"]))
            }
            (Self::CountPin, WriteKind::Materialisation) => {
                drop_parts(write, |part| ends_with(part, &["shard_count"]))
            }
            (Self::StrictlyForward, WriteKind::Materialisation) => {
                set(write, "rf", Value::Number(clock_ms.into()))
            }
            (Self::Create, WriteKind::Create) => write.condition = Condition::All(Vec::new()),
            (Self::CandidateConditions, WriteKind::Candidate) => {
                drop_parts(write, |part| {
                    !ends_with(part, &["PK", "_tk"]) || matches!(part, Condition::Absent(_))
                });
            }
            (Self::CandidateRaise, WriteKind::Candidate) => drop_changes(write, |name| name == "shard_count"),
            (Self::Move, WriteKind::Candidate) => {
                drop_changes(write, |name| name.ends_with("_tk"));
                drop_parts(write, |part| ends_with(part, &["_tk"]));
            }
            (Self::RaiseGuard, WriteKind::Materialisation) => {
                drop_parts(write, |part| is_token_bound(part, Comparison::AtMost))
            }
            (Self::DecreaseGuard, WriteKind::Materialisation) => {
                drop_parts(write, |part| is_token_bound(part, Comparison::AtLeast))
            }
            (Self::FastGate, WriteKind::Fast) => drop_parts(write, |part| ends_with(part, &["_ws", "_wa"])),
            (Self::FastValidUntil, WriteKind::Fast) => drop_parts(write, |part| ends_with(part, &["vu"])),
            (Self::FastBalance, WriteKind::Fast) => {
                drop_parts(write, |part| ends_with(part, &[attribute("tk").as_str()]))
            }
            (Self::ValidUntilPin, WriteKind::Materialisation) => {
                drop_parts(write, |part| ends_with(part, &["vu"]))
            }
            (Self::Restore, WriteKind::Materialisation) if resets(write) => {
                drop_changes(write, |name| name.ends_with("_tk"))
            }
            (Self::GrantCount, _) => drop_changes(write, |name| name.ends_with("_gc")),
            (Self::DoublingPin, WriteKind::Other) => {
                let is_floor = |part: &_| is_count(part, |comparison| comparison == Comparison::Less);
                drop_parts(write, |part| ends_with(part, &["shard_count"]) && !is_floor(part));
            }
            (Self::RaiseFloor, WriteKind::Other) => {
                drop_parts(write, |part| is_count(part, |comparison| comparison != Comparison::Equal))
            }
            (Self::CreditWindow, WriteKind::Credit) => {
                drop_parts(write, |part| ends_with(part, &["_ws", "_wa"]))
            }
            (Self::CreditRoom, WriteKind::Credit) => {
                drop_parts(write, |part| is_token_bound(part, Comparison::AtMost))
            }
            (Self::RefusalCredit, WriteKind::Credit) => drop_changes(write, |_| true),
            (Self::ParentGate, _) if write.key.1 == "#STATE" => {
                drop_parts(write, |part| ends_with(part, &["cascade", "parent_id"]))
            }
            (Self::OwnerRecord, _) if write.key.1 == "#META" => write.condition = Condition::All(Vec::new()),
            _ => {}
        }
    }
}

/// A client that re-creates shard 0 reads and pins shard 1 only, and none above it.
fn read_shard_1_only(request: &mut Request) {
    let shard = |key: &Key| {
        let shard = key.0.rsplit_once('#').and_then(|(_, shard)| shard.parse::<u32>().ok());
        shard.filter(|_| key.1 == "#STATE")
    };
    let is_further = |key: &Key| shard(key).is_some_and(|shard| shard > 1);
    match request {
        // Only this read has the entity's own record beside shard 16: a survey does not read the record,
        // and no other read of so few shards has shard 16.
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

/// A shard is created in shard 0's window, whatever the other candidates carry.
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
