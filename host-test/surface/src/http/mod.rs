//! The HTTP surface: JSON in, JSON or a problem document (RFC 9457) out. It is independent of the server.
//!
//! | route | what it does |
//! | --- | --- |
//! | `POST /acquire` | debits tokens: 200, or 429 with the reset instant |
//! | `POST /settle` | corrects a lease to what was really used |
//! | `GET /preview`, `POST /preview` | what is left, for each shard; nothing is written |
//! | `GET /healthz` | 200 as long as the process answers; the table is not read |

mod document;
mod fields;
mod input;
mod number;
mod problem;
mod service;
mod status;

pub use document::{Document, state_name};
pub use fields::FieldForm;
pub use service::{BODY_LIMIT_BYTES, Body, Service, limits_from_json, misconfigured};
