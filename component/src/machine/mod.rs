//! The sequences, each a machine that a host drives; the table's configuration; remembered rejections.

pub(crate) mod acquire;
pub(crate) mod cascade;
pub mod config;
pub mod preview;
mod remembered;
pub(crate) mod settle;
