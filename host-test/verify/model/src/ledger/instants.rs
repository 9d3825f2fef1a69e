//! What must be true of the instants in an answer: I8.

use onewindow::{LimitStatus, Outcome};

use super::violation::Violation;
use crate::{setting::Entity, time::since_start};

/// I8: an instant that an answer reports lies in the future, and at most one length ahead.
///
/// # Errors
/// I8.
pub(crate) fn check_instants(
    entity: &Entity,
    clock_ms: i64,
    outcome: &Outcome,
    limits: &[LimitStatus],
) -> Result<(), Violation> {
    let bound = clock_ms + entity.length_ms();
    let instants = limits.iter().filter_map(|limit| limit.resets_at_ms);
    for instant in instants.filter_map(|instant| i64::try_from(instant).ok()) {
        if instant <= clock_ms || instant > bound {
            return Err(Violation::new(
                "I8",
                format!("at {} the reported reset is {}", since_start(clock_ms), since_start(instant)),
            ));
        }
    }
    match outcome {
        Outcome::Rejected { retry_after_ms: 0 } => {
            Err(Violation::new("I8", "the retry delay is 0 ms".into()))
        }
        _ => Ok(()),
    }
}
