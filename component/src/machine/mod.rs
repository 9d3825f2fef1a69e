pub mod acquire;
pub mod cascade;
pub mod config;
pub mod preview;
pub mod settle;
