//! A model of the table: conditional updates, transactions and batch reads, over items of numbers,
//! strings and booleans. A test compares it with a real engine.

pub mod expression;
mod item;
pub mod json;
mod request;
mod table;

pub use item::{Item, Key, Value};
pub use request::{Change, Effect, Request, Write};
pub use table::{Landed, Store};
