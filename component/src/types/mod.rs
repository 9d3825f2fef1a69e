//! The types that a host passes in and receives.

pub(crate) mod answer;
pub(crate) mod cascade;
pub(crate) mod error;
pub(crate) mod hint;
pub(crate) mod key;
pub(crate) mod lease;
pub(crate) mod limit;
pub(crate) mod name;
pub(crate) mod preview;
pub(crate) mod request;
pub(crate) mod settlement;
pub(crate) mod status;
pub(crate) mod subject;
