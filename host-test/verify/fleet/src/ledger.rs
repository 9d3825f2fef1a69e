//! The books of the fleet, kept from the table's history alone: who took what in which window, and
//! the invariants (section 5) that every write must leave true.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::history::{Commit, Image, Write, number, place};

/// The quota that is watched.
pub(crate) const QUOTA: &str = "session";

/// Which implementation wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    /// The component.
    Ours,
    /// zae-limiter 0.17.0, `asyncio`.
    Async,
    /// zae-limiter 0.17.0, blocking.
    Sync,
    /// zae-limiter 0.14.0: it knows no windows.
    Old,
    /// The test itself: foreign attributes, spent write budgets.
    Operator,
}

impl Kind {
    pub(crate) const WRITERS: [Self; 4] = [Self::Ours, Self::Async, Self::Sync, Self::Old];

    /// Processes sign with an access key that begins with their kind.
    pub(crate) fn of(client: &str) -> Self {
        match client.split('-').next() {
            Some("ours") => Self::Ours,
            Some("async") => Self::Async,
            Some("sync") => Self::Sync,
            Some("old") => Self::Old,
            _ => Self::Operator,
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Async => "async",
            Self::Sync => "sync",
            Self::Old => "old",
            Self::Operator => "operator",
        }
    }

    /// Whether it is the other implementation, as it knows windows.
    const fn is_peer(self) -> bool {
        matches!(self, Self::Async | Self::Sync)
    }

    /// Whether it keeps the rules of windows.
    const fn follows_rules(self) -> bool {
        self.is_peer() || matches!(self, Self::Ours)
    }
}

/// A broken invariant.
#[derive(Clone, Debug)]
pub(crate) struct Violation {
    pub(crate) invariant: &'static str,
    /// Whose write showed it. Whose fault it is, is another matter: the trace tells.
    pub(crate) kind: Kind,
    pub(crate) how: String,
    /// The bucket's history up to it.
    pub(crate) trace: Vec<String>,
}

/// What was taken in one window, millitokens.
#[derive(Clone, Debug, Default)]
pub(crate) struct Taken {
    pub(crate) by: BTreeMap<Kind, i128>,
    /// Recorded corrections upward: they may exceed the capacity.
    pub(crate) corrections: i128,
}

impl Taken {
    pub(crate) fn total(&self) -> i128 {
        self.by.values().sum()
    }
}

#[derive(Default)]
pub(crate) struct Bucket {
    pub(crate) capacity: i128,
    pub(crate) length_ms: i128,
    /// By the window's start.
    pub(crate) windows: BTreeMap<i128, Taken>,
    /// The largest shard count seen, and the shards.
    pub(crate) shard_count: i128,
    pub(crate) shards: HashMap<u32, Shard>,
    /// Which shard was reset for which start (I2).
    resets: HashSet<(u32, i128)>,
    trace: Vec<String>,
    /// What was reported, by the window's start.
    reported: HashSet<(&'static str, i128)>,
    /// Moves whenever a shard's window does, or a shard appears.
    pub(crate) version: u64,
    /// By the window's start: who granted a shard's part twice, because another had left the count
    /// beside a grant smaller than the grant's own size.
    regranted: BTreeMap<i128, String>,
}

#[derive(Default)]
pub(crate) struct Shard {
    pub(crate) start: Option<i128>,
    /// Spent while the reset was pending, by whom.
    pending: BTreeMap<Kind, i128>,
    /// Who left the item with a count below the size of the grant on it.
    misled_by: Option<(Kind, u64)>,
}

/// The quota on one item.
struct Quota {
    tokens: i128,
    consumed: i128,
    capacity: i128,
    start: Option<i128>,
    marker: Option<i128>,
    applied: Option<i128>,
    refill: i128,
    shard_count: i128,
    grant_count: Option<i128>,
    length_ms: i128,
}

impl Quota {
    fn of(image: &Image) -> Option<Self> {
        let field = |suffix: &str| number(image, &format!("b_{QUOTA}_{suffix}"));
        let refill = number(image, "rf").unwrap_or(0);
        let length = field("rsa");
        // A start without a length is a leftover.
        let start = field("ws").filter(|_| length.is_some());
        let marker = field("wa");
        Some(Self {
            tokens: field("tk")?,
            consumed: field("tc").unwrap_or(0),
            capacity: field("cp").unwrap_or(0),
            start,
            marker,
            applied: marker.or(start.filter(|start| *start <= refill)),
            refill,
            shard_count: number(image, "shard_count").unwrap_or(1).max(1),
            grant_count: field("gc"),
            length_ms: length.unwrap_or(0) * 1000,
        })
    }

    /// R3.
    fn is_pending(&self) -> bool {
        self.start.is_some_and(|start| self.applied.is_none_or(|applied| start > applied))
    }

    fn share(&self) -> i128 {
        self.capacity.div_euclid(self.shard_count)
    }
}

/// The books of every bucket.
#[derive(Default)]
pub(crate) struct Ledger {
    pub(crate) buckets: HashMap<String, Bucket>,
    pub(crate) violations: Vec<Violation>,
    /// Those that are the other implementations' own, each with its cause.
    pub(crate) theirs: Vec<Violation>,
    /// Who made shards, and who doubled counts.
    pub(crate) created: BTreeMap<Kind, u64>,
    pub(crate) doubled: BTreeMap<Kind, u64>,
    pub(crate) resets: BTreeMap<Kind, u64>,
    /// Spent beyond a pending shard's new share: I1's one exception, millitokens.
    pub(crate) excess: i128,
    pub(crate) commits: u64,
    /// Millitokens that a correction adds; no acquire takes as much at once.
    pub(crate) correction: i128,
}

impl Ledger {
    /// Books one commit.
    pub(crate) fn observe(&mut self, commit: &Commit) {
        self.commits += 1;
        let kind = Kind::of(&commit.client);
        let lines = commit.lines();
        for (write, line) in commit.writes.iter().zip(lines) {
            let Some((name, shard)) = place(&write.pk) else { continue };
            let bucket = self.buckets.entry(name.to_owned()).or_default();
            bucket.trace.push(line);
            let found = Booking {
                kind,
                shard,
                sequence: commit.sequence,
                correction: self.correction,
                excess: &mut self.excess,
                created: &mut self.created,
                doubled: &mut self.doubled,
                resets: &mut self.resets,
            }
            .book(bucket, write);
            for (invariant, start, how) in found {
                // One window is one violation, however often it is taken from.
                if !bucket.reported.insert((invariant, start)) {
                    continue;
                }
                let trace = bucket.trace.clone();
                let window = start - bucket.length_ms + 1..start + bucket.length_ms;
                let cause = bucket.regranted.range(window).next().filter(|_| invariant == "I1");
                let because = cause.map_or(String::new(), |(_, cause)| format!(": {cause}"));
                let how = format!("{how} ({name}, shard {shard}){because}");
                let own = cause.is_some() || (invariant == "R5" && kind.is_peer());
                let list = if own { &mut self.theirs } else { &mut self.violations };
                list.push(Violation { invariant, kind, how, trace });
            }
        }
    }
}

struct Booking<'a> {
    kind: Kind,
    shard: u32,
    sequence: u64,
    correction: i128,
    excess: &'a mut i128,
    created: &'a mut BTreeMap<Kind, u64>,
    doubled: &'a mut BTreeMap<Kind, u64>,
    resets: &'a mut BTreeMap<Kind, u64>,
}

/// The invariant, the start of the window it is about, and how it is broken.
type Found = Vec<(&'static str, i128, String)>;

impl Booking<'_> {
    fn book(mut self, bucket: &mut Bucket, write: &Write) -> Found {
        let mut found = Found::new();
        let Some(after) = &write.after else {
            // Nobody deletes; an expiry would.
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
            // Made, or seeded onto an item that lacked it: what it took is of the window it joined.
            None => self.take(bucket, self.kind, after.start.unwrap_or(0), after.consumed, &mut found),
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
        let taken = after.consumed - before.consumed;
        let raised = after.tokens - before.tokens;
        // An old writer that moves `rf` may seem to apply a window; it resets none.
        let reset = self.kind.follows_rules() && after.applied > before.applied;
        let started = after.start != before.start;
        if reset && self.kind == Kind::Ours && after.refill <= before.refill {
            found.push(("I4", after.start.unwrap_or(0), format!("a reset left rf at {}", after.refill)));
        }
        if started {
            self.charge_pending(bucket, before.start.unwrap_or(0), before.share(), found);
        }
        if !reset {
            if raised + taken > 0 {
                found.push((
                    "I1",
                    after.start.unwrap_or(0),
                    format!("{} millitokens out of nothing", raised + taken),
                ));
            }
            if before.is_pending() && taken != 0 {
                let shard = bucket.shards.entry(self.shard).or_default();
                *shard.pending.entry(self.kind).or_default() += taken;
                return;
            }
            return self.take(bucket, self.kind, before.applied.unwrap_or(0), taken, found);
        }
        // A reset that lands late is of the window it read, whatever was propagated meanwhile.
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
            // A roll: what was spent since the propagation is of the window it applies.
            self.charge_pending(bucket, start, after.share(), found);
        }
        self.take(bucket, self.kind, start, taken, found);
    }

    fn check_monotone(&self, before: &Quota, after: &Quota, found: &mut Found) {
        if after.start < before.start {
            // 0.17.0 finds `rf` as read where R5 finds `ws` and `wa` so too: a propagation that lands in
            // between leaves `rf` as it is, and the pass puts its own, earlier start of the same window back.
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

    /// What was spent of a shard whose reset was pending is charged to the window it waits for, up
    /// to the shard's new share. The excess stands: nobody can close that.
    fn charge_pending(&mut self, bucket: &mut Bucket, start: i128, share: i128, found: &mut Found) {
        let shard = bucket.shards.entry(self.shard).or_default();
        let pending = std::mem::take(&mut shard.pending);
        let mut room = share.max(0);
        for (kind, milli) in pending {
            let charged = milli.min(room);
            room -= charged.max(0);
            *self.excess += milli - charged;
            self.take(bucket, kind, start, charged, found);
        }
    }

    /// I1: starts less than one length apart count as one window.
    fn take(&self, bucket: &mut Bucket, kind: Kind, start: i128, milli: i128, found: &mut Found) {
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
            let (taken, corrections) =
                bucket.windows.range(first..first + length).fold((0, 0), |(taken, more), (_, window)| {
                    (taken + window.total(), more + window.corrections)
                });
            if milli > 0 && taken > bucket.capacity + corrections {
                found.push((
                    "I1",
                    first,
                    format!(
                        "{taken} of {} millitokens taken in the window that began at {first}",
                        bucket.capacity + corrections
                    ),
                ));
                return;
            }
        }
    }
}

/// I10: what nobody in the fleet knows stays as it is.
fn foreign_survives(before: Option<&Image>, after: &Image, kind: Kind, found: &mut Found) {
    let Some(before) = before.filter(|_| kind != Kind::Operator) else { return };
    for (name, value) in before.iter().filter(|(name, _)| name.starts_with("fleet_")) {
        if after.get(name) != Some(value) {
            found.push(("I10", 0, format!("{name} changed")));
        }
    }
}
