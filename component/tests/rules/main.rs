//! The rules R1 to R15 and the field cases F1 to F26, each by its name, through the public API.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod kit;

mod cascading;
mod configuring;
mod joins;
mod locked;

mod machine;
mod preview;
mod properties;
mod replies;
mod settling;
mod survey;
mod waits;
mod windows;
