//! A survey of all shards (R9): who can serve, together or alone, and what is left if nobody can.

mod place;
mod reject;
mod shards;
mod slot;

pub(crate) use self::{place::Placement, reject::Rejection, shards::ShardSurvey};
