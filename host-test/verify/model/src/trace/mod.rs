//! Traces: events as a line of text that can be replayed, and spelled out step by step.

mod code;
mod print;

pub use code::{decode, encode};
pub use print::{explain, steps};
