//! The answer to a request as one JSON document, the same for every host and for the command.

use http::{HeaderValue, Response, StatusCode, header::CONTENT_TYPE};
use onewindow::{
    Amount, Decision, LimitPreview, LimitStatus, Outcome, PreviewOutcome, PreviewReport, Settlement,
    ShardView, Subject, WindowState,
};
use serde::Serialize;

use super::{
    number::JsonNumber,
    problem::{Problem, QuotaDetails},
    status::LimitDocument,
};

/// The answer to a request, as JSON.
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
    /// The answer to an acquire. `degraded`: it is let through although the table did not answer.
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
                    detail: Some(format!("admitted without the table, no tokens debited: {reason}")),
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
        // It consists of strings, numbers and lists of them, so it can always be written as JSON.
        json.unwrap_or_default()
    }

    pub(super) fn into_response(self) -> Response<String> {
        match self.0 {
            Content::Problem(problem) => problem.into_response(),
            _ => json(self.to_json()),
        }
    }
}

/// A response of this JSON.
pub(super) fn json(body: String) -> Response<String> {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// The limits that hold less than was asked for.
fn violated(request: &[Amount], statuses: &[LimitStatus]) -> Vec<String> {
    let short = |status: &&LimitStatus| {
        let asked = request.iter().find(|amount| amount.limit == status.name);
        asked.is_some_and(|amount| i128::from(amount.tokens) > i128::from(status.available))
    };
    statuses.iter().filter(short).map(|status| status.name.clone()).collect()
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

/// A window's state, as JSON names it.
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

#[cfg(test)]
mod tests {
    use super::*;

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
