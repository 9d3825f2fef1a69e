//! Faults on the real path: a [`proxy`] that breaks what passes between hosts and the table, and a
//! soak of many hosts through it, whose every write is checked against the table's [`history`].
//!
//! ```text
//! host ─┐                                   ┌─ history: each write again on the model's table,
//! host ─┼──▶ proxy: faults ──▶ record ──▶ engine     the model's ledger, I1 to I10
//! host ─┘       ▲                           └─ at the end: item by item the same
//!               └ killed and started anew
//! ```

pub mod fault;
pub mod history;
pub mod load;
pub mod proxy;
pub mod report;
pub mod run;
pub mod worker;

pub use fault::{Fault, Plan};
pub use proxy::{Passed, Proxy, Written};
