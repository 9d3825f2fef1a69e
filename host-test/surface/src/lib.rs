//! The HTTP surface of onewindow, whatever carries it.
//!
//! | module | what |
//! | --- | --- |
//! | [`http`] | the surface itself, from a request to a response |
//! | [`settings`] | how an edge guest is set up by variables |
//! | `server` | the surface carried by axum (feature `server`) |
//!
//! It decides nothing about limits: that is the core's. It sends nothing: that is the limiter's.

pub mod http;
#[cfg(feature = "server")]
pub mod server;
pub mod settings;
