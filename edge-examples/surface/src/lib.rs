//! What every Rust host of onewindow shares, so that each of its rules has one home.
//!
//! | module | what |
//! | --- | --- |
//! | [`http`] | the HTTP surface, from a request to a response |
//! | [`sign`] | a call as a signed request |
//! | [`resend`] | when a call is sent again |
//! | [`Hints`] | what is remembered between requests |
//! | [`told`] | what is told of every answer, for logs and metrics |
//! | [`guest`] | a limiter for edge guests, over any way of sending requests |
//! | [`contract`] | the contract's records, as any tool makes them, in the core's types |
//! | [`settings`] | how an edge guest is set up by variables |
//!
//! It decides nothing about limits: that is the core's.

pub mod contract;
pub mod guest;
pub mod http;
pub mod resend;
pub mod settings;
pub mod sign;
pub mod told;

mod credentials;
mod hints;

pub use credentials::{Credentials, CredentialsError};
pub use hints::Hints;
pub use resend::Waits;
pub use sign::{Signer, SignerError};
