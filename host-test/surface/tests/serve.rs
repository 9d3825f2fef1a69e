//! The HTTP surface over real HTTP, through both engines: every route and every status.

#[path = "../../host/tests/common/mod.rs"]
mod common;

use std::time::Duration;

use common::{Fates, START_MS, TABLE, database, engines, operate, options, refusal};
use onewindow::Limit;
use onewindow_host::{Client, ClientConfig, Clock, Embedded, Engine, Limiter, LimiterOptions, OnUnavailable};
use onewindow_surface::{
    http::FieldForm,
    server::{self, Service},
};
use reqwest::{Method, Response, header::HeaderMap};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};

const QUOTA_EXCEEDED: &str = "https://iana.org/assignments/http-problem-types#quota-exceeded";
const REDUCED_CAPACITY: &str = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";

/// A server of its own, and the table behind it.
struct Server {
    url: String,
    http: reqwest::Client,
    client: Client,
    clock: Clock,
    stop: oneshot::Sender<()>,
    served: JoinHandle<std::io::Result<()>>,
}

/// What came back.
#[derive(Debug)]
struct Answer {
    status: u16,
    headers: HeaderMap,
    body: Value,
}

impl Server {
    async fn start(engine: Engine, config: ClientConfig, options: LimiterOptions) -> Self {
        Self::with(engine, config, options, |_| {}).await
    }

    async fn with(
        engine: Engine,
        config: ClientConfig,
        options: LimiterOptions,
        change: impl FnOnce(&mut Service),
    ) -> Self {
        let client = Client::new(config).unwrap();
        let clock = options.clock.clone();
        let mut service = Service {
            limiter: Limiter::new(engine, client.clone(), options),
            table: TABLE.into(),
            namespace: "ns".into(),
            limits: vec![Limit::session("session", 3, 3600), Limit::drip("rpm", 60, 60, 60)],
            field_form: FieldForm::Remaining,
            allow_origin: None,
        };
        change(&mut service);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel();
        let served = tokio::spawn(server::serve(listener, service, async {
            let _ = stopped.await;
        }));
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { url, http, client, clock, stop, served }
    }

    async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::POST, path, body.to_string()).await
    }

    async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, String::new()).await
    }

    async fn send(&self, method: Method, path: &str, body: String) -> Answer {
        let request = self.http.request(method, format!("{}{path}", self.url)).body(body);
        Answer::of(request.send().await.unwrap()).await
    }

    async fn stop(self) {
        drop((self.http, self.client));
        self.stop.send(()).unwrap();
        self.served.await.unwrap().unwrap();
    }
}

impl Answer {
    async fn of(response: Response) -> Self {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = response.text().await.unwrap();
        Self { status, headers, body: serde_json::from_str(&body).unwrap_or(Value::String(body)) }
    }

    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// A problem document of this status and type; its detail.
    #[track_caller]
    fn problem(&self, status: u16, kind: &str) -> &str {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.header("content-type"), "application/problem+json", "{self:?}");
        assert_eq!(self.body["type"], kind, "{self:?}");
        assert_eq!(self.body["status"], status, "{self:?}");
        assert_eq!(self.header("retry-after").is_empty(), status != 429, "{self:?}");
        self.body["detail"].as_str().unwrap()
    }
}

fn take(entity: &str, tokens: u64) -> Value {
    json!({ "entity": entity, "resource": "gpt-4", "consume": { "session": tokens } })
}

#[tokio::test]
async fn a_window_from_its_first_use_to_the_next() {
    let database = database().await;
    for engine in engines() {
        let entity = engine.name();
        let server = Server::start(engine, database.client_config(), options()).await;

        let first = server.post("/acquire", &take(entity, 1)).await;
        assert_eq!(first.status, 200, "{first:?}");
        assert_eq!(first.header("content-type"), "application/json");
        assert_eq!(first.header("ratelimit-policy"), "\"session\";q=3;w=3600");
        assert_eq!(first.header("ratelimit"), "\"session\";r=2;t=3600");
        assert_eq!(first.body["admitted"], true);
        assert_eq!(
            first.body["limits"],
            json!([{ "name": "session", "capacity": 3, "available": 2,
                     "resets_at_ms": START_MS + 3_600_000, "resets_at": "2027-01-15T09:00:00Z" }])
        );
        assert!(first.body["lease"].is_string());

        server.clock.set_ms(START_MS + 3_600_000 - 1_200);
        let both = json!({ "entity": entity, "resource": "gpt-4", "consume": { "session": 5, "rpm": 1 },
                           "limits": [{ "name": "session", "capacity": 9, "reset_after_seconds": 3600 },
                                      { "name": "rpm", "capacity": 60, "refill_amount": 60,
                                        "refill_period_seconds": 60 }] });
        let rejected = server.post("/acquire", &both).await;
        rejected.problem(429, QUOTA_EXCEEDED);
        assert_eq!(rejected.header("retry-after"), "2", "F1: rounded up");
        assert_eq!(rejected.body["retry_after_ms"], 1_200);
        assert_eq!(rejected.body["violated-policies"], json!(["session"]));
        assert_eq!(rejected.body["limits"].as_array().unwrap().len(), 2);
        assert_eq!(rejected.body.get("contended"), None);
        assert_eq!(rejected.header("ratelimit"), "\"rpm\";r=60, \"session\";r=2;t=2");
        assert_eq!(rejected.header("ratelimit-policy"), "\"rpm\";q=60;w=60, \"session\";q=3;w=3600");

        server.clock.advance(Duration::from_secs(2));
        assert_eq!(server.post("/acquire", &take(entity, 3)).await.status, 200, "F1: honest");
        server.stop().await;
    }
}

#[tokio::test]
async fn what_never_fits_is_not_a_matter_of_time() {
    let database = database().await;
    for engine in engines() {
        let server = Server::start(engine, database.client_config(), options()).await;
        for tokens in [json!(4), json!("9223372036854775807"), json!("18446744073709551615")] {
            let body = json!({ "entity": "e", "resource": "gpt-4", "consume": { "session": tokens } });
            let refused = server.post("/acquire", &body).await;
            assert!(refused.problem(422, "urn:onewindow:problem:never-fits").contains("session"));
        }
        server.stop().await;
    }
}

#[tokio::test]
async fn what_is_malformed_is_said_to_be() {
    let database = database().await;
    for engine in engines() {
        let server = Server::start(engine, database.client_config(), options()).await;
        let of = |change: fn(&mut Value)| {
            let mut body = take("user-1", 1);
            change(&mut body);
            body
        };
        for (body, says) in [
            (of(|body| body["entity"] = json!("a#b")), "entity id"),
            (of(|body| body["resource"] = json!("4")), "resource"),
            (of(|body| body["consume"] = json!({})), "names no limit"),
            (of(|body| body["consume"] = json!({ "wcu": 1 })), "wcu"),
            (of(|body| body["consume"] = json!({ "session": -1 })), "a whole number"),
            (of(|body| body["consume"] = json!({ "session": 1.5 })), "a whole number"),
            (of(|body| body["consume"] = json!({ "session": u64::MAX })), "2^53"),
            (of(|body| body["consume"] = json!([1])), "an object of limit names"),
            (of(|body| body["limit"] = json!([])), "unknown field `limit`"),
            (
                of(|body| {
                    body["limits"] = json!([{ "name": "session", "capacity": 0, "reset_after_seconds": 1 }])
                }),
                "capacity is 0",
            ),
            (
                of(|body| body["limits"] = json!([{ "name": "session", "capacity": 1 }])),
                "reset_after_seconds",
            ),
            (json!({ "entity": "user-1" }), "missing field `resource`"),
            (json!([]), "the body"),
        ] {
            let answer = server.post("/acquire", &body).await;
            let detail = answer.problem(400, "urn:onewindow:problem:invalid-request");
            assert!(detail.contains(says), "{body}: {detail}");
        }
        let cut_off = server.send(Method::POST, "/acquire", "{\"entity\":".into()).await;
        cut_off.problem(400, "urn:onewindow:problem:invalid-request");
        let unknown = of(|body| body["consume"] = json!({ "other": 1 }));
        let unknown = server.post("/acquire", &unknown).await;
        assert!(unknown.problem(400, "urn:onewindow:problem:unknown-limit").contains("other"));
        server.stop().await;
    }
}

#[tokio::test]
async fn http_itself_is_answered_with_problems_too() {
    let database = database().await;
    let server = Server::start(Engine::native(), database.client_config(), options()).await;
    assert!(server.get("/").await.problem(404, "about:blank").contains("/acquire"));
    let wrong = server.get("/acquire").await;
    wrong.problem(405, "about:blank");
    assert_eq!(wrong.header("allow"), "POST");
    let long = server.send(Method::POST, "/acquire", " ".repeat(65 << 10)).await;
    assert!(long.problem(413, "about:blank").contains("65536 bytes"));
    server.stop().await;
}

#[tokio::test]
async fn a_lease_is_settled_up_and_down() {
    let database = database().await;
    for engine in engines() {
        let entity = engine.name();
        let server = Server::start(engine, database.client_config(), options()).await;
        let lease = server.post("/acquire", &take(entity, 1)).await.body["lease"].clone();

        let more = server.post("/settle", &json!({ "lease": lease, "actual": { "session": 3 } })).await;
        assert_eq!((more.status, more.body), (200, json!({ "settled": true })));
        assert_eq!(server.post("/acquire", &take(entity, 1)).await.status, 429);

        let release = json!({ "lease": lease, "actual": { "session": 0 } });
        assert_eq!(server.post("/settle", &release).await.body, json!({ "settled": true }));
        assert_eq!(server.post("/acquire", &take(entity, 1)).await.status, 200);

        server.clock.advance(Duration::from_secs(3600));
        let late = server.post("/settle", &release).await;
        assert_eq!((late.status, late.body), (200, json!({ "settled": false, "reason": "window-over" })));

        server.clock.set_ms(START_MS);
        let pk = format!("ns/BUCKET#{entity}#gpt-4#0");
        let key = json!({ "PK": { "S": pk }, "SK": { "S": "#STATE" } });
        operate(&server.client, "DeleteItem", json!({ "TableName": TABLE, "Key": key }).to_string()).await;
        let gone = server.post("/settle", &release).await;
        assert_eq!((gone.status, gone.body), (200, json!({ "settled": false, "reason": "item-gone" })));

        for (lease, says) in [
            (json!("{}"), "lease"),
            (json!("nonsense"), "lease"),
            (json!(lease.as_str().unwrap().replace("\"ns\"", "\"other\"")), "the namespace \"other\""),
        ] {
            let refused = server.post("/settle", &json!({ "lease": lease, "actual": {} })).await;
            let detail = refused.problem(400, "urn:onewindow:problem:invalid-request");
            assert!(detail.contains(says), "{detail}");
        }
        let unnamed = json!({ "lease": lease, "actual": { "other": 1 } });
        server.post("/settle", &unnamed).await.problem(400, "urn:onewindow:problem:invalid-request");
        server.stop().await;
    }
}

#[tokio::test]
async fn a_preview_writes_nothing() {
    let database = database().await;
    for engine in engines() {
        let entity = engine.name();
        let server = Server::start(engine, database.client_config(), options()).await;
        let path = format!("/preview?entity={entity}&resource=gpt-4");
        let before = server.get(&path).await;
        assert_eq!(before.status, 200, "{before:?}");
        let session = &before.body["limits"][0];
        assert_eq!((&session["available"], session.get("resets_at_ms")), (&json!(3), None), "F26");
        assert_eq!(session["shards"][0]["state"], "absent");

        server.post("/acquire", &take(entity, 1)).await;
        let written = server.client.stats().requests_of("UpdateItem");
        let live = server.get(&path).await;
        assert_eq!(live.body["shard_count"], 1);
        assert_eq!(live.body["disabled"], false);
        assert_eq!(live.body["limits"][0]["resets_at"], "2027-01-15T09:00:00Z");
        assert_eq!(
            live.body["limits"][0]["shards"],
            json!([{ "shard": 0, "state": "live", "starts_at_ms": START_MS, "ends_at_ms": START_MS + 3_600_000,
                     "balance_milli": 2_000, "counted_milli": 2_000, "ceiling_milli": 3_000 }])
        );
        server.clock.advance(Duration::from_secs(3600));
        assert_eq!(server.get(&path).await.body["limits"][0]["shards"][0]["state"], "ended");

        let big = json!({ "entity": "big", "resource": "gpt-4",
            "limits": [{ "name": "tokens", "capacity": 1_000_000_000_000_000_u64, "reset_after_seconds": 60 }] });
        let big = server.post("/preview", &big).await;
        let tokens = &big.body["limits"][0];
        assert_eq!(tokens["available"], 1_000_000_000_000_000_u64, "F8: a number up to 2^53");
        assert_eq!(tokens["shards"][0]["counted_milli"], "1000000000000000000", "F8: a string above");

        let incomplete = server.get("/preview?entity=e").await;
        assert!(incomplete.problem(400, "urn:onewindow:problem:invalid-request").contains("resource"));
        let bad = server.get("/preview?entity=a%23b&resource=gpt-4").await;
        bad.problem(400, "urn:onewindow:problem:invalid-request");
        assert_eq!(server.client.stats().requests_of("UpdateItem"), written);
        server.stop().await;
    }
}

/// F3.
#[tokio::test]
async fn a_question_of_nothing_is_answered_from_a_read() {
    let database = database().await;
    let server = Server::start(Engine::native(), database.client_config(), options()).await;
    let asked = server.post("/acquire", &take("e", 0)).await;
    assert_eq!((asked.status, &asked.body["limits"][0]["available"]), (200, &json!(3)), "{asked:?}");
    assert_eq!(asked.header("ratelimit"), "\"session\";r=3");
    assert_eq!(server.client.stats().requests_of("UpdateItem"), 0);
    server.stop().await;
}

#[tokio::test]
async fn a_disabled_entity_is_forbidden() {
    let database = database().await;
    for engine in engines() {
        let entity = engine.name();
        let server = Server::start(engine, database.client_config(), options()).await;
        server.post("/acquire", &take(entity, 1)).await;
        let pk = format!("ns/BUCKET#{entity}#gpt-4#0");
        let update = json!({ "TableName": TABLE, "Key": { "PK": { "S": pk }, "SK": { "S": "#STATE" } },
            "UpdateExpression": "SET #d = :t", "ExpressionAttributeNames": { "#d": "disabled" },
            "ExpressionAttributeValues": { ":t": { "BOOL": true } } });
        operate(&server.client, "UpdateItem", update.to_string()).await;
        server.post("/acquire", &take(entity, 1)).await.problem(403, "urn:onewindow:problem:disabled");
        let preview = server.get(&format!("/preview?entity={entity}&resource=gpt-4")).await;
        assert_eq!(preview.body["disabled"], true);
        server.stop().await;
    }
}

#[tokio::test]
async fn a_corrupt_item_names_its_attribute() {
    let database = database().await;
    let server = Server::start(Engine::native(), database.client_config(), options()).await;
    server.post("/acquire", &take("e", 1)).await;
    let update = json!({ "TableName": TABLE,
        "Key": { "PK": { "S": "ns/BUCKET#e#gpt-4#0" }, "SK": { "S": "#STATE" } },
        "UpdateExpression": "SET #a = :v, #v = :z", "ExpressionAttributeNames": { "#a": "b_session_cp", "#v": "vu" },
        "ExpressionAttributeValues": { ":v": { "S": "many" }, ":z": { "N": "0" } } });
    operate(&server.client, "UpdateItem", update.to_string()).await;
    let answer = server.post("/acquire", &take("e", 1)).await;
    assert!(answer.problem(500, "urn:onewindow:problem:corrupt-item").contains("b_session_cp"));
    server.stop().await;
}

#[tokio::test]
async fn contention_is_not_exhaustion() {
    let database = database().await;
    let mut config = database.client_config();
    config.interpose =
        Some(Fates::of("UpdateItem", vec![refusal("TransactionConflictException", "busy"); 10_000]));
    let options = LimiterOptions { deadline: Duration::from_millis(100), ..options() };
    let server = Server::start(Engine::native(), config, options).await;
    let answer = server.post("/acquire", &take("e", 1)).await;
    answer.problem(429, QUOTA_EXCEEDED);
    assert_eq!((&answer.body["contended"], &answer.body["retry_after_ms"]), (&json!(true), &json!(100)));
    assert_eq!(answer.header("retry-after"), "1");
    server.stop().await;
}

#[tokio::test]
async fn the_policy_decides_where_the_table_is_away_and_only_there() {
    let gone = Embedded::in_memory().await.unwrap();
    let away = gone.client_config();
    gone.stop().await.unwrap();
    let database = database().await;
    for engine in engines() {
        for on_unavailable in [OnUnavailable::Allow, OnUnavailable::Block] {
            let options =
                LimiterOptions { on_unavailable, deadline: Duration::from_millis(200), ..options() };
            let server = Server::start(engine.clone(), away.clone(), options.clone()).await;
            let answer = server.post("/acquire", &take("e", 1)).await;
            match on_unavailable {
                OnUnavailable::Block => drop(answer.problem(503, REDUCED_CAPACITY)),
                OnUnavailable::Allow => {
                    assert_eq!(answer.status, 200, "{answer:?}");
                    assert_eq!(
                        (&answer.body["degraded"], &answer.body["admitted"]),
                        (&json!(true), &json!(false))
                    );
                    assert_eq!(answer.body.get("lease"), None);
                }
            }
            server.get("/preview?entity=e&resource=gpt-4").await.problem(503, REDUCED_CAPACITY);
            assert_eq!(
                server.get("/healthz").await.body,
                json!({ "status": "ok" }),
                "the table is not asked"
            );
            server.stop().await;

            let missing = |service: &mut Service| service.table = "missing".into();
            let server = Server::with(engine.clone(), database.client_config(), options, missing).await;
            let answer = server.post("/acquire", &take("e", 1)).await;
            assert!(
                answer
                    .problem(500, "urn:onewindow:problem:misconfigured")
                    .contains("ResourceNotFoundException"),
                "{answer:?}"
            );
            server.stop().await;
        }
    }
}

#[tokio::test]
async fn one_setting_chooses_the_parameters_of_the_field() {
    let database = database().await;
    let available = |service: &mut Service| service.field_form = FieldForm::Available;
    let server = Server::with(Engine::native(), database.client_config(), options(), available).await;
    let answer = server.post("/acquire", &take("e", 1)).await;
    assert_eq!(answer.header("ratelimit"), "\"session\";a=2;w=3600");
    server.stop().await;
}
