//! The `Date` of a reply.

use std::time::SystemTime;

use http::HeaderValue;

/// How far a reply's `Date` is ahead of `now`, ms; none where it is no date.
pub(super) fn offset_ms(date: &HeaderValue, now: SystemTime) -> Option<i64> {
    let date = httpdate::parse_http_date(date.to_str().ok()?).ok()?;
    match date.duration_since(now) {
        Ok(ahead) => i64::try_from(ahead.as_millis()).ok(),
        Err(behind) => i64::try_from(behind.duration().as_millis()).ok().map(|ms| -ms),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn what_is_no_date_says_nothing_about_the_clock() {
        let now = UNIX_EPOCH + Duration::from_secs(1_440_938_160);
        let offset_ms = |date| offset_ms(&HeaderValue::from_static(date), now);
        assert_eq!(offset_ms("Sun, 30 Aug 2015 12:06:00 GMT"), Some(-1_800_000));
        assert_eq!(offset_ms("Sun, 30 Aug 2015 12:36:01 GMT"), Some(1_000));
        assert_eq!(offset_ms("yesterday"), None);
    }
}
