//! Checks the rules of onewindow by exploring orders of events, on the code that ships.
//!
//! The clients of a [`world`] run the real core, request by request. The [`store`] is a small
//! model of the table: it executes the requests' own JSON bodies. [`explore`] tries every order of
//! events of a small world, or random orders of a larger one, and the [`ledger`] holds each to the
//! invariants. What breaks one is shrunk and told as a [`story`]. An [`ablation`] leaves one
//! clause of the rules out of every request: something must break.

pub mod ablation;
pub mod entity;
pub mod event;
pub mod explore;
pub mod ledger;
pub mod setting;
pub mod settings;
pub mod store;
pub mod story;
mod tab;
pub mod world;
