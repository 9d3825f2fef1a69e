//! A shard that is created, or a limit that is seeded, in the middle of a window: it joins the
//! entity's window (R7) and is funded by the shard whose grant covers its slot (R8), in one transaction
//! that is conditioned on everything it was planned from.

mod candidate;
mod owner;
mod plan;
mod write;

pub use self::{
    candidate::Candidate,
    plan::{Reading, as_sibling, joined_start_ms, plan},
    write::Join,
};
