//! Session quotas over DynamoDB: a limiter around the onewindow core.
//!
//! The core ([`onewindow`]) decides and does nothing else. This crate does the rest: it signs and
//! sends the calls the core names, hands the replies back, answers the caller, and makes the
//! follow-ups after the answer.
//!
//! ```text
//! Limiter ── request ──▶ Engine        the core as a component in wasmtime, or linked natively
//!    │ ◀── calls ───────────┘
//!    └── signed requests ──▶ Client ──▶ DynamoDB over HTTP
//! ```
//!
//! # Example
//!
//! A quota of 100 requests in the five hours after the first, on a table inside this process:
//!
//! ```
//! use onewindow_host::{
//!     AcquireRequest, Amount, Client, Embedded, Engine, Limit, Limiter, LimiterOptions, Subject, table,
//! };
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let database = Embedded::in_memory().await?;
//! let client = Client::new(database.client_config())?;
//! table::create(&client, "limits", false, std::time::Duration::from_secs(30)).await?;
//!
//! let limiter = Limiter::new(Engine::component()?, client, LimiterOptions::default());
//! let request = AcquireRequest {
//!     subject: Subject::new("limits", "default", "user-1", "gpt-4"),
//!     consume: vec![Amount::new("session", 1)],
//!     limits: vec![Limit::session("session", 100, 5 * 60 * 60)],
//!     ..AcquireRequest::default()
//! };
//! let answer = limiter.acquire(request).await;
//! assert!(answer.is_allowed());
//! assert_eq!(answer.decision.limits[0].available, 99);
//!
//! limiter.flush().await; // before the process ends: follow-ups run after the answer
//! # Ok(())
//! # }
//! ```
//!
//! Against AWS it is `Client::new(ClientConfig::aws("eu-west-1", Credentials::from_env()?))`.

pub mod contract;
pub mod guest;
pub mod resend;
pub mod sign;
pub mod telemetry;

mod credentials;
mod hints;

#[cfg(feature = "native")]
pub mod clock;
#[cfg(feature = "native")]
pub mod dynamo;
#[cfg(feature = "embedded")]
pub mod embedded;
#[cfg(feature = "native")]
pub mod engine;
#[cfg(feature = "native")]
pub mod limiter;
#[cfg(feature = "refill")]
pub mod refill;
#[cfg(feature = "native")]
pub mod table;

pub use credentials::{Credentials, CredentialsError};
pub use hints::Hints;
pub use resend::Waits;
pub use sign::{Signer, SignerError};

#[cfg(feature = "native")]
pub use clock::Clock;
#[cfg(feature = "native")]
pub use dynamo::{Client, ClientConfig, Cost};
#[cfg(feature = "embedded")]
pub use embedded::Embedded;
#[cfg(feature = "native")]
pub use engine::Engine;
#[cfg(feature = "native")]
pub use limiter::{Answer, Limiter, LimiterOptions, OnUnavailable};
pub use onewindow::{AcquireRequest, Amount, Lease, Limit, Outcome, PreviewOutcome, Subject};
