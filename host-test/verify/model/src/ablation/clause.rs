//! The clauses that can be left out, by name and rule.

/// The clause that is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "`Ablation::describe` says it")]
pub enum Ablation {
    #[default]
    Nothing,
    PropagationFloor,
    PropagationGuard,
    PropagationMark,
    PropagationForce,
    AppliedMarker,
    Lock,
    WindowPins,
    CountPin,
    StrictlyForward,
    Create,
    CandidateConditions,
    CandidateRaise,
    Move,
    RaiseGuard,
    DecreaseGuard,
    FastGate,
    FastValidUntil,
    FastBalance,
    ValidUntilPin,
    Restore,
    GrantCount,
    ConsistentRead,
    LatestStart,
    UnpropagatedDoublings,
    ShardSurvey,
    DoublingPin,
    RaiseFloor,
    CreditWindow,
    CreditRoom,
    RefusalCredit,
    ParentGate,
    OwnerRecord,
}

impl Ablation {
    /// Every clause.
    pub const ALL: [Self; 32] = [
        Self::PropagationFloor,
        Self::PropagationGuard,
        Self::PropagationMark,
        Self::PropagationForce,
        Self::AppliedMarker,
        Self::Lock,
        Self::WindowPins,
        Self::CountPin,
        Self::StrictlyForward,
        Self::Create,
        Self::CandidateConditions,
        Self::CandidateRaise,
        Self::Move,
        Self::RaiseGuard,
        Self::DecreaseGuard,
        Self::FastGate,
        Self::FastValidUntil,
        Self::FastBalance,
        Self::ValidUntilPin,
        Self::Restore,
        Self::GrantCount,
        Self::ConsistentRead,
        Self::LatestStart,
        Self::UnpropagatedDoublings,
        Self::ShardSurvey,
        Self::DoublingPin,
        Self::RaiseFloor,
        Self::CreditWindow,
        Self::CreditRoom,
        Self::RefusalCredit,
        Self::ParentGate,
        Self::OwnerRecord,
    ];

    /// The rule, and the clause in words.
    #[must_use]
    pub const fn describe(self) -> (&'static str, &'static str) {
        match self {
            Self::Nothing => ("", "nothing"),
            Self::PropagationFloor => {
                ("R2", "propagate only over a window that had ended: `ws <= new - length`")
            }
            Self::PropagationGuard => ("R2", "propagate only to `wa` present or `rf < new`"),
            Self::PropagationMark => ("R2, R4", "the snapshot `wtc`"),
            Self::PropagationForce => ("R2", "propagation sets `vu = 0`"),
            Self::AppliedMarker => ("R5", "the marker `wa`"),
            Self::Lock => ("R5", "the lock `rf` as read"),
            Self::WindowPins => ("R5", "`ws` and `wa` as read"),
            Self::CountPin => ("R5", "a reset pins `shard_count <= S`"),
            Self::StrictlyForward => ("R6", "`rf` strictly forward"),
            Self::Create => ("R8", "a create finds no item"),
            Self::CandidateConditions => ("R8", "candidates as read"),
            Self::CandidateRaise => ("R8", "candidates are raised"),
            Self::Move => ("R8", "the donor pays"),
            Self::RaiseGuard => ("R10", "a raise finds `tk <=` as read"),
            Self::DecreaseGuard => ("R10", "a decrease finds `tk >=` it"),
            Self::FastGate => ("R11", "the fast write checks the window itself"),
            Self::FastValidUntil => ("R11", "the fast write checks `vu`"),
            Self::FastBalance => ("R11", "the fast write finds `tk >=` the amount"),
            Self::ValidUntilPin => ("R11", "a materialisation finds `vu` as read"),
            Self::Restore => ("R1, R4", "a reset restores the balance"),
            Self::GrantCount => ("R5", "the grant count `gc`"),
            Self::ConsistentRead => ("R7", "a join reads strongly consistently"),
            Self::LatestStart => ("R7", "a join uses the latest live start, not shard 0's"),
            Self::UnpropagatedDoublings => {
                ("R8", "a re-created shard 0 reads the shards of doublings that were not propagated")
            }
            Self::ShardSurvey => ("R9", "a survey of all shards before a rejection"),
            Self::DoublingPin => ("6.9", "a doubling finds the count as known"),
            Self::RaiseFloor => ("6.9", "a raise finds a smaller count"),
            Self::CreditWindow => ("6.8", "a credit finds `ws` and `wa` as leased"),
            Self::CreditRoom => ("6.8", "a credit finds room for it"),
            Self::RefusalCredit => ("7", "a refused cascade credits what its levels were debited"),
            Self::ParentGate => ("7", "a level is debited only where the item names the parent it knows"),
            Self::OwnerRecord => ("7", "a created shard finds its entity's record as read"),
        }
    }

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> String {
        let mut name = String::new();
        for letter in format!("{self:?}").chars() {
            if letter.is_ascii_uppercase() && !name.is_empty() {
                name.push('-');
            }
            name.push(letter.to_ascii_lowercase());
        }
        name
    }
}
