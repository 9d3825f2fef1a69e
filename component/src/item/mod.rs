//! A stored bucket item: what we know of it, and how it is read.
//!
//! Items are only ever changed by `UpdateItem` expressions that name single attributes, so what
//! we do not know is never in a position to be lost: it is skipped here and left alone there
//! (I10).

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
