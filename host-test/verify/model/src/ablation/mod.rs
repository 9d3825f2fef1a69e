//! Ablations: one clause of the rules is left out of every request, to see what breaks without it.
//! The core that ships has no switches for this; its requests are changed on their way to the table.

mod apply;
mod clause;
mod edit;
mod write_kind;

pub use clause::Ablation;
