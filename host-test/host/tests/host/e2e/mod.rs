//! End to end: the limiter, through the component and linked natively, over HTTP, on a real engine.
//! The clock is virtual; everything else is what a user has.

mod cascading;
mod configuring;
mod counts;
mod faults;
mod field_cases;
mod refilling;
mod settling;
mod shards;
mod windows;
