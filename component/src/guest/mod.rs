//! The exports of the world `quota`: what the library does, in the words of the contract. The only
//! place that knows wit-bindgen.

mod convert;

use alloc::{string::String, vec::Vec};
use core::cell::RefCell;

use crate::{
    item::{Owner, Shard, decode_item},
    machine::preview,
    rule::grant,
    rule::join,
    rule::materialise::{Debit, Materialisation, Settings},
    rule::propagate,
    rule::refill,
    text::decimal,
    types::answer::{Reply, Step},
    types::error::Error,
    types::limit::{Limit, instant_ms},
    types::request::{AcquireRequest, check_limits},
    types::subject::MAX_SHARD_COUNT,
    wire,
    write::{Images, transaction},
};
use bindings::exports::onewindow::quota::{
    acquire as acquire_export, cascade as cascade_export, preview as preview_export, settle as settle_export,
    types as t, window as window_export, wire as wire_export,
};

/// What wit-bindgen makes of `wit/`.
#[allow(unsafe_code, missing_docs, unreachable_pub, clippy::all, reason = "generated")]
mod bindings {
    wit_bindgen::generate!({
        path: "wit",
        world: "quota",
        generate_all,
        // One for one the library's own types. An enum is told by its place: both have the same order.
        with: {
            "onewindow:quota/types@0.1.0/recovery": crate::types::limit::Recovery,
            "onewindow:quota/types@0.1.0/drip": crate::types::limit::Drip,
            "onewindow:quota/types@0.1.0/limit": crate::Limit,
            "onewindow:quota/types@0.1.0/amount": crate::Amount,
            "onewindow:quota/types@0.1.0/subject": crate::Subject,
            "onewindow:quota/types@0.1.0/limit-status": crate::LimitStatus,
            "onewindow:quota/types@0.1.0/hint": crate::Hint,
            "onewindow:quota/types@0.1.0/known-rejection": crate::KnownRejection,
            "onewindow:quota/types@0.1.0/acquire-request": crate::AcquireRequest,
            "onewindow:quota/types@0.1.0/resend": crate::Resend,
            "onewindow:quota/types@0.1.0/error-code": crate::ErrorCode,
            "onewindow:quota/types@0.1.0/error": crate::Error,
            "onewindow:quota/settle@0.1.0/settlement": crate::Settlement,
            "onewindow:quota/preview@0.1.0/window-state": crate::WindowState,
            "onewindow:quota/preview@0.1.0/shard-view": crate::ShardView,
            "onewindow:quota/preview@0.1.0/limit-preview": crate::LimitPreview,
            "onewindow:quota/preview@0.1.0/preview-report": crate::PreviewReport,
            "onewindow:quota/preview@0.1.0/preview-outcome": crate::PreviewOutcome,
            "onewindow:quota/wire@0.1.0/classification": crate::wire::Classification,
        },
        pub_export_macro: false,
    });
    use super::Component;
    export!(Component);
}

/// Without the standard library, memory and the end of the world are ours to name. A panic cannot
/// be told to anybody from in here, so it traps: the host sees it and throws the instance away.
#[cfg(target_family = "wasm")]
mod runtime {
    /// Constant time, and neighbours that are given back are joined: an instance may live long.
    #[global_allocator]
    static MEMORY: rlsf::SmallGlobalTlsf = rlsf::SmallGlobalTlsf::new();

    #[panic_handler]
    fn trap(_: &core::panic::PanicInfo<'_>) -> ! {
        core::arch::wasm32::unreachable()
    }
}

struct Component;

struct Acquisition(RefCell<crate::Acquire>);
struct Cascading(RefCell<crate::Cascade>);
struct Settling(RefCell<crate::Settle>);
struct Previewing(RefCell<crate::Preview>);

impl acquire_export::Guest for Component {
    type Acquisition = Acquisition;

    fn reject(request: AcquireRequest, hint: crate::Hint, now_ms: u64) -> Option<t::Decision> {
        hint.reject(&request, now_ms).map(Into::into)
    }
}

impl acquire_export::GuestAcquisition for Acquisition {
    fn new(request: AcquireRequest) -> Self {
        Self(RefCell::new(crate::Acquire::new(request)))
    }

    fn advance(&self, now_ms: u64, replies: Vec<t::Reply>) -> t::Step {
        let replies: Vec<Reply> = all(replies);
        match self.0.borrow_mut().advance(now_ms, &replies) {
            Step::Perform(calls) => t::Step::Perform(all(calls)),
            Step::Done(decision) => t::Step::Done(decision.into()),
        }
    }
}

impl cascade_export::Guest for Component {
    type Cascading = Cascading;
}

impl cascade_export::GuestCascading for Cascading {
    fn new(levels: Vec<AcquireRequest>) -> Self {
        Self(RefCell::new(crate::Cascade::new(levels)))
    }

    fn advance(&self, now_ms: u64, replies: Vec<t::Reply>) -> cascade_export::CascadeStep {
        let replies: Vec<_> = replies.into_iter().map(Into::into).collect();
        match self.0.borrow_mut().advance(now_ms, &replies) {
            Step::Perform(calls) => cascade_export::CascadeStep::Perform(all(calls)),
            Step::Done(decision) => cascade_export::CascadeStep::Done(decision.into()),
        }
    }
}

impl settle_export::Guest for Component {
    type Settling = Settling;
}

impl settle_export::GuestSettling for Settling {
    fn new(table: String, lease: String, actual: Vec<crate::Amount>) -> Self {
        Self(RefCell::new(crate::Settle::new(&table, &lease, actual)))
    }

    fn advance(&self, now_ms: u64, replies: Vec<t::Reply>) -> settle_export::SettleStep {
        let replies: Vec<Reply> = all(replies);
        match self.0.borrow_mut().advance(now_ms, &replies) {
            Step::Perform(calls) => settle_export::SettleStep::Perform(all(calls)),
            Step::Done(settlement) => settle_export::SettleStep::Done(settlement),
        }
    }
}

impl preview_export::Guest for Component {
    type Previewing = Previewing;
}

impl preview_export::GuestPreviewing for Previewing {
    fn new(subject: crate::Subject, limits: Vec<Limit>, hint: Option<crate::Hint>) -> Self {
        Self(RefCell::new(crate::Preview::new(subject, limits, hint.as_ref())))
    }

    fn advance(&self, now_ms: u64, replies: Vec<t::Reply>) -> preview_export::PreviewStep {
        let replies: Vec<Reply> = all(replies);
        match self.0.borrow_mut().advance(now_ms, &replies) {
            Step::Perform(calls) => preview_export::PreviewStep::Perform(all(calls)),
            Step::Done(outcome) => preview_export::PreviewStep::Done(outcome),
        }
    }

    fn hint(&self) -> crate::Hint {
        self.0.borrow().hint()
    }
}

impl window_export::Guest for Component {
    fn materialise(
        table: String,
        item: String,
        limits: Vec<Limit>,
        consume: Vec<crate::Amount>,
        authoritative: bool,
        permanent: bool,
        now_ms: u64,
    ) -> Result<window_export::Materialisation, Error> {
        let (shard, limits) = (decode_item(&item)?, limits);
        let settings =
            Settings { limits: &limits, authoritative, permanent, parent: None, now_ms: instant_ms(now_ms)? };
        let debits = debits(&consume, &limits, core::slice::from_ref(&shard))?;
        let materialisation = Materialisation::of(&shard, &settings)?;
        let write = || materialisation.write(&crate::Subject::default(), &Owner::default(), &debits);
        let call = materialisation.admits(&debits).then(|| write().call(&table, Images::Both));
        convert::pass(&materialisation, &debits, call)
    }

    fn propagation(
        subject: crate::Subject,
        shard: u32,
        shard_count: u32,
        limit: String,
        length_seconds: u64,
        window_start_ms: u64,
    ) -> Result<Vec<t::Call>, Error> {
        subject.check()?;
        let quota = Limit::session(&limit, 1, length_seconds);
        quota.check()?;
        let opened = propagate::Opened {
            limit: limit.as_str().into(),
            length_seconds: quota.length_seconds().unwrap_or_default(),
            start_ms: instant_ms(window_start_ms)?,
        };
        let writes = propagate::writes(&subject, shard, slots(shard_count)?, &[opened]);
        Ok(writes.iter().map(|write| write.call(&subject.table, Images::Neither).into()).collect())
    }

    fn plan_grant(
        shard: u32,
        share_milli: i64,
        siblings: Vec<window_export::Sibling>,
    ) -> window_export::Grant {
        let siblings: Vec<grant::Sibling> = all(siblings);
        let planned = grant::plan(shard, share_milli.into(), &siblings);
        window_export::Grant {
            // Never more than the share, never less than nothing: it fits.
            tokens_milli: i64::try_from(planned.tokens_milli).unwrap_or(share_milli),
            donor: planned.donor.map(|donor| donor.shard),
        }
    }

    fn plan_join(
        subject: crate::Subject,
        shard: u32,
        shard_count: u32,
        siblings: Vec<String>,
        limits: Vec<Limit>,
        consume: Vec<crate::Amount>,
        permanent: bool,
        now_ms: u64,
    ) -> Result<window_export::Materialisation, Error> {
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
            slot: slots(shard)?,
            own: None,
            siblings: &siblings,
            shard_count: slots(shard_count)?,
            named: &debits,
        };
        let planned = join::plan(&reading, &settings)?;
        let admitted = planned.materialisation.admits(&debits);
        let commits = admitted || planned.moves();
        let (materialisation, writes) =
            planned.into_writes(&subject, None, if admitted { &debits } else { &[] });
        let call = commits.then(|| transaction(&subject.table, &writes));
        convert::pass(&materialisation, &debits, call)
    }

    fn refill(
        table: String,
        old: Option<String>,
        new: String,
        now_ms: u64,
    ) -> Result<Option<t::Call>, Error> {
        Ok(refill::call(&table, old.as_deref(), &new, now_ms)?.map(Into::into))
    }

    fn preview(
        items: Vec<String>,
        shard_count: u32,
        limits: Vec<Limit>,
        now_ms: u64,
    ) -> Result<crate::PreviewReport, Error> {
        preview::report(&shards(&items)?, slots(shard_count)?, &limits, instant_ms(now_ms)?)
    }
}

impl wire_export::Guest for Component {
    fn decode_item(item: String) -> Result<wire_export::ShardState, Error> {
        decode_item(&item)?.try_into()
    }

    fn classify(reply: t::Reply) -> wire::Classification {
        wire::classify(&reply.into())
    }
}

fn all<A, B: From<A>>(items: Vec<A>) -> Vec<B> {
    items.into_iter().map(Into::into).collect()
}

fn shards(items: &[String]) -> Result<Vec<Shard>, Error> {
    let mut shards = Vec::new();
    for item in items {
        shards.push(decode_item(item)?);
    }
    Ok(shards)
}

/// A slot or a count that there can be.
fn slots(number: u32) -> Result<u32, Error> {
    if number <= MAX_SHARD_COUNT {
        return Ok(number);
    }
    Err(Error::invalid(&["shard ", &decimal(number), ", expected at most ", &decimal(MAX_SHARD_COUNT)]))
}

/// The amounts, each with its window's length: as configured, or as stored.
fn debits(consume: &[crate::Amount], limits: &[Limit], shards: &[Shard]) -> Result<Vec<Debit>, Error> {
    check_limits(limits)?;
    let mut debits = Vec::new();
    for amount in consume {
        debits.push(Debit::find(amount, limits, shards)?);
    }
    Ok(debits)
}
