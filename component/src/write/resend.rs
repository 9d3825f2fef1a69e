//! What it could do to send a write again whose reply was lost (F22).

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
        // Where it lands once, a second landing is refused; the sequence that learns of it then debits
        // again.
        Resend::MayDebitTwice
    } else {
        Resend::Never
    }
}

impl ConditionalWrite {
    /// Whether its own conditions keep it from landing twice: a put where nothing was, or an
    /// update that moves the lock it was read under.
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
