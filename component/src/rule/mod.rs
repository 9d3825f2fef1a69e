//! The rules, as functions of what was read. The table at the top of the crate names each rule's home.

pub mod balance;
pub(crate) mod fast;
pub(crate) mod gate;
pub mod grant;
pub mod join;
pub mod materialise;
pub mod propagate;
pub mod refill;
pub(crate) mod shard_count;
pub(crate) mod survey;
pub mod window;
