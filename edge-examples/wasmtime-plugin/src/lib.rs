//! A proxy that limits what it forwards. The core that decides is a plugin: a component file that
//! is swapped for a new version while the proxy runs.
//!
//! A plugin imports nothing, so it can reach nothing; its memory and the instructions of one step
//! are limited. The balances are in the table, so that a new version continues where the old one ended.

use std::sync::{Arc, RwLock};

use anyhow::Context;
use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{Method, Response, StatusCode, Uri},
};
use onewindow_host::{
    Client, Limiter,
    engine::{Component, ComponentOptions},
};
use onewindow_surface::{server::Service, settings::Settings};
use serde_json::json;

/// The largest body that is forwarded, bytes.
const BODY_LIMIT_BYTES: usize = 1 << 20;

/// What a plugin may use.
pub const METER: ComponentOptions = ComponentOptions {
    instances: 256,
    // A plugin is not trusted to keep no state: its memory is wiped after each request.
    requests_per_instance: 1,
    memory_limit_bytes: 4 << 20,
    step_fuel: 100_000_000,
    cache: true,
};

/// The proxy.
#[derive(Debug)]
pub struct Proxy {
    /// The version in use. A request keeps the one it began with to its end.
    service: RwLock<Arc<Service>>,
    settings: Settings,
    meter: ComponentOptions,
    client: Client,
    /// Where admitted requests go.
    upstream: String,
    http: reqwest::Client,
}

impl Proxy {
    /// A proxy that decides by `plugin`, a component that exports the world `quota`.
    ///
    /// # Errors
    /// Where the file is not a plugin, or the table's client cannot be set up.
    pub fn new(
        plugin: &[u8],
        meter: ComponentOptions,
        settings: Settings,
        upstream: String,
    ) -> anyhow::Result<Self> {
        let client = Client::new(settings.client())?;
        let service = RwLock::new(load(plugin, &meter, &client, &settings)?);
        Ok(Self { service, settings, meter, client, upstream, http: reqwest::Client::new() })
    }

    /// Swaps in another version of the plugin. Where it is refused, the old one stays.
    ///
    /// # Errors
    /// Where it is not valid, imports anything, or does not export the world `quota`.
    pub fn swap(&self, plugin: &[u8]) -> anyhow::Result<()> {
        let service = load(plugin, &self.meter, &self.client, &self.settings)?;
        *self.service.write().unwrap_or_else(std::sync::PoisonError::into_inner) = service;
        Ok(())
    }

    fn service(&self) -> Arc<Service> {
        Arc::clone(&self.service.read().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// The routes: those of the HTTP surface, and everything else through the limit to the upstream.
    pub fn router(self: Arc<Self>) -> Router {
        Router::new().fallback(answer).with_state(self)
    }

    async fn forward(&self, request: Request) -> anyhow::Result<Response<Body>> {
        let (parts, body) = request.into_parts();
        let body = to_bytes(body, BODY_LIMIT_BYTES).await?;
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let mut request = self.http.request(parts.method, format!("{}{path}", self.upstream)).body(body);
        for (name, value) in parts.headers.iter().filter(|(name, _)| *name != "host") {
            request = request.header(name, value);
        }
        let response = request.send().await?;
        let (status, headers) = (response.status(), response.headers().clone());
        let mut forwarded = Response::new(Body::from(response.bytes().await?));
        *forwarded.status_mut() = status;
        *forwarded.headers_mut() = headers;
        Ok(forwarded)
    }
}

fn load(
    plugin: &[u8],
    meter: &ComponentOptions,
    client: &Client,
    settings: &Settings,
) -> anyhow::Result<Arc<Service>> {
    let component = Component::from_binary(plugin, meter.clone()).context("the plugin is refused")?;
    let limiter = Limiter::new(component, client.clone(), settings.limiter());
    Ok(Arc::new(settings.clone().service(limiter)))
}

async fn answer(State(proxy): State<Arc<Proxy>>, request: Request) -> Response<Body> {
    let service = proxy.service();
    if ["/acquire", "/settle", "/preview", "/healthz"].contains(&request.uri().path()) {
        let (parts, body) = request.into_parts();
        let body = onewindow_surface::server::read(body).await;
        return service.answer(&parts.method, &parts.uri, body).await.map(Body::from);
    }
    // One token of each limit is debited from the entity that the key names.
    let entity = request.headers().get("x-api-key").and_then(|key| key.to_str().ok()).unwrap_or_default();
    let consume: serde_json::Map<_, _> =
        proxy.settings.limits.iter().map(|limit| (limit.name.clone(), json!(1))).collect();
    let ask = json!({ "entity": entity, "resource": "proxy", "consume": consume });
    let asked =
        service.answer(&Method::POST, &Uri::from_static("/acquire"), Ok(ask.to_string().into_bytes())).await;
    if asked.status() != StatusCode::OK {
        return asked.map(Body::from);
    }
    let mut forwarded = proxy.forward(request).await.unwrap_or_else(|error| {
        let mut failed = Response::new(Body::from(format!("the upstream does not answer: {error:#}")));
        *failed.status_mut() = StatusCode::BAD_GATEWAY;
        failed
    });
    for name in ["ratelimit-policy", "ratelimit"] {
        if let Some(value) = asked.headers().get(name) {
            forwarded.headers_mut().insert(name, value.clone());
        }
    }
    forwarded
}
