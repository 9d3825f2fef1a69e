//! The plugin is swapped under load, on a real table and a real upstream.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use axum::{Router, routing::get};
use onewindow_host::{Client, Embedded, Limit, engine::ComponentOptions, engine::component::BINARY, table};
use onewindow_surface::settings::Settings;
use onewindow_wasmtime_plugin::{METER, Proxy};
use serde_json::json;
use tokio::net::TcpListener;

const CAPACITY: u64 = 60;

struct World {
    proxy: Arc<Proxy>,
    url: String,
    http: reqwest::Client,
    forwarded: Arc<AtomicU32>,
    _database: Embedded,
}

async fn serve(router: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    url
}

async fn world(meter: ComponentOptions) -> World {
    let database = Embedded::in_memory().await.unwrap();
    let client = Client::new(database.client_config()).unwrap();
    table::create(&client, "limits", false, std::time::Duration::from_secs(30)).await.unwrap();
    let forwarded = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&forwarded);
    let upstream = serve(Router::new().route(
        "/hello",
        get(move || {
            counter.fetch_add(1, Ordering::Relaxed);
            async { "hello" }
        }),
    ))
    .await;
    let settings = Settings::read(|name| {
        Some(match name {
            "DYNAMODB_ENDPOINT" => database.endpoint(),
            "AWS_REGION" | "AWS_ACCESS_KEY_ID" | "AWS_SECRET_ACCESS_KEY" => "test".into(),
            "TABLE" => "limits".into(),
            "DEADLINE_MS" => "30000".into(),
            _ => return None,
        })
    });
    let mut settings = settings.unwrap();
    settings.limits = vec![Limit::session("session", CAPACITY, 3600)];
    let proxy = Arc::new(Proxy::new(BINARY, meter, settings, upstream).unwrap());
    let url = serve(Arc::clone(&proxy).router()).await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    World { proxy, url, http, forwarded, _database: database }
}

impl World {
    async fn hello(&self) -> reqwest::Response {
        self.http.get(format!("{}/hello", self.url)).header("x-api-key", "user-1").send().await.unwrap()
    }
}

/// The same component as another version of it: with a section of its own at the end.
fn other_version() -> Vec<u8> {
    [BINARY, &[0, 8, 7], b"version"].concat()
}

#[tokio::test]
async fn no_request_is_lost_and_no_token_given_twice_while_the_plugin_is_swapped() {
    let world = Arc::new(world(METER).await);
    let mut requests = tokio::task::JoinSet::new();
    for index in 0..CAPACITY * 2 {
        match index {
            40 => world.proxy.swap(&other_version()).unwrap(),
            80 => world.proxy.swap(BINARY).unwrap(),
            _ => {}
        }
        let world = Arc::clone(&world);
        requests.spawn(async move { world.hello().await.status().as_u16() });
    }
    let statuses = requests.join_all().await;
    let admitted = statuses.iter().filter(|status| **status == 200).count();
    assert_eq!(statuses.into_iter().collect::<HashSet<_>>(), HashSet::from([200, 429]));
    assert_eq!(u64::try_from(admitted).unwrap(), CAPACITY, "the window went on under every version");
    assert_eq!(u64::from(world.forwarded.load(Ordering::Relaxed)), CAPACITY);

    let refused = world.hello().await;
    assert_eq!(refused.status(), 429);
    assert!(refused.headers().contains_key("retry-after"));
    assert!(refused.headers()["ratelimit"].to_str().unwrap().starts_with("\"session\";r=0;t="));
}

#[tokio::test]
async fn what_is_no_plugin_is_refused_and_the_old_one_stays() {
    let world = world(METER).await;
    assert_eq!(world.hello().await.status(), 200);
    let importing = wat::parse_str(r#"(component (import "clock" (func (result u64))))"#).unwrap();
    for bad in [&b"not wasm"[..], &BINARY[..BINARY.len() / 2], &importing] {
        let error = world.proxy.swap(bad).unwrap_err();
        assert!(format!("{error:#}").starts_with("the plugin is refused"), "{error:#}");
    }
    let answer = world.hello().await;
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["ratelimit-policy"], "\"session\";q=60;w=3600");
    assert_eq!(answer.text().await.unwrap(), "hello");
}

#[tokio::test]
async fn a_plugin_that_burns_too_much_is_stopped() {
    let world = world(ComponentOptions { step_fuel: 1_000, ..METER }).await;
    let answer = world.hello().await;
    assert_eq!(answer.status(), 500);
    let problem: serde_json::Value = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
    assert_eq!(problem["type"], "urn:onewindow:problem:engine-fault");
    assert_eq!(world.forwarded.load(Ordering::Relaxed), 0, "nothing gets past it");
}

#[tokio::test]
async fn the_surface_is_served_beside_the_proxy() {
    let world = world(METER).await;
    let ask = json!({ "entity": "user-1", "resource": "proxy", "consume": { "session": 2 } });
    let acquired =
        world.http.post(format!("{}/acquire", world.url)).body(ask.to_string()).send().await.unwrap();
    assert_eq!(acquired.status(), 200);
    assert_eq!(world.hello().await.headers()["ratelimit"].to_str().unwrap().split(';').nth(1), Some("r=57"));
}
