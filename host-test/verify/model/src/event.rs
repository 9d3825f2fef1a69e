//! What can happen in a world.

/// Something that happens.
///
/// A shard is named by its number ([`Setting::shard_number`]). Of the calls that a client makes side by
/// side, one is named by its place among those that have not landed.
///
/// [`Setting::shard_number`]: crate::setting::Setting::shard_number
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// The world's clock moves to its next instant.
    Tick,
    /// A client begins a request and draws this shard. In a cascade it draws one shard of each level;
    /// the number counts through them, the first level's changing fastest.
    Start(u8, u32),
    /// A client settles its last lease: it used this many tokens.
    Settle(u8, u8),
    /// A client's call lands and its reply arrives.
    Land(u8, u8),
    /// The same, but the reply shows the items as they were one write ago.
    LandStale(u8, u8),
    /// The call lands, its reply is lost, and the client sends it again.
    Resend(u8, u8),
    /// The call lands, its reply is lost, and the client gets no answer.
    LoseReply(u8, u8),
    /// The client assumes that its call is lost and sends it again, but the first one is still on its way.
    Copy(u8, u8),
    /// The client dies before its calls land. What it had not sent is lost.
    Die(u8),
    /// A message that nobody waits for lands: a follow-up, or a copy.
    Deliver(u8),
    /// A follow-up lands, and will land again.
    Duplicate(u8),
    /// A follow-up is lost.
    LoseFollowUp(u8),
    /// An old writer spends a token without checking the window.
    OldFast(u32),
    /// An old writer's materialisation: it spends a token, stamps `rf` from a clock that is this many ms
    /// off, and removes `vu`.
    OldMaterialisation(u32, i32),
    /// The table drops an item whose `ttl` is over.
    Expire(u32),
    /// A shard's item, and its entity's record, are stamped with the entity's next parent.
    Restamp(u32),
}
