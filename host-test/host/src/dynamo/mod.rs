//! The table's client: signs each call, sends it, and sends again what may be sent again.
//!
//! It knows nothing about limits. A [`Transport`] carries the requests: [`Http`] in ordinary programs, the
//! runtime's own client at an edge.

mod client;
mod config;
mod cost;
mod credentials;
mod date;
mod failure;
#[cfg(feature = "native")]
mod http;
mod interpose;
mod resend;
mod sign;
mod stats;
mod transport;

pub use client::Client;
pub use config::ClientConfig;
pub use cost::Cost;
pub use credentials::{Credentials, CredentialsError};
pub(crate) use failure::failure;
#[cfg(feature = "native")]
pub use http::{ConfigError, Http};
pub use interpose::{Before, Interpose};
pub use resend::Waits;
pub use sign::SignerError;
pub use stats::{OperationStats, Stats};
pub use transport::{REPLY_LIMIT_BYTES, Received, Transport};
