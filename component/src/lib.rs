//! Session quotas over sharded DynamoDB balances: the decision core of onewindow.
//!
//! This crate decides and does nothing else. It has no clock, no network, no randomness and no state
//! between requests: a host passes in the time and the table's replies, and receives the calls to make
//! and, at the end, a [`Decision`]. The same code is an ordinary Rust library and, compiled for
//! `wasm32-unknown-unknown` with the feature `component`, the WebAssembly component whose contract is
//! `wit/`.
//!
//! # The loop
//!
//! Every sequence is a machine with one method, `advance`: [`Acquire`] debits one entity, [`Cascade`] an
//! entity and its parents, [`Settle`] corrects a debit to what was used, [`Preview`] reads what is
//! left. A host
//!
//! 1. constructs the machine,
//! 2. calls `advance` with the time and no replies,
//! 3. sends the [`Call`]s of the [`Step::Perform`] that it returns, all at the same time; after each reply
//!    [`wire::classify`] decides whether to wait and send the call again,
//! 4. passes the [`Reply`]s to the next `advance`, in the same order, until [`Step::Done`],
//! 5. answers its caller, and then sends the decision's follow-ups.
//!
//! Between requests a host may keep a [`Hint`]: it saves round trips, and [`Hint::reject`] answers known
//! rejections without the table. [`config`] reads limits from the table; [`refill`] is for the
//! consumer of the table's change stream.
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
//! # The layers
//!
//! A request meets the folders of `src` in this order, and imports point the same way only:
//!
//! | folder | what is there |
//! | --- | --- |
//! | `guest` | the exports of the component |
//! | `contract` | the records of `wit/`, for components and their hosts |
//! | `machine` | the sequences: acquire, cascade, settle, preview; the configuration; a remembered rejection |
//! | `rule` | the rules, as functions of what was read |
//! | `write`, `wire` | the requests to the table; its replies |
//! | `item` | a stored item: its attributes, and how they are read |
//! | `types` | the types that a host passes in and receives |
//! | `text` | JSON, numbers, parts of sentences |
//!
//! # The rules
//!
//! The rules are written in `component/PROTOCOL.md`. Each is computed in one place, its home. Homes are files
//! of `rule` unless another folder is named:
//!
//! | rule | home |
//! | --- | --- |
//! | R1 open, R3 pending, R4 roll, R13 the reset instant, a window's end | `window` |
//! | R2 propagate | `propagate` |
//! | R5 stamps and pins, R6 `rf` forward, R10 additive, R15 whose parameters | `materialise` |
//! | R7 join, R8 the move | `join`, `grant` |
//! | R9 no false rejection | `machine/acquire`, `survey` |
//! | R11 the gates | `fast`, `gate` |
//! | R12 shares, ceilings and the drip, R14 retry after | `balance` |
//! | 6.9 how many shards there are | `shard_count` |
//! | `bypass` and `soft`: limits that are waived | `Shard::is_waived` of `item` |
//! | F22 which calls may be sent again | `write/resend` |
#![no_std]
// What only `internals` shows is unused without it. These lints are checked with it.
#![cfg_attr(
    not(feature = "internals"),
    allow(dead_code, unfulfilled_lint_expectations, unreachable_pub, unused_imports)
)]
// What the bindings generate is not ours.
#![cfg_attr(not(any(feature = "guest", feature = "wasmtime")), forbid(unsafe_code))]
// Whatever the input, it returns an answer: nothing here may panic.
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

#[cfg(feature = "contract")]
pub mod contract;
mod item;
mod machine;
mod rule;
mod text;
mod types;
pub mod wire;
mod write;

#[cfg(feature = "guest")]
mod guest;

pub use machine::{
    acquire::Acquire,
    cascade::{Cascade, MAX_LEVELS},
    config,
    preview::Preview,
    settle::Settle,
};
pub use types::{
    answer::{Call, Decision, Outcome, Reply, Resend, Step},
    cascade::{CascadeDecision, LevelDecision},
    error::{Error, ErrorCode},
    hint::{Hint, KnownRejection},
    lease::Lease,
    limit::{Amount, Drip, Limit, MAX_SECONDS, MAX_TOKENS, Recovery},
    preview::{LimitPreview, PreviewOutcome, PreviewReport, ShardView, WindowState},
    request::{AcquireRequest, MAX_LIMITS},
    settlement::Settlement,
    status::LimitStatus,
    subject::{MAX_SHARD_COUNT, Subject},
};

/// The refill of a busy shard, for the consumer of the table's change stream (section 6.10). It saves the
/// next request a locked write; without a consumer nothing else changes.
pub mod refill {
    pub use crate::rule::refill::call;
}

/// The layers below the machines, for this project's tests, fuzzing and model. No promise of stability:
/// any version may change them.
#[cfg(feature = "internals")]
pub mod internals {
    pub use crate::{
        item::{Attribute, Field, LimitState, Owner, Shard, decode_item},
        machine::preview,
        rule::{balance, grant, join, materialise, propagate, refill, window},
        write::{Action, Change, ConditionalWrite, Term, Test, Value, Verb, encode},
    };
}
