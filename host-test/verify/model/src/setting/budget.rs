//! How often each thing may go wrong.

/// How often each thing may still go wrong in a world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Budget {
    /// Replies lost.
    pub replies: u8,
    /// Calls that land a second time, later.
    pub copies: u8,
    /// Clients that die.
    pub deaths: u8,
    /// Follow-ups lost.
    pub follow_ups: u8,
    /// Follow-ups that land twice.
    pub duplicates: u8,
    /// Writes by old writers.
    pub old: u8,
    /// Reads that are stale.
    pub stale: u8,
    /// Items that expire.
    pub expiries: u8,
    /// Settlements of leases.
    pub settlements: u8,
    /// Changes of an entity's parent, item by item.
    pub restamps: u8,
}

/// Uses one up; false: none is left.
pub(crate) fn spend(budget: &mut u8) -> bool {
    let some = *budget > 0;
    *budget = budget.saturating_sub(1);
    some
}
