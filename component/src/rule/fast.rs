//! The fast write (section 6.1): debit a live, applied, sufficient shard without reading it.
//!
//! [`write`] holds the conditions for the table; [`obstacle`] checks the same ones in the order of
//! section 6, on an image that the table returned.

use alloc::{borrow::Cow, sync::Arc, vec, vec::Vec};

use crate::{
    item::{Attribute, Field, Shard},
    rule::gate::{debitable, names_parent},
    rule::materialise::{Debit, Settings},
    rule::window::{Window, newest_ended_ms},
    types::key::STATE_SK,
    types::limit::{Drip, Recovery, milli},
    types::subject::Subject,
    write::{Action, Change, Clauses, ConditionalWrite, Term, Test, Value},
};

/// What each fast write debits of the hidden `wcu` limit, millitokens.
pub(crate) const WCU_MILLI: i128 = 1000;

/// Why a fast write cannot land on an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// A named limit is not on the item.
    Unseeded,
    /// A materialisation is due: an expired `ttl` or `vu`, a window that ended or
    /// is pending, parameters to stamp.
    Due,
    /// A balance is short.
    Short,
    /// The write budget is spent.
    Wcu,
}

/// The fast write of `debits` on one shard.
pub(crate) fn write(
    subject: &Subject,
    shard: u32,
    debits: &[Debit],
    settings: &Settings<'_>,
) -> ConditionalWrite {
    let now_ms = settings.now_ms;
    let mut changes = Vec::with_capacity(debits.len().saturating_mul(2).saturating_add(2));
    let mut clauses: Vec<Vec<Term>> = Vec::with_capacity(16);
    for debit in debits {
        let of = |field: Field| field.of(&debit.limit);
        if debit.milli != 0 {
            changes.push(Change::add(of(Field::Tokens), debit.milli.saturating_neg()));
            changes.push(Change::add(of(Field::Consumed), debit.milli));
        }
        clauses.push(vec![
            Term::compare(of(Field::Tokens), Test::AtLeast, debit.milli),
            Term::compare(of(Field::Soft), Test::More, now_ms),
            Term::compare(Field::Bypass, Test::More, now_ms),
        ]);
        if let Some(length_ms) = debit.length_ms() {
            // R11: writers that do not know `vu` drop it, so the window is checked as well.
            let ended = newest_ended_ms(now_ms, length_ms);
            clauses.require(Term::compare(of(Field::WindowStart), Test::More, ended));
            let start = || Value::Attribute(Attribute::from(of(Field::WindowStart)));
            let applied = Term::with(of(Field::WindowApplied), Test::AtLeast, start());
            // `ws <= wa`, and `ws <= rf` where there is no `wa`, as clauses of alternatives.
            clauses.push(vec![applied.clone(), Term::absent(of(Field::WindowApplied))]);
            clauses.push(vec![applied, Term::with(Field::LastRefill.into(), Test::AtLeast, start())]);
            clauses.require(Term::exists(of(Field::ResetAfter)));
        } else {
            clauses.require(Term::exists(of(Field::Tokens)));
            // The configuration says that this is a drip. Where the item has a quota, it needs the conditions
            // above.
            clauses.require(Term::absent(of(Field::ResetAfter)));
        }
        let stamped = stamped(debit, settings).into_iter();
        clauses.extend(
            stamped.filter_map(|(field, value)| Some(vec![Term::compare(of(field), Test::Equal, value?)])),
        );
    }
    let wcu = Arc::from("wcu");
    let wcu = |field: Field| field.of(&wcu);
    changes.push(Change::add(wcu(Field::Tokens), -WCU_MILLI));
    changes.push(Change::add(wcu(Field::Consumed), WCU_MILLI));
    clauses.require(Term::compare(wcu(Field::Tokens), Test::AtLeast, WCU_MILLI));
    clauses.push(Term::unless_absent(Field::Ttl.into(), Test::More, now_ms.div_euclid(1000)));
    clauses.push(Term::unless_absent(Field::ValidUntil.into(), Test::More, now_ms));
    clauses.extend(debitable(settings.parent));
    clauses.extend(names_parent(settings.parent));
    ConditionalWrite {
        pk: subject.bucket_pk(shard),
        sk: Cow::Borrowed(STATE_SK),
        action: Action::Update(changes),
        clauses,
    }
}

/// R15: an authoritative configuration is in force from this request on, so a fast write only
/// lands where the item agrees with it.
fn stamped(debit: &Debit, settings: &Settings<'_>) -> Vec<(Field, Option<i128>)> {
    let Some(limit) = settings.limit(&debit.limit).filter(|_| settings.authoritative) else {
        return Vec::new();
    };
    let capacity = (Field::Capacity, Some(milli(limit.capacity)));
    match limit.recovery {
        Recovery::Session(length_seconds) => {
            vec![capacity, (Field::ResetAfter, Some(length_seconds.into()))]
        }
        Recovery::Drip(Drip { refill_amount, refill_period_seconds }) => vec![
            capacity,
            (Field::ResetAfter, None),
            (Field::RefillAmount, Some(milli(refill_amount))),
            (Field::RefillPeriod, Some(milli(refill_period_seconds))),
        ],
    }
}

/// The first condition of a fast write of `debits` that fails on this image. None: it would land. Whether
/// the shard may be debited at all (`gate`) is not checked here.
pub(crate) fn obstacle(image: &Shard, debits: &[Debit], settings: &Settings<'_>) -> Option<Obstacle> {
    let now_ms = settings.now_ms;
    if debits.iter().any(|debit| image.limit(&debit.limit).is_none()) {
        return Some(Obstacle::Unseeded);
    }
    let expired = |instant: Option<i64>, now: i64| instant.is_some_and(|instant| instant <= now);
    let due = |debit: &Debit| {
        let Some(state) = image.limit(&debit.limit) else { return false };
        let window_due = debit.length_ms().is_some_and(|length_ms| {
            !Window::of(state, length_ms, image.last_refill_ms, now_ms).is_current()
        });
        let read = |field| match field {
            Field::Capacity => Some(state.capacity_milli),
            Field::RefillAmount => Some(state.refill_amount_milli),
            Field::RefillPeriod => Some(state.refill_period_ms.into()),
            _ => state.reset_after_seconds.map(i128::from),
        };
        window_due || stamped(debit, settings).into_iter().any(|(field, value)| read(field) != value)
    };
    if expired(image.ttl_seconds, now_ms.div_euclid(1000))
        || expired(image.valid_until_ms, now_ms)
        || debits.iter().any(due)
    {
        return Some(Obstacle::Due);
    }
    let short = |debit: &Debit| {
        let Some(state) = image.limit(&debit.limit) else { return true };
        state.tokens_milli < debit.milli && !image.is_waived(&debit.limit, now_ms)
    };
    if debits.iter().any(short) {
        return Some(Obstacle::Short);
    }
    let budget = image.wcu.as_ref().map_or(0, |wcu| wcu.tokens_milli);
    (budget < WCU_MILLI).then_some(Obstacle::Wcu)
}
