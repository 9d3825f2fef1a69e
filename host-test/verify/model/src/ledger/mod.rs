//! Ledgers: what was debited and credited, and the invariants that must hold of it.

mod actor;
mod cascade_checks;
mod cascade_ledger;
mod entity_ledger;
mod instants;
mod item_checks;
mod violation;

pub use actor::Actor;
pub(crate) use cascade_ledger::{CascadeLedger, Debit, LevelReply};
pub use entity_ledger::Ledger;
pub(crate) use instants::check_instants;
pub use violation::Violation;
