//! The status of a limit, as the surface writes it.

use onewindow::LimitStatus;
use serde::Serialize;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use super::number::JsonNumber;

/// One limit in an answer.
#[derive(Debug, Serialize)]
pub(super) struct LimitDocument {
    name: String,
    capacity: JsonNumber,
    available: JsonNumber,
    #[serde(skip_serializing_if = "Option::is_none")]
    resets_at_ms: Option<JsonNumber>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resets_at: Option<String>,
}

impl From<&LimitStatus> for LimitDocument {
    fn from(status: &LimitStatus) -> Self {
        Self {
            name: status.name.clone(),
            capacity: status.capacity.into(),
            available: status.available.into(),
            resets_at_ms: status.resets_at_ms.map(Into::into),
            resets_at: status.resets_at_ms.and_then(rfc3339),
        }
    }
}

/// RFC 3339 in UTC; none beyond the year 9999.
fn rfc3339(ms: u64) -> Option<String> {
    let instant = OffsetDateTime::from_unix_timestamp_nanos(i128::from(ms) * 1_000_000).ok()?;
    instant.format(&Rfc3339).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_rfc_3339_in_utc() {
        assert_eq!(rfc3339(1_800_000_000_000).as_deref(), Some("2027-01-15T08:00:00Z"));
        assert_eq!(rfc3339(1_800_000_000_250).as_deref(), Some("2027-01-15T08:00:00.25Z"));
        assert_eq!(rfc3339(u64::MAX), None);
    }
}
