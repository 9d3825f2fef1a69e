//! Prices.

use std::collections::HashMap;

use super::operations::Operation;
use crate::meter::Units;

/// Dollars for a million write and read request units: on-demand, standard table class, us-east-1, since
/// November 2024 (<https://aws.amazon.com/dynamodb/pricing/on-demand/>).
const USD_PER_MILLION_WRITTEN: f64 = 0.625;
const USD_PER_MILLION_READ: f64 = 0.125;

/// The units of each operation on average, by its shard count: ours, and the peer's, if it has it.
pub(super) type Costs = HashMap<(Operation, u32), [Option<Units>; 2]>;

/// Dollars for a million operations that consume these units each.
pub(super) fn usd_per_million(units: Units) -> f64 {
    units.written * USD_PER_MILLION_WRITTEN + units.read * USD_PER_MILLION_READ
}
