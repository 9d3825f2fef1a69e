//! The HTTP surface ([`crate::http`]) as an axum server.

use std::{future::Future, io, sync::Arc};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    response::Response,
};
use futures::StreamExt;
use onewindow_host::dynamo::Http;
use tokio::net::TcpListener;

use crate::http::{self as surface, BODY_LIMIT_BYTES};

/// What the HTTP surface serves.
pub type Service = surface::Service<Http>;

/// The routes.
pub fn router(service: Service) -> Router {
    Router::new().fallback(answer).with_state(Arc::new(service))
}

async fn answer(State(service): State<Arc<Service>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = read(body).await;
    service.answer(&parts.method, &parts.uri, body).await.map(Body::from)
}

/// Reads a body, up to one byte more than the surface accepts.
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

/// Serves until `shutdown` resolves; then waits for the requests and follow-ups in progress.
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
