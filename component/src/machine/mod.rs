pub mod acquire;
pub mod cascade;
pub mod config;
pub mod preview;
mod remembered;
pub mod settle;
