//! One shard brought up to date: every limit is materialised, the request is debited, and the
//! difference is written under the item's lock.
//!
//! [`Materialisation`] is the whole new state; only its `write` turns it into a write.

mod debit;
mod lifetime;
mod limit;
mod parameters;
mod settings;
mod shard;
mod write;

pub use self::{
    debit::Debit, lifetime::lifetime_seconds, limit::LimitMaterialisation, settings::Settings,
    shard::Materialisation,
};
pub(crate) use self::{parameters::state_of, shard::check_unscheduled};
