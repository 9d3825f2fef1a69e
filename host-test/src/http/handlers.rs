//! One function a route.

use std::sync::Arc;

use axum::{
    extract::{
        Query, State,
        rejection::{BytesRejection, FailedToBufferBody, QueryRejection},
    },
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::{HeaderValue, Method, StatusCode, Uri, header::CONTENT_TYPE};
use onewindow::{AcquireRequest, Lease, Limit};
use serde::de::DeserializeOwned;

use super::{
    BODY_LIMIT_BYTES, Document, Service, fields,
    input::{AcquireInput, PreviewInput, PreviewQuery, SettleInput},
    problem::Problem,
};

type Shared = State<Arc<Service>>;
type Body = Result<Bytes, BytesRejection>;
type Handled = Result<Response, Problem>;

pub(super) async fn acquire(State(service): Shared, body: Body) -> Handled {
    let AcquireInput { entity, resource, consume, limits } = parse(body)?;
    let limits = service.limits_or(limits.map(|limits| limits.0));
    let request = AcquireRequest {
        subject: service.subject(&entity, &resource),
        consume: consume.0,
        limits,
        ..AcquireRequest::default()
    };
    let (consume, configured) = (request.consume.clone(), request.limits.clone());
    let answer = service.limiter.acquire(request).await;
    let mut response = Document::of_answer(&consume, &answer).into_response();
    if matches!(response.status(), StatusCode::OK | StatusCode::TOO_MANY_REQUESTS) {
        let now_ms = service.limiter.options().clock.now_ms();
        let statuses = &answer.decision.limits;
        fields::write(response.headers_mut(), service.field_form, statuses, &configured, now_ms);
    }
    Ok(response)
}

pub(super) async fn settle(State(service): Shared, body: Body) -> Handled {
    let SettleInput { lease, actual } = parse(body)?;
    // A lease is signed by nobody: one for another namespace is not ours to touch.
    let subject = Lease::decode(&lease)?.subject(&service.table);
    if subject.namespace != service.namespace {
        return Err(Problem::malformed(format!(
            "the lease is of the namespace {:?}, expected {:?}; nothing was written",
            subject.namespace.chars().take(64).collect::<String>(),
            service.namespace
        )));
    }
    let settled = service.limiter.settle(&service.table, &lease, actual.0).await;
    Ok(Document::of_settlement(&settled.settlement).into_response())
}

pub(super) async fn preview_query(
    State(service): Shared,
    query: Result<Query<PreviewQuery>, QueryRejection>,
) -> Handled {
    let Query(PreviewQuery { entity, resource }) =
        query.map_err(|rejection| Problem::malformed(format!("the query: {}", rejection.body_text())))?;
    Ok(preview(&service, &entity, &resource, None).await)
}

pub(super) async fn preview_body(State(service): Shared, body: Body) -> Handled {
    let PreviewInput { entity, resource, limits } = parse(body)?;
    Ok(preview(&service, &entity, &resource, limits.map(|limits| limits.0)).await)
}

async fn preview(service: &Service, entity: &str, resource: &str, limits: Option<Vec<Limit>>) -> Response {
    let subject = service.subject(entity, resource);
    let previewed = service.limiter.preview(subject.clone(), service.limits_or(limits)).await;
    Document::of_preview(&subject, &previewed.outcome).into_response()
}

pub(super) async fn healthz() -> Response {
    ([(CONTENT_TYPE, HeaderValue::from_static("application/json"))], "{\"status\":\"ok\"}").into_response()
}

pub(super) async fn no_such_route(uri: Uri) -> Problem {
    let path: String = uri.path().chars().take(64).collect();
    Problem::http(
        StatusCode::NOT_FOUND,
        format!("there is nothing at {path:?}, expected /acquire, /settle, /preview or /healthz"),
    )
}

pub(super) async fn no_such_method(method: Method, uri: Uri) -> Problem {
    Problem::http(
        StatusCode::METHOD_NOT_ALLOWED,
        format!("{} does not take {}", uri.path(), method.as_str().chars().take(16).collect::<String>()),
    )
}

fn parse<T: DeserializeOwned>(body: Body) -> Result<T, Problem> {
    let body = body.map_err(|rejection| match rejection {
        BytesRejection::FailedToBufferBody(FailedToBufferBody::LengthLimitError(_)) => Problem::http(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("the body is longer than {BODY_LIMIT_BYTES} bytes"),
        ),
        other => Problem::malformed(format!("the body cannot be read: {}", other.body_text())),
    })?;
    serde_json::from_slice(&body).map_err(|error| Problem::malformed(format!("the body: {error}")))
}
