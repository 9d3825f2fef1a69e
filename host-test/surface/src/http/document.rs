//! What is told about a decision: one document, whoever asks.

use http::{Response, StatusCode};
use onewindow::{
    Amount, Decision, LimitPreview, LimitStatus, Outcome, PreviewOutcome, PreviewReport, Settlement,
    ShardView, Subject, WindowState,
};
use serde::Serialize;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use super::{
    json,
    number::JsonNumber,
    problem::{Problem, QuotaDetails},
};

/// The answer to a request, as JSON tells it.
#[derive(Debug)]
pub struct Document(Content);

#[derive(Debug)]
enum Content {
    Acquired(Acquired),
    Settled(Settled),
    Previewed(Previewed),
    Problem(Problem),
}

#[derive(Debug, Serialize)]
struct Acquired {
    admitted: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    degraded: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    limits: Vec<LimitDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lease: Option<String>,
}

#[derive(Debug, Serialize)]
struct Settled {
    settled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct Previewed {
    entity: String,
    resource: String,
    shard_count: u32,
    disabled: bool,
    limits: Vec<PreviewedLimit>,
}

#[derive(Debug, Serialize)]
struct PreviewedLimit {
    #[serde(flatten)]
    limit: LimitDocument,
    shards: Vec<ShardDocument>,
}

/// Where a limit stands.
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

#[derive(Debug, Serialize)]
struct ShardDocument {
    shard: u32,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    starts_at_ms: Option<JsonNumber>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ends_at_ms: Option<JsonNumber>,
    balance_milli: JsonNumber,
    counted_milli: JsonNumber,
    ceiling_milli: JsonNumber,
}

impl Document {
    /// The answer to a request for tokens; `degraded` where it is let through although the table
    /// did not answer.
    #[must_use]
    pub fn of_decision(request: &[Amount], decision: &Decision, degraded: bool) -> Self {
        let limits = || decision.limits.iter().map(LimitDocument::from).collect::<Vec<_>>();
        let problem = match &decision.outcome {
            Outcome::Admitted(lease) => {
                return Self(Content::Acquired(Acquired {
                    admitted: true,
                    degraded: false,
                    detail: None,
                    limits: limits(),
                    lease: Some(lease.encode()),
                }));
            }
            Outcome::Unavailable(reason) if degraded => {
                return Self(Content::Acquired(Acquired {
                    admitted: false,
                    degraded: true,
                    detail: Some(format!("let through, and counted nowhere: {reason}")),
                    limits: limits(),
                    lease: None,
                }));
            }
            Outcome::Rejected { retry_after_ms } => Problem::quota_exceeded(
                format!("there is not enough left; ask again in {retry_after_ms} ms"),
                QuotaDetails {
                    violated_policies: violated(request, &decision.limits),
                    limits: limits(),
                    retry_after_ms: *retry_after_ms,
                    contended: false,
                },
            ),
            Outcome::Contended { retry_after_ms } => Problem::quota_exceeded(
                format!("other requests won every round; ask again in {retry_after_ms} ms"),
                QuotaDetails {
                    violated_policies: Vec::new(),
                    limits: limits(),
                    retry_after_ms: *retry_after_ms,
                    contended: true,
                },
            ),
            Outcome::NeverFits { limit } => Problem::never_fits(limit),
            Outcome::Disabled => Problem::disabled(),
            Outcome::Failed(error) => error.clone().into(),
            Outcome::Unavailable(reason) => Problem::unavailable(reason.clone()),
            Outcome::Misconfigured(reason) => Problem::misconfigured(reason.clone()),
        };
        Self(Content::Problem(problem))
    }

    /// The answer to a settlement.
    #[must_use]
    pub fn of_settlement(settlement: &Settlement) -> Self {
        let settled = |settled, reason| Content::Settled(Settled { settled, reason });
        Self(match settlement {
            Settlement::Settled => settled(true, None),
            Settlement::WindowOver => settled(false, Some("window-over")),
            Settlement::ItemGone => settled(false, Some("item-gone")),
            Settlement::Failed(error) => Content::Problem(error.clone().into()),
            Settlement::Unavailable(reason) => Content::Problem(Problem::unavailable(reason.clone())),
            Settlement::Misconfigured(reason) => Content::Problem(Problem::misconfigured(reason.clone())),
        })
    }

    /// The answer to a preview.
    #[must_use]
    pub fn of_preview(subject: &Subject, outcome: &PreviewOutcome) -> Self {
        Self(match outcome {
            PreviewOutcome::Report(report) => Content::Previewed(Previewed::new(subject, report)),
            PreviewOutcome::Failed(error) => Content::Problem(error.clone().into()),
            PreviewOutcome::Unavailable(reason) => Content::Problem(Problem::unavailable(reason.clone())),
            PreviewOutcome::Misconfigured(reason) => Content::Problem(Problem::misconfigured(reason.clone())),
        })
    }

    /// The HTTP status it goes with.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        match &self.0 {
            Content::Problem(problem) => {
                StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
            }
            _ => StatusCode::OK,
        }
    }

    /// As JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        let json = match &self.0 {
            Content::Acquired(content) => serde_json::to_string(content),
            Content::Settled(content) => serde_json::to_string(content),
            Content::Previewed(content) => serde_json::to_string(content),
            Content::Problem(content) => serde_json::to_string(content),
        };
        // Strings, numbers and lists of them: nothing that JSON cannot hold.
        json.unwrap_or_default()
    }

    pub(super) fn into_response(self) -> Response<String> {
        match self.0 {
            Content::Problem(problem) => problem.into_response(),
            _ => json(self.to_json()),
        }
    }
}

/// The limits that hold less than was asked for.
fn violated(request: &[Amount], statuses: &[LimitStatus]) -> Vec<String> {
    let short = |status: &&LimitStatus| {
        let asked = request.iter().find(|amount| amount.limit == status.name);
        asked.is_some_and(|amount| i128::from(amount.tokens) > i128::from(status.available))
    };
    statuses.iter().filter(short).map(|status| status.name.clone()).collect()
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

impl Previewed {
    fn new(subject: &Subject, report: &PreviewReport) -> Self {
        Self {
            entity: subject.entity.clone(),
            resource: subject.resource.clone(),
            shard_count: report.shard_count,
            disabled: report.disabled,
            limits: report.limits.iter().map(Into::into).collect(),
        }
    }
}

impl From<&LimitPreview> for PreviewedLimit {
    fn from(preview: &LimitPreview) -> Self {
        Self { limit: (&preview.status).into(), shards: preview.shards.iter().map(Into::into).collect() }
    }
}

impl From<&ShardView> for ShardDocument {
    fn from(view: &ShardView) -> Self {
        Self {
            shard: view.shard,
            state: state_name(view.state),
            starts_at_ms: view.starts_at_ms.map(Into::into),
            ends_at_ms: view.ends_at_ms.map(Into::into),
            balance_milli: view.balance_milli.into(),
            counted_milli: view.counted_milli.into(),
            ceiling_milli: view.ceiling_milli.into(),
        }
    }
}

/// A window's state as it is told.
#[must_use]
pub fn state_name(state: WindowState) -> &'static str {
    match state {
        WindowState::Absent => "absent",
        WindowState::Unstarted => "unstarted",
        WindowState::Live => "live",
        WindowState::Pending => "pending",
        WindowState::Ended => "ended",
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

    #[test]
    fn the_limits_that_said_no_are_named() {
        let status = |name: &str, available| LimitStatus {
            name: name.into(),
            capacity: 10,
            available,
            resets_at_ms: None,
        };
        let statuses = [status("full", 10), status("short", 2), status("in-debt", -1)];
        let asked = [Amount::new("full", 3), Amount::new("short", 3), Amount::new("in-debt", 0)];
        assert_eq!(violated(&asked, &statuses), ["short", "in-debt"]);
    }
}
