//! What must be true of a rejection: R9 at that moment, I8 and I9 at the instant it names.

use std::{iter, sync::Arc};

use onewindow::{
    Call, Outcome, Reply, Step,
    internals::{decode_item, preview},
};

use super::{
    machine::{Known, Machine, clock},
    parse::parse,
    state::World,
};
use crate::{
    ledger::Violation,
    parent::stamped_parent,
    quota::number,
    setting::Setting,
    store::{Item, Request, Store, Value, json::write_item},
    time::since_start,
};

impl World {
    /// What all shards of an entity together hold, tokens.
    pub(super) fn held(&self, setting: &Setting, place: u8, shard_count: u32, clock_ms: i64) -> Option<i64> {
        let json = |item: &Arc<Item>| {
            let mut json = String::new();
            write_item(&mut json, item);
            decode_item(&json).ok()
        };
        let shards: Vec<_> = self.shards(setting, place).filter_map(json).collect();
        let limits = [setting.entity(place).limit()];
        let report = preview::report(&shards, shard_count, &limits, clock_ms).ok()?;
        Some(report.limits.first()?.status.available)
    }

    /// R9: a rejection right after a survey means that all shards together hold too little.
    pub(super) fn check_rejection(
        &self,
        setting: &Setting,
        client: u8,
        shard_count: u32,
    ) -> Result<(), Violation> {
        let clock_ms = self.clock_ms(setting, client);
        let wanted = i64::try_from(setting.amount).unwrap_or(i64::MAX);
        match self.held(setting, setting.asked_by(client), shard_count, clock_ms) {
            Some(held) if held >= wanted => {
                let how = format!("rejected for {wanted} while all shards together hold {held}");
                Err(Violation::new("R9", how))
            }
            _ => Ok(()),
        }
    }

    /// Whether all shards of an entity together hold what a request asks for.
    pub(super) fn holds_enough(&self, setting: &Setting, client: u8, place: u8) -> bool {
        let counts = self.shards(setting, place).map(|item| match item.get("shard_count") {
            Some(Value::Number(count)) => u32::try_from(*count).unwrap_or(1),
            _ => 1,
        });
        let shard_count = counts.fold(setting.entity(place).shard_count, u32::max);
        let held = self.held(setting, place, shard_count, self.clock_ms(setting, client));
        held.is_some_and(|held| held >= i64::try_from(setting.amount).unwrap_or(i64::MAX))
    }

    /// I8, I9: a request at the instant that the rejection names, with no other client at work, is
    /// admitted by one fast and one materialising write on the entity, whatever its parents held. One
    /// more write is allowed where the shard names another parent than the entity's record.
    pub(super) fn probe(
        &self,
        setting: &Setting,
        place: u8,
        clock_ms: i64,
        retry_after_ms: u64,
    ) -> Result<(), Violation> {
        let then_ms = clock_ms + i64::try_from(retry_after_ms).unwrap_or(i64::MAX);
        if self.latest_end_ms(setting, place).is_some_and(|end_ms| end_ms > then_ms) {
            // A clock ran ahead. No retry delay is longer than one length (F15), so the instant is a
            // little early, and the answer then is another rejection.
            return Ok(());
        }
        let mut store = self.store.clone();
        for (key, _) in self.store.items() {
            if setting.owner(key).is_some_and(|owner| owner != place) {
                store.remove(key);
            }
        }
        let known = self.chain(setting, place).map(|place| Known::at_first(setting, place, None));
        let known: Vec<_> = known.collect();
        for shard in 0..setting.entity(place).shard_count {
            let shards: Vec<u32> = iter::once(shard).chain(iter::repeat(0)).take(known.len()).collect();
            let Some(machine) = Machine::begin(setting, &known, &shards, clock(then_ms)) else { continue };
            let most = 2 + u32::from(self.names_other_parent(setting, place, shard));
            ask(setting, place, machine, store.clone(), then_ms, most).map_err(|(invariant, how)| {
                let then = since_start(then_ms);
                Violation::new(
                    invariant,
                    format!("rejected until {then}; at that instant, on shard {shard}, {how}"),
                )
            })?;
        }
        Ok(())
    }

    /// An entity and its parents, as their own records name them now.
    fn chain<'a>(&'a self, setting: &'a Setting, place: u8) -> impl Iterator<Item = u8> + 'a {
        let above = |place: &u8| {
            let record = self.store.get(&setting.entity(*place).record_key())?;
            setting.place(stamped_parent(record)?)
        };
        iter::successors(Some(place), above)
    }

    /// Whether a shard names another parent than its entity's record: they are stamped one by one.
    fn names_other_parent(&self, setting: &Setting, place: u8, shard: u32) -> bool {
        let entity = setting.entity(place);
        let record = self.store.get(&entity.record_key());
        let recorded = record.and_then(|record| stamped_parent(record));
        self.store.get(&entity.shard_key(shard)).is_some_and(|item| stamped_parent(item) != recorded)
    }

    /// When the entity's latest window ends, epoch ms.
    fn latest_end_ms(&self, setting: &Setting, place: u8) -> Option<i64> {
        let start = |item: &Arc<Item>| number(item, "ws").and_then(|start| i64::try_from(start).ok());
        let latest = self.shards(setting, place).filter_map(start).max();
        latest.map(|start| start + setting.entity(place).length_ms())
    }
}

/// Runs a request to its end with no other client at work, with `most` writes on the entity itself at
/// most. The error says which invariant is broken, and how.
fn ask(
    setting: &Setting,
    place: u8,
    (mut machine, mut calls): (Machine, Vec<Call>),
    mut store: Store,
    now_ms: i64,
    most: u32,
) -> Result<(), (&'static str, String)> {
    let mut writes = 0;
    loop {
        let mut replies: Vec<Reply> = Vec::new();
        for call in &calls {
            let request = parse(setting, call, now_ms);
            let is_write = !matches!(*request, Request::Read { .. });
            writes += u32::from(is_write && setting.owner(&request.writes()[0].key) == Some(place));
            replies.push(store.execute(&request).0);
        }
        let outcome = match machine.advance(clock(now_ms), &replies) {
            Step::Perform(more) => {
                calls = more;
                continue;
            }
            Step::Done(end) => end.outcome(),
        };
        let admitted = outcome.as_ref().is_some_and(Outcome::is_admitted);
        if admitted && writes <= most {
            return Ok(());
        }
        let answer = outcome.map(|outcome| describe(&outcome)).unwrap_or_default();
        return Err((if admitted { "I9" } else { "I8" }, format!("after {writes} writes: {answer}")));
    }
}

/// An outcome in words.
pub(super) fn describe(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Admitted(_) => "admitted".into(),
        Outcome::Rejected { retry_after_ms } => format!("rejected, retry in {retry_after_ms} ms"),
        other => format!("{other:?}"),
    }
}
