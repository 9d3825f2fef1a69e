//! The records of `wit/` that the library spells differently, and the conversions, once for both sides: the
//! component answers in these, a host that loads it reads these. What is not here is the same on both sides.

mod from_contract;
mod records;
mod to_contract;

pub use from_contract::Decided;
pub use records::{
    Call, Configuration, Decision, Ending, HttpReply, LevelDecision, Outcome, Previewed, Reply, Settled, Step,
};

/// The version of the contract: of the package `onewindow:quota` in `wit/`. It changes where the contract
/// does, not with each release of this crate.
pub const VERSION: &str = "0.2.0";
