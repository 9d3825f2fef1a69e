//! The service: its routes take a request and return a response.

use http::{
    HeaderValue, Method, Response, StatusCode, Uri,
    header::{ACCESS_CONTROL_ALLOW_ORIGIN, ALLOW, VARY},
};
use onewindow::{AcquireRequest, Error, ErrorCode, Lease, Limit, Subject};
use onewindow_host::{Answer, Limiter, Transport};
use serde::de::DeserializeOwned;

use super::{
    document::{Document, json},
    fields::{self, FieldForm},
    input::{AcquireInput, Limits, PreviewInput, PreviewQuery, SettleInput},
    problem::Problem,
};

/// The longest request body that is read, bytes.
pub const BODY_LIMIT_BYTES: usize = 64 << 10;

/// The HTTP surface with its limiter and its settings.
#[derive(Clone, Debug)]
pub struct Service<T> {
    /// The limiter that enforces the limits.
    pub limiter: Limiter<T>,
    /// The table.
    pub table: String,
    /// The namespace id of every key.
    pub namespace: String,
    /// The limits of requests that bring none.
    pub limits: Vec<Limit>,
    /// The form of the `RateLimit` field.
    pub field_form: FieldForm,
    /// The origin of a page that may read `GET /preview` from elsewhere (CORS), `*` for any.
    pub allow_origin: Option<HeaderValue>,
}

/// A request's body, or why it could not be read. Reading one byte more than [`BODY_LIMIT_BYTES`] is
/// enough.
pub type Body = Result<Vec<u8>, String>;

type Handled = Result<Response<String>, Problem>;

impl<T: Transport> Service<T> {
    /// Answers a request.
    pub async fn answer(&self, method: &Method, uri: &Uri, body: Body) -> Response<String> {
        let mut response = self.route(method, uri, body).await.unwrap_or_else(Problem::into_response);
        if let Some(origin) = self.allow_origin.as_ref().filter(|_| uri.path() == "/preview") {
            response.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            response.headers_mut().insert(VARY, HeaderValue::from_static("origin"));
        }
        response
    }

    async fn route(&self, method: &Method, uri: &Uri, body: Body) -> Handled {
        let read = matches!(*method, Method::GET | Method::HEAD);
        let post = *method == Method::POST;
        let allowed = match uri.path() {
            "/acquire" if post => return self.acquire(parse(body)?).await,
            "/settle" if post => return self.settle(parse(body)?).await,
            "/preview" if post => return Ok(self.preview(parse(body)?).await),
            "/preview" if read => return Ok(self.preview(query(uri)?).await),
            "/healthz" if read => return Ok(json("{\"status\":\"ok\"}".into())),
            "/acquire" | "/settle" => "POST",
            "/preview" => "GET,HEAD,POST",
            "/healthz" => "GET,HEAD",
            path => {
                let path: String = path.chars().take(64).collect();
                return Err(Problem::http(
                    StatusCode::NOT_FOUND,
                    format!("there is nothing at {path:?}, expected /acquire, /settle, /preview or /healthz"),
                ));
            }
        };
        let method: String = method.as_str().chars().take(16).collect();
        let detail = format!("{} does not take {method}", uri.path());
        let mut response = Problem::http(StatusCode::METHOD_NOT_ALLOWED, detail).into_response();
        response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
        Ok(response)
    }

    async fn acquire(&self, input: AcquireInput) -> Handled {
        let AcquireInput { entity, resource, consume, limits } = input;
        let (consume, limits) = (consume.0, self.limits_or(limits.map(|limits| limits.0)));
        let request = AcquireRequest {
            subject: self.subject(&entity, &resource),
            consume: consume.clone(),
            limits: limits.clone(),
            ..AcquireRequest::default()
        };
        let Answer { decision, degraded, .. } = self.limiter.acquire(request).await;
        let mut response = Document::of_decision(&consume, &decision, degraded).into_response();
        if matches!(response.status(), StatusCode::OK | StatusCode::TOO_MANY_REQUESTS) {
            let now_ms = self.limiter.now_ms();
            fields::write(response.headers_mut(), self.field_form, &decision.limits, &limits, now_ms);
        }
        Ok(response)
    }

    async fn settle(&self, SettleInput { lease, actual }: SettleInput) -> Handled {
        // A lease is not signed, so one that names another namespace is refused.
        let subject = Lease::decode(&lease)?.subject(&self.table);
        if subject.namespace != self.namespace {
            return Err(Problem::malformed(format!(
                "the lease is of the namespace {:?}, expected {:?}; nothing was written",
                subject.namespace.chars().take(64).collect::<String>(),
                self.namespace
            )));
        }
        let settled = self.limiter.settle(&self.table, &lease, actual.0).await;
        Ok(Document::of_settlement(&settled.settlement).into_response())
    }

    async fn preview(&self, PreviewInput { entity, resource, limits }: PreviewInput) -> Response<String> {
        let subject = self.subject(&entity, &resource);
        let limits = self.limits_or(limits.map(|limits| limits.0));
        let previewed = self.limiter.preview(subject.clone(), limits).await;
        Document::of_preview(&subject, &previewed.outcome).into_response()
    }

    fn subject(&self, entity: &str, resource: &str) -> Subject {
        Subject::new(&self.table, &self.namespace, entity, resource)
    }

    /// The limits of the request, or the service's where it brings none.
    fn limits_or(&self, own: Option<Vec<Limit>>) -> Vec<Limit> {
        own.unwrap_or_else(|| self.limits.clone())
    }
}

/// Reads limits in the form of a request's `limits`: `[{ "name", "capacity", … }]`.
///
/// # Errors
/// Names what was expected, and where.
pub fn limits_from_json(json: &str) -> Result<Vec<Limit>, Error> {
    serde_json::from_str::<Limits>(json)
        .map(|limits| limits.0)
        .map_err(|error| Error { code: ErrorCode::InvalidRequest, message: format!("the limits: {error}") })
}

/// The answer where the service could not be set up.
#[must_use]
pub fn misconfigured(reason: String) -> Response<String> {
    Problem::misconfigured(reason).into_response()
}

fn parse<T: DeserializeOwned>(body: Body) -> Result<T, Problem> {
    let body = body.map_err(|reason| Problem::malformed(format!("the body cannot be read: {reason}")))?;
    if body.len() > BODY_LIMIT_BYTES {
        return Err(Problem::http(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("the body is longer than {BODY_LIMIT_BYTES} bytes"),
        ));
    }
    serde_json::from_slice(&body).map_err(|error| Problem::malformed(format!("the body: {error}")))
}

fn query(uri: &Uri) -> Result<PreviewInput, Problem> {
    let PreviewQuery { entity, resource } = serde_urlencoded::from_str(uri.query().unwrap_or_default())
        .map_err(|error| Problem::malformed(format!("the query: {error}")))?;
    Ok(PreviewInput { entity, resource, limits: None })
}
