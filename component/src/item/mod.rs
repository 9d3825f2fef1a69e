//! A stored bucket item: the known attributes, and how they are read.
//!
//! Items are changed only by `UpdateItem` expressions that name single attributes. An unknown attribute
//! is skipped here and never written, so it cannot be lost (I10).

mod attributes;
mod decode;
mod field;
mod number;
mod shard;

pub(crate) use self::{
    attributes::{Attributes, Raw},
    field::Of,
};
pub use self::{
    decode::decode_item,
    field::{Attribute, Field},
    shard::{LimitState, Owner, Shard},
};
