//! The HTTP surface: JSON in, JSON or a problem document (RFC 9457) out.
//!
//! | route | what it does |
//! | --- | --- |
//! | `POST /acquire` | takes tokens: 200, or 429 with the reset instant |
//! | `POST /settle` | corrects a lease to what was really used |
//! | `GET /preview`, `POST /preview` | what is left, shard by shard; nothing is written |
//! | `GET /healthz` | 200 as long as the process answers; the table is not asked |

mod document;
mod fields;
mod handlers;
mod input;
mod number;
mod problem;

pub use document::Document;
pub use fields::FieldForm;

use std::{future::Future, io, sync::Arc};

use axum::{
    Router,
    extract::DefaultBodyLimit,
    routing::{get, post},
};
use onewindow::{Limit, Subject};
use tokio::net::TcpListener;

use crate::limiter::Limiter;

/// The longest request body that is read, bytes.
const BODY_LIMIT_BYTES: usize = 64 << 10;

/// What the HTTP surface serves.
#[derive(Clone, Debug)]
pub struct Service {
    /// Enforces the limits.
    pub limiter: Limiter,
    /// The table.
    pub table: String,
    /// The namespace id of every key.
    pub namespace: String,
    /// The limits of a request that brings none.
    pub limits: Vec<Limit>,
    /// How the `RateLimit` field is written.
    pub field_form: FieldForm,
}

impl Service {
    fn subject(&self, entity: &str, resource: &str) -> Subject {
        Subject::new(&self.table, &self.namespace, entity, resource)
    }

    /// A request's own limits win.
    fn limits_or(&self, own: Option<Vec<Limit>>) -> Vec<Limit> {
        own.unwrap_or_else(|| self.limits.clone())
    }
}

/// The routes.
pub fn router(service: Service) -> Router {
    Router::new()
        .route("/acquire", post(handlers::acquire))
        .route("/settle", post(handlers::settle))
        .route("/preview", get(handlers::preview_query).post(handlers::preview_body))
        .route("/healthz", get(handlers::healthz))
        .fallback(handlers::no_such_route)
        .method_not_allowed_fallback(handlers::no_such_method)
        .layer(DefaultBodyLimit::max(BODY_LIMIT_BYTES))
        .with_state(Arc::new(service))
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
