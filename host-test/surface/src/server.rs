//! The HTTP surface ([`crate::http`]), carried by axum.

pub use crate::http::{Document, FieldForm};

use std::{future::Future, io, sync::Arc};

use crate::http::{self as surface, BODY_LIMIT_BYTES, Limits};
use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    response::Response,
};
use futures::StreamExt;
use onewindow::{AcquireRequest, Amount, Decision, Limit, PreviewOutcome, Settlement, Subject};
use onewindow_host::Limiter;
use tokio::net::TcpListener;

/// What the HTTP surface serves.
pub type Service = surface::Service<Limiter>;

impl Limits for Limiter {
    async fn acquire(&self, request: AcquireRequest) -> (Decision, bool) {
        let answer = Self::acquire(self, request).await;
        (answer.decision, answer.degraded)
    }

    async fn settle(&self, table: &str, lease: &str, actual: Vec<Amount>) -> Settlement {
        Self::settle(self, table, lease, actual).await.settlement
    }

    async fn preview(&self, subject: Subject, limits: Vec<Limit>) -> PreviewOutcome {
        Self::preview(self, subject, limits).await.outcome
    }

    fn now_ms(&self) -> u64 {
        self.options().clock.now_ms()
    }
}

/// The routes.
pub fn router(service: Service) -> Router {
    Router::new().fallback(answer).with_state(Arc::new(service))
}

async fn answer(State(service): State<Arc<Service>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = read(body).await;
    service.answer(&parts.method, &parts.uri, body).await.map(Body::from)
}

/// As much of a body as the surface wants.
///
/// # Errors
/// Where the client stopped sending it.
pub async fn read(body: Body) -> surface::Body {
    let mut chunks = body.into_data_stream();
    let mut read = Vec::new();
    while let Some(chunk) = chunks.next().await {
        read.extend_from_slice(&chunk.map_err(|error| error.to_string())?);
        if read.len() > BODY_LIMIT_BYTES {
            break;
        }
    }
    Ok(read)
}

/// Serves until `shutdown` resolves; then lets the requests and follow-ups under way finish.
///
/// # Errors
/// Where the listener fails.
pub async fn serve(
    listener: TcpListener,
    service: Service,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let limiter = service.limiter.clone();
    let served = axum::serve(listener, router(service)).with_graceful_shutdown(shutdown).await;
    limiter.flush().await;
    served
}
