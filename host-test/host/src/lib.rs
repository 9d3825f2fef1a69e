#![cfg_attr(feature = "native", doc = include_str!("../README.md"))]
#![cfg_attr(
    not(feature = "native"),
    doc = "Session quotas over DynamoDB: the limiter's loop, for edge guests."
)]

mod cache;
pub mod clock;
pub mod dynamo;
#[cfg(feature = "embedded")]
pub mod embedded;
pub mod engine;
pub mod limiter;
#[cfg(feature = "refill")]
pub mod refill;
#[cfg(feature = "native")]
pub mod table;

pub use clock::Clock;
pub use dynamo::{Client, ClientConfig, Cost, Credentials, CredentialsError, Received, Transport, Waits};
#[cfg(feature = "embedded")]
pub use embedded::Embedded;
pub use engine::Engine;
pub use limiter::{Answer, Limiter, LimiterOptions, OnUnavailable};
pub use onewindow::{AcquireRequest, Amount, Lease, Limit, Outcome, PreviewOutcome, Subject};
