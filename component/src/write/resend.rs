//! What could happen when a write is sent again after its reply was lost (F22).

use alloc::vec::Vec;

use super::{
    change::Verb,
    condition::{Term, Test},
    conditional::{Action, ConditionalWrite},
    value::Value,
};
use crate::{item::Field, types::answer::Resend};

/// What a second landing of these writes could do (F22). They land together or not at all.
pub(super) fn resend(writes: &[ConditionalWrite]) -> Resend {
    let (mut adds, mut credits, mut puts, mut lands_once) = (false, false, false, false);
    for write in writes {
        lands_once |= write.lands_once();
        let Action::Update(changes) = &write.action else {
            puts = true;
            continue;
        };
        for change in changes.iter().filter(|change| change.verb == Verb::Add) {
            if change.attribute.field == Field::Tokens {
                adds = true;
                credits |= matches!(change.value, Some(Value::Number(number)) if number > 0);
            }
        }
    }
    if !adds && !puts {
        Resend::Idempotent
    } else if lands_once || !credits {
        // Where it can land only once, the second is refused. The machine reads the refusal as a lost race
        // and debits again.
        Resend::MayDebitTwice
    } else {
        Resend::Never
    }
}

impl ConditionalWrite {
    /// Whether its own conditions keep it from landing twice: a put that requires an absent item, or an
    /// update that requires `rf` as read and changes it.
    fn lands_once(&self) -> bool {
        let (moved, lock, test) = match &self.action {
            Action::Put(_) => (true, Field::Pk, Test::Absent),
            Action::Update(changes) => {
                let moved = changes.iter().any(|change| change.attribute.field == Field::LastRefill);
                (moved, Field::LastRefill, Test::Equal)
            }
            Action::Check => return false,
        };
        let pinned = |clause: &Vec<Term>| matches!(clause.as_slice(), [term] if term.attribute.field == lock && term.test == test);
        moved && self.clauses.iter().any(pinned)
    }
}
