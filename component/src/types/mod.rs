pub(crate) mod answer;
pub(crate) mod error;
pub(crate) mod hint;
pub(crate) mod lease;
pub(crate) mod limit;
pub(crate) mod request;
pub(crate) mod subject;
