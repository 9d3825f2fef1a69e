//! What can happen in a world, and how often.

/// Something that happens. A shard is told by its number ([`Setting::shard_number`]), one of the
/// calls a client makes side by side by its place among those that have not landed.
///
/// [`Setting::shard_number`]: crate::setting::Setting::shard_number
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// The world's clock moves to its next instant.
    Tick,
    /// A client begins a request and draws this shard; in a cascade one of each level, numbered
    /// through: the first level's changes fastest.
    Start(u8, u32),
    /// A client settles its last lease: it used this many tokens.
    Settle(u8, u8),
    /// A client's call lands and its reply arrives.
    Land(u8, u8),
    /// The same, answered from the items as they were one write ago.
    LandStale(u8, u8),
    /// The call lands, its reply is lost, the client sends it again.
    Resend(u8, u8),
    /// The call lands and its reply is lost: the client is told of no answer.
    LoseReply(u8, u8),
    /// The client takes its call for lost and sends it again; the first one is still on its way.
    Copy(u8, u8),
    /// The client dies before its calls land, and with it what it had not sent.
    Die(u8),
    /// What is on its way without anyone waiting for it lands: a follow-up, or a copy.
    Deliver(u8),
    /// A follow-up lands and will land again.
    Duplicate(u8),
    /// A follow-up is lost.
    LoseFollowUp(u8),
    /// An old writer spends a token without a look at the window.
    OldFast(u32),
    /// An old writer's pass: it spends a token, stamps `rf` from a clock that is this many ms off
    /// and removes `vu`.
    OldPass(u32, i32),
    /// The table drops an item whose `ttl` is over.
    Expire(u32),
    /// A shard's item, and its entity's record, are stamped with the parent that is next.
    Restamp(u32),
}

/// What may still happen beyond requests that go well.
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
    /// Leases that are settled.
    pub settlements: u8,
    /// Items that are stamped with another parent.
    pub restamps: u8,
}

/// Uses one of a budget up; false: there is none left.
pub(crate) fn spend(budget: &mut u8) -> bool {
    let some = *budget > 0;
    *budget = budget.saturating_sub(1);
    some
}
