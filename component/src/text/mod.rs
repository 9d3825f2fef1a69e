//! Sentences and keys, put together from parts: `["limit ", &quoted(name), " …"].concat()`.
//!
//! `core::fmt` would do the same and add 10 KB to the component.

pub(crate) mod json;
mod number;
mod sentence;

pub(crate) use self::{
    number::{decimal, push_integer},
    sentence::{clip, contains, quoted, split_last},
};
