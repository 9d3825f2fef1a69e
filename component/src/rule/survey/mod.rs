//! A survey of all shards (R9): which shards can serve a request, alone or together, and what is left where
//! none can.

mod place;
mod reject;
mod shards;
mod slot;

pub(crate) use self::{place::Placement, reject::Rejection, shards::ShardSurvey};
