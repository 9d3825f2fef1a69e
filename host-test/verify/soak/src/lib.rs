//! Faults on the real path. A [`proxy`] makes requests and replies fail between hosts and the table. A soak
//! runs many hosts through it, and checks every write of the table's [`history`].
//!
//! ```text
//! host ─┐                                   ┌─ history: each write again on the model's table,
//! host ─┼──▶ proxy: faults ──▶ record ──▶ engine     the model's ledger, I1 to I10
//! host ─┘       ▲                           └─ at the end: item by item the same
//!               └ killed and started again
//! ```

mod attribution;
mod checks;
pub mod fault;
pub mod history;
mod hosts;
pub mod load;
pub mod options;
pub mod proxy;
pub mod report;
pub mod run;
pub mod worker;

pub use fault::{Fault, Plan};
pub use proxy::{CompletedWrite, Proxy, Traffic};
