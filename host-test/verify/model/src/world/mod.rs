//! A world: a table, clients that run the core that ships, and everything that can happen to them.
//!
//! A [`World`] is a value. [`World::events`] lists what can happen next. [`World::step`] makes it
//! happen and checks the invariants. Time is a list of instants; a client's clock is the world's clock
//! plus an error of its own.

mod answers;
mod calls;
mod client;
mod machine;
mod message;
mod network;
mod other_writers;
mod parse;
mod possible;
mod probe;
mod state;
mod step;
mod step_record;

pub use state::World;
pub use step_record::StepRecord;
