//! Checks the rules of onewindow by exploring orders of events, on the code that ships.
//!
//! Each module imports only from those above it in this list:
//!
//! - [`store`]: a small model of the table. It executes the JSON bodies of the core's requests.
//! - [`time`], [`quota`], `parent`: what the stored items say.
//! - [`ablation`]: leaves one clause of the rules out of every request. Something must break then.
//! - [`setting`]: what a world begins with, and what may go wrong in it.
//! - [`catalog`]: the worlds that are explored, by name.
//! - [`event`]: what can happen.
//! - [`ledger`]: debits and credits by entity and by cascade, and the invariants.
//! - [`world`]: a table and clients that run the real core, request by request.
//! - [`explore`]: every order of events of a small world, or random orders of a larger one. An order
//!   that breaks an invariant is shortened.
//! - [`trace`]: events as a line of text, and step by step with the items.

pub mod ablation;
pub mod catalog;
pub mod event;
pub mod explore;
pub mod ledger;
mod parent;
pub mod quota;
pub mod setting;
pub mod store;
pub mod time;
pub mod trace;
pub mod world;
