//! The HTTP surface of onewindow, independent of the server that carries it.
//!
//! | module | what |
//! | --- | --- |
//! | [`http`] | the surface itself, from a request to a response |
//! | [`settings`] | the settings of an edge guest, read from variables |
//! | `server` | the surface as an axum server (feature `server`) |
//!
//! It decides nothing about limits: the core does. It sends nothing to the table: the limiter does.

pub mod http;
#[cfg(feature = "server")]
pub mod server;
pub mod settings;
