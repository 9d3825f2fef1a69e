//! Faults on the real path: a [`proxy`] that breaks what passes between hosts and the table, and a
//! soak of many hosts through it, whose every write is checked.

pub mod fault;
pub mod proxy;

pub use fault::{Fault, Plan};
pub use proxy::{Passed, Proxy, Written};
