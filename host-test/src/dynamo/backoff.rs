//! How long to wait before sending again: exponential, full jitter, inside the deadline.

use std::time::Duration;

use tokio::time::Instant;

use super::ClientConfig;

/// No attempt is worth beginning with less time than this.
const SHORTEST_ATTEMPT: Duration = Duration::from_millis(5);

pub(super) struct Backoff {
    /// The next wait is drawn from zero to this.
    ceiling: Duration,
    longest: Duration,
}

impl Backoff {
    pub(super) fn new(config: &ClientConfig) -> Self {
        Self { ceiling: config.first_backoff, longest: config.longest_backoff }
    }

    /// The next wait; none where it would leave no time for another attempt.
    pub(super) fn next(&mut self, deadline: Instant) -> Option<Duration> {
        let wait = self.ceiling.mul_f64(fastrand::f64());
        self.ceiling = self.ceiling.saturating_mul(2).min(self.longest);
        (Instant::now() + wait + SHORTEST_ATTEMPT < deadline).then_some(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backoff(first_ms: u64, longest_ms: u64) -> Backoff {
        Backoff { ceiling: Duration::from_millis(first_ms), longest: Duration::from_millis(longest_ms) }
    }

    #[test]
    fn waits_stay_under_a_doubling_ceiling() {
        let far = Instant::now() + Duration::from_secs(3600);
        for _ in 0..100 {
            let mut backoff = backoff(10, 35);
            for ceiling_ms in [10, 20, 35, 35] {
                assert!(backoff.next(far).unwrap() <= Duration::from_millis(ceiling_ms));
            }
        }
    }

    #[test]
    fn no_wait_reaches_the_deadline() {
        assert_eq!(backoff(10, 35).next(Instant::now()), None);
    }
}
