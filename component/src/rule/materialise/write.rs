//! The new state as a write. Only this file turns the difference between the state as read and the new
//! state into changes and conditions.

use alloc::{borrow::Cow, vec, vec::Vec};

use super::{debit::Debit, limit::LimitMaterialisation, shard::Materialisation};
use crate::{
    item::{Field, Owner, Shard},
    rule::gate::{debitable, names_parent},
    text::decimal,
    types::{key::STATE_SK, subject::Subject},
    write::{Action, Change, Clauses, ConditionalWrite, Term, Test, Value},
};

impl Materialisation {
    /// The write of the new state after `debits`: an update of the item that was read, under its lock, or
    /// the put of a new item.
    #[must_use]
    pub fn write(&self, subject: &Subject, owner: &Owner, debits: &[Debit]) -> ConditionalWrite {
        let sk = Cow::Borrowed(STATE_SK);
        if let Some(read) = &self.read {
            let (action, clauses) = self.update(read, debits);
            return ConditionalWrite { pk: read.pk.clone(), sk, action, clauses };
        }
        ConditionalWrite {
            pk: subject.bucket_pk(self.id),
            sk,
            action: Action::Put(self.item(subject, owner, debits)),
            clauses: vec![vec![Term::absent(Field::Pk)]],
        }
    }

    fn update(&self, read: &Shard, debits: &[Debit]) -> (Action, Vec<Vec<Term>>) {
        let mut changes = vec![Change::set(Field::LastRefill, self.last_refill_ms)];
        let mut clauses = vec![vec![Term::compare(Field::LastRefill, Test::Equal, read.last_refill_ms)]];
        if !debits.is_empty() {
            clauses.extend(debitable(self.parent.as_deref()));
        }
        // R11: where another writer set `vu` to 0 in between, another materialisation is needed.
        clauses.require(Term::as_read(Field::ValidUntil.into(), read.valid_until_ms));
        if self.valid_until_ms != read.valid_until_ms {
            changes.push(Change::to(Field::ValidUntil.into(), self.valid_until_ms));
        }
        if self.ttl_seconds != read.ttl_seconds {
            changes.push(Change::to(Field::Ttl.into(), self.ttl_seconds));
        }
        if self.shard_count != read.shard_count {
            changes.push(Change::set(Field::ShardCount, self.shard_count));
        }
        if self.shard_count != read.shard_count || self.limits.iter().any(|limit| limit.reset) {
            // A doubling in between would make the share too large, and must not be undone.
            let count = i64::from(self.shard_count);
            clauses.push(Term::unless_absent(Field::ShardCount.into(), Test::AtMost, count));
        }
        for limit in self.limits.iter().chain(&self.wcu) {
            limit.update(Debit::milli_of(debits, &limit.after.name), &mut changes, &mut clauses);
        }
        if !debits.is_empty() {
            clauses.extend(names_parent(self.parent.as_deref()));
        }
        (Action::Update(changes), clauses)
    }

    /// A new item.
    fn item(&self, subject: &Subject, owner: &Owner, debits: &[Debit]) -> Vec<Change> {
        let Subject { namespace, entity, resource, .. } = subject;
        let id = &*decimal(self.id);
        let text = |field: Field, parts: &[&str]| Change::with(field.into(), Value::Text(parts.concat()));
        let mut item = vec![
            text(Field::EntityId, &[entity]),
            text(Field::Resource, &[resource]),
            text(Field::Gsi2Pk, &[namespace, "/RESOURCE#", resource]),
            text(Field::Gsi2Sk, &["BUCKET#", entity, "#", id]),
            text(Field::Gsi3Pk, &[namespace, "/ENTITY#", entity]),
            text(Field::Gsi3Sk, &["BUCKET#", resource, "#", id]),
            text(Field::Gsi4Pk, &[namespace]),
            text(Field::Gsi4Sk, &["BUCKET#", entity, "#", resource, "#", id]),
            Change::set(Field::LastRefill, self.last_refill_ms),
            Change::set(Field::ShardCount, self.shard_count),
            Change::with(Field::Cascade.into(), Value::Boolean(owner.cascade.unwrap_or(false))),
        ];
        item.extend(self.valid_until_ms.map(|instant| Change::set(Field::ValidUntil, instant)));
        item.extend(self.ttl_seconds.map(|instant| Change::set(Field::Ttl, instant)));
        item.extend(owner.parent_id.as_ref().map(|parent| text(Field::ParentId, &[parent])));
        item.extend(
            owner.parent_generation.map(|generation| Change::set(Field::ParentGeneration, generation)),
        );
        item.extend(owner.parent_incarnation.as_ref().map(|stamp| text(Field::ParentIncarnation, &[stamp])));
        for limit in self.limits.iter().chain(&self.wcu) {
            item.extend(limit.seed(Debit::milli_of(debits, &limit.after.name)));
        }
        item
    }
}

impl LimitMaterialisation {
    /// A seeded limit's attributes.
    fn seed(&self, debited: i128) -> Vec<Change> {
        let state = &self.after;
        let of = |field: Field| field.of(&state.name);
        let mut item = vec![
            Change::set(of(Field::Tokens), state.tokens_milli.saturating_sub(debited)),
            Change::set(of(Field::Capacity), state.capacity_milli),
            Change::set(of(Field::RefillAmount), state.refill_amount_milli),
            Change::set(of(Field::RefillPeriod), state.refill_period_ms),
            Change::set(of(Field::Consumed), debited),
        ];
        let mut known = |field: Field, value: Option<i64>| {
            item.extend(value.map(|value| Change::set(field.of(&state.name), value)));
        };
        known(Field::ResetAfter, state.reset_after_seconds);
        known(Field::WindowStart, state.window_start_ms);
        known(Field::WindowApplied, state.window_applied_ms);
        known(Field::GrantCount, state.grant_count);
        item
    }

    /// The changes from what was read, and the conditions on what must not have changed since (R5, R10).
    fn update(&self, debited: i128, changes: &mut Vec<Change>, clauses: &mut Vec<Vec<Term>>) {
        let of = |field: Field| field.of(&self.after.name);
        let Some(before) = &self.before else {
            clauses.require(Term::absent(of(Field::Tokens)));
            return changes.extend(self.seed(debited));
        };
        let after = &self.after;
        let mut stamp = |field, old: i128, new: i128| {
            if old != new {
                changes.push(Change::set(of(field), new));
                clauses.require(Term::compare(of(field), Test::Equal, old));
            }
        };
        stamp(Field::Capacity, before.capacity_milli, after.capacity_milli);
        stamp(Field::RefillAmount, before.refill_amount_milli, after.refill_amount_milli);
        stamp(Field::RefillPeriod, before.refill_period_ms.into(), after.refill_period_ms.into());
        if before.grant_count != after.grant_count && !self.reset {
            // Another writer that stores the `gc` in between derived it from another balance.
            clauses.require(Term::as_read(of(Field::GrantCount), before.grant_count));
        }
        let mut change = |field, old: Option<i64>, new: Option<i64>| {
            if old != new {
                changes.push(Change::to(of(field), new));
            }
        };
        change(Field::ResetAfter, before.reset_after_seconds, after.reset_after_seconds);
        change(Field::WindowStart, before.window_start_ms, after.window_start_ms);
        change(Field::WindowApplied, before.window_applied_ms, after.window_applied_ms);
        change(Field::GrantCount, before.grant_count, after.grant_count);
        if before.topped_up_milli != after.topped_up_milli {
            changes.push(Change::to(of(Field::ToppedUp), None));
        }
        if self.length_ms.is_some() || before.reset_after_seconds.is_some() {
            // R5: `rf` alone is no lock against a clock that runs behind, nor against a
            // propagation that lands between the read and the write.
            clauses.require(Term::as_read(of(Field::WindowStart), before.window_start_ms));
            clauses.require(Term::as_read(of(Field::WindowApplied), before.window_applied_ms));
        }
        let raise = after.tokens_milli.saturating_sub(before.tokens_milli);
        let delta = raise.saturating_sub(debited);
        if self.reset || raise > 0 {
            // R10: a credit that landed in between must not come on top of the balance that is set here,
            // even where the reset leaves the balance as it was read.
            clauses.require(Term::compare(of(Field::Tokens), Test::AtMost, before.tokens_milli));
        }
        if delta < 0 {
            // R10: a balance that does not cover the decrease, as one in debt, is required as it was read.
            let floor = delta.saturating_neg().min(before.tokens_milli);
            clauses.require(Term::compare(of(Field::Tokens), Test::AtLeast, floor));
        }
        if delta != 0 {
            changes.push(Change::add(of(Field::Tokens), delta));
        }
        if debited != 0 {
            changes.push(Change::add(of(Field::Consumed), debited));
        }
    }
}
