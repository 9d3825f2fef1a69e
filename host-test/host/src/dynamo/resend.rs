//! When a call is sent again: exponential backoff with full jitter, within the deadline.
//!
//! Whether a call is sent again is decided by the core's `classify`; no error body is read here.

use std::time::Duration;

use onewindow::{Resend, wire::Classification};

/// With less time left than this, no attempt is begun.
const SHORTEST_ATTEMPT: Duration = Duration::from_millis(50);

/// How long to wait between attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits {
    /// The first wait is random between zero and this. The upper bound doubles with each wait.
    pub first: Duration,
    /// The largest upper bound.
    pub longest: Duration,
}

impl Default for Waits {
    /// For a table in the same region.
    fn default() -> Self {
        Self { first: Duration::from_millis(25), longest: Duration::from_millis(400) }
    }
}

/// What to do with a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Pass it on.
    Keep,
    /// Wait, and send the call again.
    After(Duration),
    /// Send the call again at once, signed with the table's time, which is this far ahead of the host's, ms.
    WithTableTime(i64),
}

/// The attempts at one call.
#[derive(Debug)]
pub(super) struct Attempts {
    /// The next wait is random between zero and this.
    ceiling: Duration,
    longest: Duration,
    skew_corrected: bool,
}

impl Attempts {
    /// None made yet.
    pub(super) fn new(waits: Waits) -> Self {
        Self { ceiling: waits.first, longest: waits.longest, skew_corrected: false }
    }

    /// What to do with the reply of the last attempt when `left` is the time that remains. `offset_ms` is how
    /// far the reply's `Date` is ahead of the host's clock.
    pub(super) fn decide(
        &mut self,
        reply: &Classification,
        resend: Resend,
        offset_ms: Option<i64>,
        left: Duration,
    ) -> Verdict {
        match reply {
            Classification::Data | Classification::Unavailable(_) | Classification::Misconfigured(_) => {
                Verdict::Keep
            }
            Classification::Lost(_) if resend == Resend::Never => Verdict::Keep,
            Classification::Lost(_) | Classification::Retry(_) => {
                self.wait(left).map_or(Verdict::Keep, Verdict::After)
            }
            Classification::ClockSkew => match offset_ms {
                Some(offset_ms) if !self.skew_corrected => {
                    self.skew_corrected = true;
                    Verdict::WithTableTime(offset_ms)
                }
                _ => Verdict::Keep,
            },
        }
    }

    /// The next wait; none where it would leave no time for another attempt.
    fn wait(&mut self, left: Duration) -> Option<Duration> {
        let wait = self.ceiling.mul_f64(fastrand::f64());
        self.ceiling = self.ceiling.saturating_mul(2).min(self.longest);
        (wait + SHORTEST_ATTEMPT < left).then_some(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn attempts(first_ms: u64, longest_ms: u64) -> Attempts {
        Attempts::new(Waits {
            first: Duration::from_millis(first_ms),
            longest: Duration::from_millis(longest_ms),
        })
    }

    fn lost() -> Classification {
        Classification::Lost("reset".into())
    }

    #[test]
    fn waits_stay_under_a_doubling_ceiling() {
        for _ in 0..100 {
            let mut attempts = attempts(10, 35);
            for ceiling_ms in [10, 20, 35, 35] {
                let Verdict::After(wait) = attempts.decide(&lost(), Resend::Idempotent, None, HOUR) else {
                    panic!("it gives up");
                };
                assert!(wait <= Duration::from_millis(ceiling_ms));
            }
        }
    }

    #[test]
    fn no_wait_reaches_the_deadline() {
        let verdict = attempts(10, 35).decide(&lost(), Resend::Idempotent, None, Duration::ZERO);
        assert_eq!(verdict, Verdict::Keep);
    }

    #[test]
    fn what_could_credit_twice_is_sent_again_only_where_nothing_was_written() {
        let throttled = Classification::Retry("throttled".into());
        assert_eq!(attempts(10, 35).decide(&lost(), Resend::Never, None, HOUR), Verdict::Keep);
        let again = attempts(10, 35).decide(&throttled, Resend::Never, None, HOUR);
        assert!(matches!(again, Verdict::After(_)));
    }

    #[test]
    fn the_clock_is_corrected_once() {
        let skew = Classification::ClockSkew;
        let mut attempts = attempts(10, 35);
        assert_eq!(attempts.decide(&skew, Resend::Never, None, HOUR), Verdict::Keep);
        let corrected = attempts.decide(&skew, Resend::Never, Some(-7), HOUR);
        assert_eq!(corrected, Verdict::WithTableTime(-7));
        assert_eq!(attempts.decide(&skew, Resend::Never, Some(-7), HOUR), Verdict::Keep);
    }
}
