//! The world `inspect`: the rules as pure functions.

use alloc::{borrow::ToOwned, string::String, vec::Vec};

use crate::{
    contract::Call,
    item::{LimitState, Owner, Shard, decode_item},
    machine::preview,
    rule::{
        grant, join,
        materialise::{Debit, Materialisation, Settings},
        propagate, refill,
    },
    text::decimal,
    types::{
        answer,
        error::Error,
        limit::{Amount, Limit, instant_ms},
        preview::PreviewReport,
        request::check_limits,
        subject::{MAX_SHARD_COUNT, Subject},
    },
    write::{Images, transaction},
};
use bindings::exports::onewindow::quota::rules;

/// What wit-bindgen makes of `wit/`.
#[allow(unsafe_code, missing_docs, unreachable_pub, clippy::all, reason = "generated")]
mod bindings {
    wit_bindgen::generate!({
        path: "wit",
        world: "inspect",
        generate_all,
        // The library's own types, one for one. Cases of an enum are matched by their place.
        with: {
            "onewindow:quota/types@0.2.0/recovery": crate::types::limit::Recovery,
            "onewindow:quota/types@0.2.0/drip": crate::types::limit::Drip,
            "onewindow:quota/types@0.2.0/limit": crate::Limit,
            "onewindow:quota/types@0.2.0/amount": crate::Amount,
            "onewindow:quota/types@0.2.0/subject": crate::Subject,
            "onewindow:quota/types@0.2.0/limit-status": crate::LimitStatus,
            "onewindow:quota/types@0.2.0/resend": crate::Resend,
            "onewindow:quota/types@0.2.0/call": crate::contract::Call,
            "onewindow:quota/types@0.2.0/error-code": crate::ErrorCode,
            "onewindow:quota/types@0.2.0/error": crate::Error,
            "onewindow:quota/types@0.2.0/window-state": crate::WindowState,
            "onewindow:quota/types@0.2.0/shard-view": crate::ShardView,
            "onewindow:quota/types@0.2.0/limit-preview": crate::LimitPreview,
            "onewindow:quota/types@0.2.0/preview-report": crate::PreviewReport,
        },
        pub_export_macro: false,
    });
    use super::Component;
    export!(Component);
}

struct Component;

impl rules::Guest for Component {
    fn decode_item(item: String) -> Result<rules::Item, Error> {
        view(decode_item(&item)?)
    }

    fn materialise(
        table: String,
        item: String,
        limits: Vec<Limit>,
        consume: Vec<Amount>,
        authoritative: bool,
        permanent: bool,
        now_ms: u64,
    ) -> Result<rules::Materialisation, Error> {
        let (shard, limits) = (decode_item(&item)?, limits);
        let settings =
            Settings { limits: &limits, authoritative, permanent, parent: None, now_ms: instant_ms(now_ms)? };
        let debits = debits(&consume, &limits, core::slice::from_ref(&shard))?;
        let materialisation = Materialisation::of(&shard, &settings)?;
        let write = || materialisation.write(&Subject::default(), &Owner::default(), &debits);
        let call = materialisation.admits(&debits).then(|| write().call(&table, Images::Both));
        materialised(&materialisation, &debits, call)
    }

    fn propagation(
        subject: Subject,
        shard: u32,
        shard_count: u32,
        limit: String,
        length_seconds: u64,
        window_start_ms: u64,
    ) -> Result<Vec<Call>, Error> {
        subject.check()?;
        let quota = Limit::session(&limit, 1, length_seconds);
        quota.check()?;
        let opened = propagate::Opened {
            limit: limit.as_str().into(),
            length_seconds: quota.length_seconds().unwrap_or_default(),
            start_ms: instant_ms(window_start_ms)?,
        };
        let writes = propagate::writes(&subject, shard, count(shard_count)?, &[opened]);
        Ok(writes.iter().map(|write| write.call(&subject.table, Images::Neither).into()).collect())
    }

    fn plan_grant(shard: u32, share_milli: i64, siblings: Vec<rules::Sibling>) -> rules::Grant {
        let siblings: Vec<grant::Sibling> = siblings.into_iter().map(Into::into).collect();
        let planned = grant::plan(shard, share_milli.into(), &siblings);
        rules::Grant {
            // It is between 0 and the share, so it fits.
            tokens_milli: i64::try_from(planned.tokens_milli).unwrap_or(share_milli),
            donor: planned.donor.map(|donor| donor.shard),
        }
    }

    fn plan_join(
        subject: Subject,
        shard: u32,
        shard_count: u32,
        siblings: Vec<String>,
        limits: Vec<Limit>,
        consume: Vec<Amount>,
        permanent: bool,
        now_ms: u64,
    ) -> Result<rules::Materialisation, Error> {
        subject.check()?;
        let (siblings, limits) = (shards(&siblings)?, limits);
        let settings = Settings {
            limits: &limits,
            authoritative: false,
            permanent,
            parent: None,
            now_ms: instant_ms(now_ms)?,
        };
        let debits = debits(&consume, &limits, &siblings)?;
        let reading = join::Reading {
            slot: slot(shard)?,
            own: None,
            siblings: &siblings,
            shard_count: count(shard_count)?,
            named: &debits,
        };
        let planned = join::plan(&reading, &settings)?;
        let admitted = planned.materialisation.admits(&debits);
        let commits = admitted || planned.moves();
        let (materialisation, writes) =
            planned.into_writes(&subject, None, if admitted { &debits } else { &[] });
        let call = commits.then(|| transaction(&subject.table, &writes));
        materialised(&materialisation, &debits, call)
    }

    fn refill(table: String, old: Option<String>, new: String, now_ms: u64) -> Result<Option<Call>, Error> {
        Ok(refill::call(&table, old.as_deref(), &new, now_ms)?.map(Into::into))
    }

    fn survey(
        items: Vec<String>,
        shard_count: u32,
        limits: Vec<Limit>,
        now_ms: u64,
    ) -> Result<PreviewReport, Error> {
        preview::report(&shards(&items)?, count(shard_count)?, &limits, instant_ms(now_ms)?)
    }
}

impl From<rules::Sibling> for grant::Sibling {
    fn from(sibling: rules::Sibling) -> Self {
        Self {
            shard: sibling.shard,
            current: sibling.current,
            grant_count: sibling.grant_count.into(),
            tokens_milli: sibling.tokens_milli.into(),
        }
    }
}

/// An item in the contract's form.
fn view(shard: Shard) -> Result<rules::Item, Error> {
    let numbers = [
        ("shard_count", Some(shard.shard_count.into())),
        ("rf", Some(shard.last_refill_ms)),
        ("vu", shard.valid_until_ms),
        ("ttl", shard.ttl_seconds),
        ("bypass", shard.bypass_until_ms),
    ];
    let marks = [("disabled", shard.disabled), ("cascade", shard.cascade), ("sched", shard.scheduled)];
    let mut limits = Vec::new();
    for state in shard.limits.iter().chain(&shard.wcu) {
        limits.push(limit_view(state)?);
    }
    let named = |(name, value): (&str, Option<i64>)| {
        value.map(|value| rules::NamedNumber { name: name.to_owned(), value })
    };
    Ok(rules::Item {
        pk: shard.pk,
        shard: shard.id,
        numbers: numbers.into_iter().filter_map(named).collect(),
        marks: marks.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name.to_owned()).collect(),
        limits,
    })
}

fn limit_view(state: &LimitState) -> Result<rules::ItemLimit, Error> {
    let whole = |number: Option<i64>| number.map(i128::from);
    let all = [
        ("tk", Some(state.tokens_milli)),
        ("cp", Some(state.capacity_milli)),
        ("ra", Some(state.refill_amount_milli)),
        ("rp", Some(state.refill_period_ms.into())),
        ("tc", state.consumed_milli),
        ("rsa", whole(state.reset_after_seconds)),
        ("ws", whole(state.window_start_ms)),
        ("wa", whole(state.window_applied_ms)),
        ("wtc", state.consumed_mark_milli),
        ("gc", whole(state.grant_count)),
        ("tu", state.topped_up_milli),
        ("soft", whole(state.soft_until_ms)),
    ];
    let mut numbers = Vec::new();
    for (field, value) in all {
        let Some(value) = value else { continue };
        let beyond = |_| Error::overflow(&["b_", &state.name, "_", field].concat());
        numbers.push(rules::NamedNumber {
            name: field.to_owned(),
            value: i64::try_from(value).map_err(beyond)?,
        });
    }
    Ok(rules::ItemLimit { name: state.name.as_ref().to_owned(), numbers })
}

/// A balance in the contract's 64 bits; the table's may have more.
fn narrow(number: i128, of: &str) -> Result<i64, Error> {
    i64::try_from(number).map_err(|_| Error::overflow(of))
}

fn grant_count(count: i64) -> Result<u32, Error> {
    u32::try_from(count).map_err(|_| Error::overflow("a grant count"))
}

/// A materialisation in the contract's form, with its write.
fn materialised(
    materialisation: &Materialisation,
    debits: &[Debit],
    call: Option<answer::Call>,
) -> Result<rules::Materialisation, Error> {
    let admitted = materialisation.admits(debits);
    let left = materialisation.after(if admitted { debits } else { &[] });
    let mut limits = Vec::new();
    for (limit, left) in materialisation.limits.iter().zip(&left.limits) {
        limits.push(rules::LimitMaterialisation {
            name: left.name.as_ref().to_owned(),
            balance_milli: narrow(limit.after.tokens_milli, "a balance")?,
            left_milli: narrow(left.tokens_milli, "a balance")?,
            ceiling_milli: narrow(limit.ceiling_milli, "a ceiling")?,
            grant_count: left.grant_count.map(grant_count).transpose()?,
            was_pending: limit.was_pending,
            opened: limit.opened,
            reset: limit.reset,
            starts_at_ms: left.window_start_ms.and_then(|start_ms| u64::try_from(start_ms).ok()),
            ends_at_ms: limit.window_end_ms().and_then(|end_ms| u64::try_from(end_ms).ok()),
        });
    }
    let retry_after_ms = materialisation.retry_after_ms(debits);
    Ok(rules::Materialisation { admitted, limits, retry_after_ms, call: call.map(Into::into) })
}

fn shards(items: &[String]) -> Result<Vec<Shard>, Error> {
    let mut shards = Vec::new();
    for item in items {
        shards.push(decode_item(item)?);
    }
    Ok(shards)
}

/// Checks a slot: below 32.
fn slot(shard: u32) -> Result<u32, Error> {
    if shard < MAX_SHARD_COUNT {
        return Ok(shard);
    }
    Err(Error::invalid(&["shard ", &decimal(shard), ", expected one below ", &decimal(MAX_SHARD_COUNT)]))
}

/// Checks a shard count: at most 32.
fn count(shards: u32) -> Result<u32, Error> {
    if shards <= MAX_SHARD_COUNT {
        return Ok(shards);
    }
    let most = decimal(MAX_SHARD_COUNT);
    Err(Error::invalid(&["a shard count of ", &decimal(shards), ", expected at most ", &most]))
}

/// The amounts, each with the length of its window as configured or, without configuration, as stored.
fn debits(consume: &[Amount], limits: &[Limit], shards: &[Shard]) -> Result<Vec<Debit>, Error> {
    check_limits(limits)?;
    let mut debits = Vec::new();
    for amount in consume {
        debits.push(Debit::find(amount, limits, shards)?);
    }
    Ok(debits)
}
