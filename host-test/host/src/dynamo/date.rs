//! Dates: those of signatures, and the header `Date` of replies.

use std::time::{SystemTime, UNIX_EPOCH};

use http::HeaderValue;

/// A signature's date, such as `20150830T123600Z`. A time before 1970 is written as the first second of 1970.
pub(super) fn amz_date(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

/// The date of a day, counted from 1970-01-01. A year is counted from March here, so that the leap day
/// is its last; 400 years are 146,097 days.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468; // from 0000-03-01
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153; // 0 is March
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + later, month, day)
}

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
    use std::time::Duration;

    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, date) in [
            (0, "19700101T000000Z"),
            (951_782_400, "20000229T000000Z"),
            (1_440_938_160, "20150830T123600Z"),
            (1_709_164_799, "20240228T235959Z"),
            (1_735_689_599, "20241231T235959Z"),
            (4_107_542_400, "21000301T000000Z"),
        ] {
            assert_eq!(amz_date(UNIX_EPOCH + Duration::from_secs(seconds)), date);
        }
    }

    #[test]
    fn what_is_no_date_says_nothing_about_the_clock() {
        let now = UNIX_EPOCH + Duration::from_secs(1_440_938_160);
        let offset_ms = |date| offset_ms(&HeaderValue::from_static(date), now);
        assert_eq!(offset_ms("Sun, 30 Aug 2015 12:06:00 GMT"), Some(-1_800_000));
        assert_eq!(offset_ms("Sun, 30 Aug 2015 12:36:01 GMT"), Some(1_000));
        assert_eq!(offset_ms("yesterday"), None);
    }
}
