//! Recording one write: what it debits, and the invariants (section 5) that it must leave true.

use std::collections::BTreeMap;

use super::{bucket::Bucket, kind::Kind, quota::Quota};
use crate::history::{Image, Write, number};

/// One write that is recorded.
pub(super) struct Booking<'a> {
    pub(super) kind: Kind,
    pub(super) shard: u32,
    pub(super) sequence: u64,
    pub(super) correction: i128,
    pub(super) excess: &'a mut i128,
    pub(super) created: &'a mut BTreeMap<Kind, u64>,
    pub(super) doubled: &'a mut BTreeMap<Kind, u64>,
    pub(super) resets: &'a mut BTreeMap<Kind, u64>,
}

/// The invariant, the start of the window it is about, and how it is broken.
pub(super) type Found = Vec<(&'static str, i128, String)>;

impl Booking<'_> {
    /// Records the write; the invariants that it breaks.
    pub(super) fn book(mut self, bucket: &mut Bucket, write: &Write) -> Found {
        let mut found = Found::new();
        let Some(after) = &write.after else {
            // No writer deletes items. An expiry would.
            bucket.shards.remove(&self.shard);
            return found;
        };
        foreign_survives(write.before.as_ref(), after, self.kind, &mut found);
        let count = number(after, "shard_count").unwrap_or(1);
        let known = write.before.as_ref().map_or(1, |before| number(before, "shard_count").unwrap_or(1));
        if count > bucket.shard_count && count > known && write.before.is_some() {
            *self.doubled.entry(self.kind).or_default() += 1;
        }
        bucket.shard_count = bucket.shard_count.max(count);
        if write.before.is_none() {
            *self.created.entry(self.kind).or_default() += 1;
        }
        let Some(after) = Quota::of(after) else { return found };
        bucket.capacity = bucket.capacity.max(after.capacity);
        bucket.length_ms = bucket.length_ms.max(after.length_ms);
        match write.before.as_ref().and_then(Quota::of) {
            Some(before) => self.update(bucket, &before, &after, &mut found),
            // The item is created, or the quota is added to it: what it debits belongs to the window it joined.
            None => self.debit(bucket, self.kind, after.start.unwrap_or(0), after.consumed, &mut found),
        }
        let shard = bucket.shards.entry(self.shard).or_default();
        let misled = after.grant_count.is_some_and(|granted| granted > after.shard_count);
        if misled && self.kind == Kind::Ours {
            found.push(("R5", after.start.unwrap_or(0), "a grant larger than the count beside it".into()));
        }
        shard.misled_by = misled.then(|| shard.misled_by.unwrap_or((self.kind, self.sequence)));
        if shard.start != after.start {
            shard.start = after.start;
            bucket.version += 1;
        }
        found
    }

    fn update(&mut self, bucket: &mut Bucket, before: &Quota, after: &Quota, found: &mut Found) {
        self.check_monotone(before, after, found);
        let debited = after.consumed - before.consumed;
        let raised = after.tokens - before.tokens;
        // An old writer that moves `rf` seems to apply a window, but it resets none.
        let reset = self.kind.follows_rules() && after.applied > before.applied;
        let started = after.start != before.start;
        if reset && self.kind == Kind::Ours && after.refill <= before.refill {
            found.push(("I4", after.start.unwrap_or(0), format!("a reset left rf at {}", after.refill)));
        }
        if started {
            self.charge_pending(bucket, before.start.unwrap_or(0), before.share(), found);
        }
        if !reset {
            if raised + debited > 0 {
                found.push((
                    "I1",
                    after.start.unwrap_or(0),
                    format!("{} millitokens out of nothing", raised + debited),
                ));
            }
            if before.is_pending() && debited != 0 {
                let shard = bucket.shards.entry(self.shard).or_default();
                *shard.pending.entry(self.kind).or_default() += debited;
                return;
            }
            return self.debit(bucket, self.kind, before.applied.unwrap_or(0), debited, found);
        }
        // A reset that lands late belongs to the window it read, whatever was propagated meanwhile.
        let start = after.applied.unwrap_or(0);
        let misled_by = bucket.shards.get(&self.shard).and_then(|shard| shard.misled_by);
        if let Some((kind, sequence)) = misled_by.filter(|_| after.grant_count < before.grant_count) {
            let how = format!(
                "write {} by {} reset the shard at {} although its grant was sized at {}, for write {sequence} by {} \
                 had left its count at that",
                self.sequence,
                self.kind.name(),
                after.grant_count.unwrap_or(0),
                before.grant_count.unwrap_or(0),
                kind.name(),
            );
            bucket.regranted.insert(start, how);
        }
        *self.resets.entry(self.kind).or_default() += 1;
        if !bucket.resets.insert((self.shard, start)) {
            found.push(("I2", start, format!("reset twice for the window that began at {start}")));
        }
        if !started {
            // What was spent since the propagation belongs to the window that the reset applies.
            self.charge_pending(bucket, start, after.share(), found);
        }
        self.debit(bucket, self.kind, start, debited, found);
    }

    fn check_monotone(&self, before: &Quota, after: &Quota, found: &mut Found) {
        if after.start < before.start {
            // R5 pins `rf`, `ws` and `wa` as read; 0.17.0 pins `rf` only. A propagation that lands in between
            // leaves `rf` as it is. The materialisation then sets its own, earlier start of the same window.
            let same_window = before.start.zip(after.start).is_some_and(|(b, a)| b - a < before.length_ms);
            let unpinned = self.kind.is_peer() && same_window;
            found.push((
                if unpinned { "R5" } else { "I4" },
                after.start.unwrap_or(0),
                format!("ws fell from {:?} to {:?}", before.start, after.start),
            ));
        }
        if after.marker < before.marker {
            found.push((
                "I4",
                after.start.unwrap_or(0),
                format!("wa fell from {:?} to {:?}", before.marker, after.marker),
            ));
        }
        if self.kind.follows_rules() && after.refill < before.refill {
            found.push((
                "I4",
                after.start.unwrap_or(0),
                format!("rf fell from {} to {}", before.refill, after.refill),
            ));
        }
        if after.marker.is_some() && after.marker > after.start {
            found.push((
                "I5",
                after.start.unwrap_or(0),
                format!("wa {:?} is later than ws {:?}", after.marker, after.start),
            ));
        }
    }

    /// What was spent while a shard's reset was pending is charged to the window of the reset, up to the
    /// shard's new share. The excess stands: no rule can prevent it.
    fn charge_pending(&mut self, bucket: &mut Bucket, start: i128, share: i128, found: &mut Found) {
        let shard = bucket.shards.entry(self.shard).or_default();
        let pending = std::mem::take(&mut shard.pending);
        let mut room = share.max(0);
        for (kind, milli) in pending {
            let charged = milli.min(room);
            room -= charged.max(0);
            *self.excess += milli - charged;
            self.debit(bucket, kind, start, charged, found);
        }
    }

    /// I1: starts less than one length apart count as one window.
    fn debit(&self, bucket: &mut Bucket, kind: Kind, start: i128, milli: i128, found: &mut Found) {
        if milli == 0 {
            return;
        }
        let window = bucket.windows.entry(start).or_default();
        *window.by.entry(kind).or_default() += milli;
        if milli == self.correction {
            window.corrections += milli;
        }
        let length = bucket.length_ms.max(1);
        let firsts = bucket.windows.range(start - length + 1..=start).map(|(first, _)| *first);
        for first in firsts {
            let (debited, corrections) =
                bucket.windows.range(first..first + length).fold((0, 0), |(debited, more), (_, window)| {
                    (debited + window.total(), more + window.corrections)
                });
            if milli > 0 && debited > bucket.capacity + corrections {
                found.push((
                    "I1",
                    first,
                    format!(
                        "{debited} of {} millitokens debited in the window that began at {first}",
                        bucket.capacity + corrections
                    ),
                ));
                return;
            }
        }
    }
}

/// I10: attributes that no implementation knows stay as they are.
fn foreign_survives(before: Option<&Image>, after: &Image, kind: Kind, found: &mut Found) {
    let Some(before) = before.filter(|_| kind != Kind::Operator) else { return };
    for (name, value) in before.iter().filter(|(name, _)| name.starts_with("fleet_")) {
        if after.get(name) != Some(value) {
            found.push(("I10", 0, format!("{name} changed")));
        }
    }
}
