//! The names of an item's attributes.

use alloc::sync::Arc;
use core::fmt;

/// What an attribute holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is documented at its field of `LimitState`, `Shard` or `Owner`")]
pub enum Field {
    // What each limit has: `b_{limit}_{name}`.
    Tokens,
    Capacity,
    RefillAmount,
    RefillPeriod,
    Consumed,
    ResetAfter,
    WindowStart,
    WindowApplied,
    ConsumedMark,
    GrantCount,
    ToppedUp,
    Soft,
    // What an item has once.
    Pk,
    LastRefill,
    ValidUntil,
    Ttl,
    ShardCount,
    Disabled,
    Bypass,
    Cascade,
    ParentId,
    ParentGeneration,
    ParentIncarnation,
    EntityId,
    Resource,
    Gsi2Pk,
    Gsi2Sk,
    Gsi3Pk,
    Gsi3Sk,
    Gsi4Pk,
    Gsi4Sk,
}

impl Field {
    const OF_LIMITS: [Self; 12] = [
        Self::Tokens,
        Self::Capacity,
        Self::RefillAmount,
        Self::RefillPeriod,
        Self::Consumed,
        Self::ResetAfter,
        Self::WindowStart,
        Self::WindowApplied,
        Self::ConsumedMark,
        Self::GrantCount,
        Self::ToppedUp,
        Self::Soft,
    ];

    pub(crate) fn from_suffix(suffix: &str) -> Option<Self> {
        Self::OF_LIMITS.into_iter().find(|field| field.name() == suffix)
    }

    /// Its name as stored; a limit's field is the end of one.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tokens => "tk",
            Self::Capacity => "cp",
            Self::RefillAmount => "ra",
            Self::RefillPeriod => "rp",
            Self::Consumed => "tc",
            Self::ResetAfter => "rsa",
            Self::WindowStart => "ws",
            Self::WindowApplied => "wa",
            Self::ConsumedMark => "wtc",
            Self::GrantCount => "gc",
            Self::ToppedUp => "tu",
            Self::Soft => "soft",
            Self::Pk => "PK",
            Self::LastRefill => "rf",
            Self::ValidUntil => "vu",
            Self::Ttl => "ttl",
            Self::ShardCount => "shard_count",
            Self::Disabled => "disabled",
            Self::Bypass => "bypass",
            Self::Cascade => "cascade",
            Self::ParentId => "parent_id",
            Self::ParentGeneration => "pgen",
            Self::ParentIncarnation => "pinc",
            Self::EntityId => "entity_id",
            Self::Resource => "resource",
            Self::Gsi2Pk => "GSI2PK",
            Self::Gsi2Sk => "GSI2SK",
            Self::Gsi3Pk => "GSI3PK",
            Self::Gsi3Sk => "GSI3SK",
            Self::Gsi4Pk => "GSI4PK",
            Self::Gsi4Sk => "GSI4SK",
        }
    }

    /// The attribute that a limit has.
    pub(crate) const fn of(self, limit: &Arc<str>) -> Of<'_> {
        Of(Some(limit), self)
    }
}

/// An attribute by reference: a limit's, or one that the item has once.
///
/// Expressions name dozens of them: this fits in registers, and only what is kept becomes an [`Attribute`].
#[derive(Clone, Copy)]
pub(crate) struct Of<'a>(Option<&'a Arc<str>>, Field);

impl From<Field> for Of<'_> {
    fn from(field: Field) -> Self {
        Self(None, field)
    }
}

/// An attribute of an item.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Attribute {
    /// Whose it is; none: the item has it once.
    pub limit: Option<Arc<str>>,
    /// What it holds.
    pub field: Field,
}

impl Attribute {
    /// Its name as stored, in parts.
    pub(crate) fn parts(&self) -> [&str; 4] {
        match &self.limit {
            None => [self.field.name(), "", "", ""],
            Some(limit) => ["b_", limit, "_", self.field.name()],
        }
    }
}

impl From<Of<'_>> for Attribute {
    fn from(Of(limit, field): Of<'_>) -> Self {
        Self { limit: limit.cloned(), field }
    }
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts().into_iter().try_for_each(|part| f.write_str(part))
    }
}
