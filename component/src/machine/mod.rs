//! The sequences, each a machine that a host drives, and what they read and remember.

pub(crate) mod acquire;
pub(crate) mod cascade;
pub mod config;
pub mod preview;
mod remembered;
pub(crate) mod settle;
