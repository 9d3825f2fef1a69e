//! Problem documents (RFC 9457).

use http::{
    HeaderValue, Response, StatusCode,
    header::{CONTENT_TYPE, RETRY_AFTER},
};
use onewindow::ErrorCode;
use serde::Serialize;

use super::{fields, status::LimitDocument};

/// A problem, for a client: its kind, and what the client can do.
#[derive(Debug, Serialize)]
pub(super) struct Problem {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) title: &'static str,
    pub(super) status: u16,
    pub(super) detail: String,
    #[serde(flatten)]
    quota: Option<Box<QuotaDetails>>,
}

/// The further members of a 429.
#[derive(Debug, Serialize)]
pub(super) struct QuotaDetails {
    #[serde(rename = "violated-policies", skip_serializing_if = "Vec::is_empty")]
    pub(super) violated_policies: Vec<String>,
    pub(super) limits: Vec<LimitDocument>,
    pub(super) retry_after_ms: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) contended: bool,
}

impl Problem {
    fn new(status: StatusCode, kind: &'static str, title: &'static str, detail: String) -> Self {
        Self { kind, title, status: status.as_u16(), detail, quota: None }
    }

    /// Rejected or contended: the limit is used up, or other writers were faster.
    pub(super) fn quota_exceeded(detail: String, details: QuotaDetails) -> Self {
        Self {
            quota: Some(Box::new(details)),
            ..Self::new(
                StatusCode::TOO_MANY_REQUESTS,
                "https://iana.org/assignments/http-problem-types#quota-exceeded",
                "Quota exceeded",
                detail,
            )
        }
    }

    /// The table did not answer.
    pub(super) fn unavailable(detail: String) -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
            "The table cannot be reached",
            detail,
        )
    }

    /// The amount is above the capacity.
    pub(super) fn never_fits(limit: &str) -> Self {
        Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "urn:onewindow:problem:never-fits",
            "The amount never fits",
            format!("the amount of limit {limit:?} is above what its capacity can ever hold"),
        )
    }

    /// The bucket is switched off.
    pub(super) fn disabled() -> Self {
        Self::new(
            StatusCode::FORBIDDEN,
            "urn:onewindow:problem:disabled",
            "Disabled",
            "the entity is switched off for this resource".into(),
        )
    }

    /// The table refuses the host.
    pub(super) fn misconfigured(detail: String) -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "urn:onewindow:problem:misconfigured",
            "The limiter is set up wrongly",
            detail,
        )
    }

    /// The request is invalid.
    pub(super) fn malformed(detail: String) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "urn:onewindow:problem:invalid-request", "Invalid request", detail)
    }

    pub(super) fn into_response(self) -> Response<String> {
        let mut response = Response::new(serde_json::to_string(&self).unwrap_or_default());
        *response.status_mut() =
            StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(quota) = self.quota {
            headers.insert(RETRY_AFTER, HeaderValue::from(fields::whole_seconds(quota.retry_after_ms)));
        }
        response
    }

    /// A problem that is only an HTTP status, such as 404.
    pub(super) fn http(status: StatusCode, detail: String) -> Self {
        Self::new(status, "about:blank", status.canonical_reason().unwrap_or("Error"), detail)
    }
}

/// The request or the stored item is at fault.
impl From<onewindow::Error> for Problem {
    fn from(error: onewindow::Error) -> Self {
        let server = StatusCode::INTERNAL_SERVER_ERROR;
        let (status, kind, title) = match error.code {
            ErrorCode::InvalidRequest => return Self::malformed(error.message),
            ErrorCode::UnknownLimit => {
                (StatusCode::BAD_REQUEST, "urn:onewindow:problem:unknown-limit", "Unknown limit")
            }
            ErrorCode::CorruptItem => {
                (server, "urn:onewindow:problem:corrupt-item", "A stored item is corrupt")
            }
            ErrorCode::Overflow => (server, "urn:onewindow:problem:overflow", "A number is out of range"),
            ErrorCode::Unsupported => {
                (server, "urn:onewindow:problem:unsupported", "The stored item is not supported")
            }
            _ => (server, "urn:onewindow:problem:engine-fault", "The engine failed"),
        };
        Self::new(status, kind, title, error.message)
    }
}
