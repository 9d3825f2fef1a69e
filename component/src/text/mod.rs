//! Sentences, keys and numbers as text, composed from parts: `["limit ", &quoted(name), " …"].concat()`.
//!
//! `core::fmt` would add 10 KB to the component.

pub(crate) mod json;
mod number;
mod sentence;

pub(crate) use self::{
    number::{decimal, push_integer},
    sentence::{clip, contains, quoted, split_last},
};
