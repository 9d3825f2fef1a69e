//! The host library in one program: a program links wasmtime and SQLite, so one is built sooner than seven.

#[path = "../common/mod.rs"]
mod common;
mod e2e;
mod kit;
mod limiter;
mod model_store;
mod purity;
mod scenarios;
mod vectors;
