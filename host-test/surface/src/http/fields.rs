//! The header fields of an answer: `RateLimit-Policy`, `RateLimit`, `Retry-After`.

use std::fmt::Write;

use http::{HeaderMap, HeaderName, HeaderValue};
use onewindow::{Drip, Limit, LimitStatus, Recovery};

const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// The largest integer of a structured field (RFC 9651): 15 digits.
const LARGEST: u64 = 999_999_999_999_999;

/// The form of the `RateLimit` field: `draft-ietf-httpapi-ratelimit-headers` has renamed its parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldForm {
    /// `r`, what remains, and `t`, seconds until the reset: up to draft 10.
    #[default]
    Remaining,
    /// `a`, what is available, and `w`, seconds until the reset: from draft 11 on.
    Available,
}

/// Milliseconds as whole seconds: rounded up, at least 1 (R14).
pub(super) fn whole_seconds(ms: u64) -> u64 {
    ms.div_ceil(1000).max(1)
}

/// Writes the fields for the limits a request named. What a field cannot hold is left out.
pub(super) fn write(
    headers: &mut HeaderMap,
    form: FieldForm,
    statuses: &[LimitStatus],
    configured: &[Limit],
    now_ms: u64,
) {
    let policies = statuses.iter().map(|status| {
        let limit = configured.iter().find(|limit| limit.name == status.name);
        policy(status, limit)
    });
    insert(headers, POLICY, policies);
    insert(headers, RATE_LIMIT, statuses.iter().map(|status| rate_limit(status, form, now_ms)));
}

fn insert(headers: &mut HeaderMap, name: HeaderName, items: impl Iterator<Item = String>) {
    let value = items.collect::<Vec<_>>().join(", ");
    if let (false, Ok(value)) = (value.is_empty(), HeaderValue::from_str(&value)) {
        headers.insert(name, value);
    }
}

/// A policy such as `"session";q=100;w=18000`: the quota, and its window's length in seconds.
fn policy(status: &LimitStatus, limit: Option<&Limit>) -> String {
    let mut item = format!("\"{}\";q={}", status.name, status.capacity.min(LARGEST));
    let seconds = limit.and_then(|limit| match limit.recovery {
        Recovery::Session(length_seconds) => Some(length_seconds),
        Recovery::Drip(Drip { refill_amount, refill_period_seconds }) => {
            let product = u128::from(status.capacity).checked_mul(refill_period_seconds.into())?;
            u64::try_from(product.div_ceil(u128::from(refill_amount.max(1)))).ok()
        }
    });
    if let Some(seconds) = seconds {
        let _ = write!(item, ";w={}", seconds.min(LARGEST));
    }
    item
}

/// A limit such as `"session";r=99;t=17999`: what is left, and the seconds until the reset, if there is one.
fn rate_limit(status: &LimitStatus, form: FieldForm, now_ms: u64) -> String {
    let (left, until) = match form {
        FieldForm::Remaining => ("r", "t"),
        FieldForm::Available => ("a", "w"),
    };
    let available = u64::try_from(status.available).unwrap_or(0);
    let mut item = format!("\"{}\";{left}={}", status.name, available.min(LARGEST));
    if let Some(resets_at_ms) = status.resets_at_ms {
        let _ = write!(item, ";{until}={}", whole_seconds(resets_at_ms.saturating_sub(now_ms)).min(LARGEST));
    }
    item
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(name: &str, capacity: u64, available: i64, resets_at_ms: Option<u64>) -> LimitStatus {
        LimitStatus { name: name.into(), capacity, available, resets_at_ms }
    }

    fn written(form: FieldForm, statuses: &[LimitStatus], configured: &[Limit]) -> (String, String) {
        let mut headers = HeaderMap::new();
        write(&mut headers, form, statuses, configured, 1_000_000);
        let text = |name| headers.get(name).map_or("", |value| value.to_str().unwrap()).to_owned();
        (text("ratelimit-policy"), text("ratelimit"))
    }

    /// F1.
    #[test]
    fn seconds_are_rounded_up_and_never_zero() {
        for (ms, seconds) in [(0, 1), (1, 1), (999, 1), (1_000, 1), (1_001, 2), (1_200, 2), (59_999, 60)] {
            assert_eq!(whole_seconds(ms), seconds, "{ms}");
        }
    }

    #[test]
    fn one_setting_chooses_the_form() {
        let statuses =
            [status("session", 100, 99, Some(1_000_000 + 17_998_500)), status("rpm", 60, 59, None)];
        let configured = [Limit::session("session", 100, 18_000), Limit::drip("rpm", 60, 30, 60)];
        let policy = "\"session\";q=100;w=18000, \"rpm\";q=60;w=120";
        assert_eq!(
            written(FieldForm::Remaining, &statuses, &configured),
            (policy.into(), "\"session\";r=99;t=17999, \"rpm\";r=59".into())
        );
        assert_eq!(
            written(FieldForm::Available, &statuses, &configured),
            (policy.into(), "\"session\";a=99;w=17999, \"rpm\";a=59".into())
        );
    }

    #[test]
    fn integers_have_fifteen_digits_at_most_and_debt_is_nothing_left() {
        let statuses =
            [status("a", 1_000_000_000_000_000, 1_000_000_000_000_000, None), status("b", 1, -3, None)];
        assert_eq!(
            written(FieldForm::Remaining, &statuses, &[]),
            ("\"a\";q=999999999999999, \"b\";q=1".into(), "\"a\";r=999999999999999, \"b\";r=0".into())
        );
    }

    #[test]
    fn nothing_learned_is_nothing_written() {
        assert_eq!(written(FieldForm::Remaining, &[], &[]), (String::new(), String::new()));
    }
}
