//! The requests to the table: a conditional write as data, and how it is encoded.
//!
//! The rules produce [`ConditionalWrite`]s; only `expression` writes the text of expressions.

mod change;
mod condition;
mod conditional;
mod encode;
mod expression;
mod read;
mod resend;
mod value;

pub use self::{
    change::{Change, Verb},
    condition::{Term, Test},
    conditional::{Action, ConditionalWrite},
    encode::encode,
    value::Value,
};
pub(crate) use self::{
    condition::Clauses,
    conditional::merge,
    encode::{Images, transaction},
    read::batch_read,
};
