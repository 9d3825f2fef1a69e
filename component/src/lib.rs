//! Session quotas over sharded DynamoDB balances: the decision core of onewindow.
//!
//! This crate decides; it never does. It has no clock, no network, no randomness and no state
//! between requests: a host supplies the time, the stored items and the replies, and gets back
//! the calls to make and, in the end, a [`Decision`]. The same code is an ordinary Rust library
//! and, compiled for `wasm32-unknown-unknown` with the feature `component`, the WebAssembly
//! component whose contract is `wit/`.
//!
//! # The loop
//!
//! Every sequence is a machine with one method. A host
//!
//! 1. constructs it ([`Acquire::new`], [`Settle::new`], [`Preview::new`]),
//! 2. calls `advance` with the time and no replies,
//! 3. makes the [`Call`]s of the [`Step::Perform`] it gets, at the same time,
//! 4. hands their [`Reply`]s to the next `advance`, in the same order,
//! 5. until [`Step::Done`]: answers its caller,
//! 6. and then makes the decision's follow-ups.
//!
//! ```
//! use onewindow::{Acquire, AcquireRequest, Amount, Limit, Reply, Step, Subject};
//!
//! let mut machine = Acquire::new(AcquireRequest {
//!     subject: Subject::new("limits", "ns1", "user-1", "gpt-4"),
//!     consume: vec![Amount::new("session", 1)],
//!     limits: vec![Limit::session("session", 100, 18_000)],
//!     seed: 7,
//!     ..AcquireRequest::default()
//! });
//! let Step::Perform(calls) = machine.advance(1_800_000_000_000, &[]) else { panic!() };
//! assert_eq!(calls[0].operation, "UpdateItem"); // one conditional update, no read
//!
//! // A host signs and POSTs it. Here the connection breaks.
//! let Step::Done(decision) = machine.advance(1_800_000_000_050, &[Reply::Failed("reset".into())])
//! else { panic!() };
//! assert!(!decision.outcome.is_admitted());
//! ```
//!
//! # The rules
//!
//! What each rule says stands in `component/PROTOCOL.md`. Each has one home:
//!
//! | rule | module |
//! | --- | --- |
//! | R1 open, R3 pending, R4 roll, R13 the reset instant | [`window`] |
//! | R2 propagate | [`propagate`] |
//! | R5 stamps and pins, R6 `rf` forward, R10 additive, R11 the gates, R15 whose parameters | [`materialise`] |
//! | R7 join, R8 the move | [`join`], [`grant`] |
//! | R9 no false rejection | [`acquire`] |
//! | R12 ceilings and the drip, R14 retry after | [`balance`] |
#![no_std]
#![cfg_attr(not(feature = "component"), forbid(unsafe_code))]
#![cfg_attr(feature = "component", deny(unsafe_code))]
// Whatever it is fed, it answers: nothing here may panic.
#![cfg_attr(
    not(test),
    warn(
        clippy::arithmetic_side_effects,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::string_slice,
        clippy::unreachable,
        clippy::unwrap_used
    )
)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod item;
mod machine;
mod rule;
mod text;
mod types;
pub mod wire;
mod write;

#[cfg(feature = "component")]
mod guest;

pub use machine::{acquire, cascade, config, preview, settle};
pub use rule::{balance, grant, join, materialise, propagate, refill, window};

pub use item::{LimitState, Owner, Shard};
pub use machine::acquire::Acquire;
pub use machine::cascade::{Cascade, CascadeDecision, LevelDecision};
pub use machine::preview::{LimitPreview, Preview, PreviewOutcome, PreviewReport, ShardView, WindowState};
pub use machine::settle::{Settle, Settlement};
pub use types::answer::{Call, Decision, LimitStatus, Outcome, Reply, Resend, Step};
pub use types::error::{Error, ErrorCode};
pub use types::hint::{Hint, KnownRejection};
pub use types::lease::Lease;
pub use types::limit::{Amount, Drip, Limit, MAX_SECONDS, MAX_TOKENS, Recovery};
pub use types::request::{AcquireRequest, MAX_LIMITS};
pub use types::subject::{MAX_SHARD_COUNT, Subject};
pub use write::{Action, Attribute, Change, ConditionalWrite, Field, Term, Test, Value, Verb, encode};
