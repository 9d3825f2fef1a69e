//! What a limiter remembers between requests, each kind within its bound. Losing any of it costs round
//! trips, never correctness.

mod bounded;
mod chains;
mod configurations;
mod hints;

pub(crate) use chains::Chains;
pub(crate) use configurations::Configurations;
pub(crate) use hints::Hints;
