//! Plays a recording again with our limiter, and keeps what comes out otherwise.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use futures::future::{BoxFuture, FutureExt};
use onewindow::{
    AcquireRequest, Amount, LimitStatus, Outcome, PreviewOutcome, Reply, Settlement, Subject,
    internals::{decode_item, encode, refill},
};
use onewindow_host::{Answer, Client, Clock, Cost, Engine, Lease, Limiter, LimiterOptions, limiter::Settled};
use serde_json::{Map, Value as Json, json};

use super::{
    gate::Gate,
    recording::{Event, Kind, Recording, limits, text},
};
use crate::{
    common::{self, START_MS, TABLE},
    kit::{self, World},
};

const NAMESPACE: &str = "nsfixed0001";

/// A bucket's items, by partition key.
type Items = BTreeMap<String, Map<String, Json>>;

/// One scenario on a table of its own.
///
/// The recorder set its first state up before it recorded: [`Play::sharded`] does the same with our
/// limiter, so the dumps that follow compare that too. After each dump the peer's items take the
/// place of ours, so that a difference is reported once.
pub(crate) struct Play {
    world: World,
    limits: Vec<onewindow::Limit>,
    events: Arc<[Event]>,
    position: usize,
    clients: HashMap<String, Host>,
    /// Whose clock runs how far ahead, ms.
    skews: HashMap<&'static str, i64>,
    /// Who repeats rejections without asking.
    remembering: Option<&'static str>,
    /// Whose limits are configured for them alone.
    permanent: Option<&'static str>,
    /// Where the outer one of two calls is held while the inner one is played.
    held: Option<(&'static str, usize)>,
    /// A lease from before the recording.
    old_lease: Option<Taken>,
    differences: Vec<String>,
}

/// One of the recorded clients.
#[derive(Clone)]
struct Host {
    limiter: Limiter,
    clock: Clock,
    gate: Arc<Gate>,
    lease: Option<Taken>,
}

/// A lease, what was asked for and in which step.
#[derive(Clone)]
struct Taken {
    step: String,
    lease: String,
    tokens: BTreeMap<String, u64>,
}

impl Play {
    pub(crate) async fn new(engine: Engine, name: &str) -> Self {
        let recording = Recording::read(name);
        let mut world = World::new(engine, 100).await;
        world.subject = Subject::new(TABLE, NAMESPACE, "user-1", "gpt-4");
        world.limits = recording.limits.clone();
        Self {
            world,
            limits: recording.limits,
            events: recording.events.into(),
            position: 0,
            clients: HashMap::new(),
            skews: HashMap::new(),
            remembering: None,
            permanent: None,
            held: None,
            old_lease: None,
            differences: Vec::new(),
        }
    }

    // ---- what the recording describes in words only ----

    pub(crate) fn skew(&mut self, client: &'static str, ahead_ms: i64) {
        self.skews.insert(client, ahead_ms);
    }

    pub(crate) fn remembering(&mut self, client: &'static str) {
        self.remembering = Some(client);
    }

    pub(crate) fn permanent(&mut self, entity: &'static str) {
        self.permanent = Some(entity);
    }

    /// Of two calls at once, the outer one's calls of `operation` wait for the inner one, but for
    /// the first `pass` of them.
    pub(crate) fn hold(&mut self, operation: &'static str, materialisation: usize) {
        self.held = Some((operation, materialisation));
    }

    /// The recorder's first state: one shard at the start, then `count` of them, made one by one
    /// 10 ms apart by a use of one token of each limit.
    pub(crate) async fn sharded(&mut self, count: u32) {
        self.create(count).await;
        for shard in 1..count {
            self.take(u64::from(shard) * 10, shard, 1, 1).await;
        }
    }

    /// Shard 0 alone, which knows of `count`.
    pub(crate) async fn create(&mut self, count: u32) {
        self.take(0, 0, 1, 1).await;
        self.count_is(0, count).await;
    }

    pub(crate) async fn count_is(&mut self, shard: u32, count: u32) {
        self.world.amend(shard, json!({ "shard_count": { "N": count.to_string() } })).await;
    }

    /// A use that is not in the recording.
    pub(crate) async fn take(&mut self, after_ms: u64, shard: u32, session: u64, rpm: u64) {
        let tokens = BTreeMap::from([("session".to_owned(), session), ("rpm".to_owned(), rpm)]);
        let mut host = self.host("A", START_MS + after_ms);
        let request = self.request("user-1", &tokens, self.limits.clone());
        let count = self.shard_count("user-1").await;
        let answer = host.acquire(self.world.drawing(request, shard, count), tokens, "").await;
        assert!(answer.is_allowed(), "{answer:?}");
        self.old_lease = host.lease;
    }

    /// Fast writes that are not in the recording; one of nothing takes its write unit.
    pub(crate) async fn spend(&mut self, shard: u32, writes: u64, session: u64, rpm: u64) {
        let mut item = self.world.item(shard).await.expect("an item to spend of");
        for (limit, tokens) in [("session", session), ("rpm", rpm), ("wcu", writes)] {
            let mut add = |field: &str, milli: i128| {
                let name = format!("b_{limit}_{field}");
                let sum = kit::number(&item, &name).expect("a balance") + milli;
                item.insert(name, json!({ "N": sum.to_string() }));
            };
            add("tk", -1000 * i128::from(tokens));
            add("tc", 1000 * i128::from(tokens));
        }
        self.world.put(Json::Object(item)).await;
    }

    pub(crate) async fn delete(&mut self, shard: u32) {
        self.world.delete(shard).await;
    }

    /// The entity's own record.
    pub(crate) async fn entity_record(&mut self, entity: &str, attributes: Json) {
        let mut item =
            json!({ "PK": { "S": format!("{NAMESPACE}/ENTITY#{entity}") }, "SK": { "S": "#META" } });
        item.as_object_mut().unwrap().extend(attributes.as_object().unwrap().clone());
        self.world.put(item).await;
    }

    /// Client A uses more than it said, or less.
    pub(crate) async fn adjust(&mut self, limit: &str, by: i64) {
        let taken = self.clients["A"].lease.clone().expect("a lease");
        let settled = self.settle(&taken, "A", &[(limit, by)]).await;
        assert_eq!(settled.settlement, Settlement::Settled);
    }

    /// Client A gives its last lease back.
    pub(crate) async fn give_back(&mut self) -> Settlement {
        let taken = self.clients["A"].lease.clone().expect("a lease");
        self.roll_back(&taken, "A").await.settlement
    }

    /// The items of a dump that is still to come.
    pub(crate) async fn adopt(&mut self, step: &str) {
        let events = self.events.clone();
        let dump = events.iter().find_map(|event| match &event.kind {
            Kind::Table(items) if event.step == step => Some(items),
            _ => None,
        });
        for item in dump.expect("a dump") {
            self.world.put(item.clone()).await;
        }
    }

    pub(crate) async fn amend(&mut self, shard: u32, attributes: Json) {
        self.world.amend(shard, attributes).await;
    }

    pub(crate) async fn has(&self, shard: u32) -> bool {
        self.world.item(shard).await.is_some()
    }

    // ---- the recording ----

    /// Plays what comes before a step.
    pub(crate) async fn until(&mut self, step: &str) {
        let found = self.events.iter().position(|event| event.step == step);
        self.run(found.unwrap_or_else(|| panic!("no step {step}"))).await;
    }

    /// Plays what comes before the first dump of a step.
    pub(crate) async fn until_dump(&mut self, step: &str) {
        let is_dump = |event: &Event| event.step == step && matches!(event.kind, Kind::Table(_));
        let found = self.events.iter().position(is_dump);
        self.run(found.unwrap_or_else(|| panic!("no dump in step {step}"))).await;
    }

    pub(crate) async fn until_end(&mut self) {
        self.run(self.events.len()).await;
    }

    /// Plays the rest. Everything was as recorded.
    pub(crate) async fn matches(&mut self) {
        self.differs(&[]).await;
    }

    /// Plays the rest. Exactly these differences came up, by the rule that they follow from.
    pub(crate) async fn differs(&mut self, listed: &[(&str, &[&str])]) {
        self.until_end().await;
        let mut listed: Vec<&str> =
            listed.iter().flat_map(|(_, differences)| *differences).copied().collect();
        listed.sort_unstable();
        self.differences.sort_unstable();
        assert_eq!(self.differences, listed, "found:\n{}", self.differences.join("\n"));
    }

    fn run(&mut self, end: usize) -> BoxFuture<'_, ()> {
        async move {
            while self.position < end {
                let (events, at) = (self.events.clone(), self.position);
                self.position += 1;
                let event = &events[at];
                match &event.kind {
                    Kind::Call(call) => self.call(&events, at, call).await,
                    Kind::Edit(edit) => self.edit(edit).await,
                    Kind::Record(record) => self.record(&events, at, record).await,
                    Kind::Table(items) => self.compare_items(&event.step, items).await,
                    Kind::Request { .. } | Kind::Result(_) | Kind::Remark => {}
                }
            }
        }
        .boxed()
    }

    async fn call(&mut self, events: &[Event], at: usize, call: &Json) {
        let step = &events[at].step;
        match text(&call["api"]) {
            "acquire" => self.acquire(events, at, call).await,
            "check_availability" => self.preview(events, at, "user-1").await,
            "check unknown" => self.preview(events, at, "nobody").await,
            correction => {
                let lease = || self.clients["A"].lease.clone();
                let session = call["session"].as_i64().unwrap_or(0);
                let (taken, by) = match correction {
                    "adjust" | "consume" => (lease(), vec![("session", session)]),
                    "release" => (lease(), vec![("session", -session)]),
                    "lease.adjust" => (self.old_lease.clone(), vec![("session", session)]),
                    "raise" => (lease(), vec![]),
                    "exception inside lease -> rollback" => (self.old_lease.clone(), vec![]),
                    // An operator's doing, on the peer's side.
                    "bump_shard_count x2" => return,
                    other => panic!("{other}: what is it?"),
                };
                let taken = taken.expect("a lease to correct");
                self.host("A", events[at].clock_ms);
                let settled = if by.is_empty() {
                    self.roll_back(&taken, "A").await
                } else {
                    self.settle(&taken, "A", &by).await
                };
                let theirs = events[at + 1..]
                    .iter()
                    .take_while(|event| matches!(event.kind, Kind::Request { .. }))
                    .count();
                self.compare_requests(step, settled.cost.requests as usize, theirs);
            }
        }
    }

    async fn acquire(&mut self, events: &[Event], at: usize, call: &Json) {
        let (step, clock_ms) = (&events[at].step, events[at].clock_ms);
        let end = result_of(events, at);
        let inner = (at + 1..end).find(|index| matches!(events[*index].kind, Kind::Call(_)));
        let requests = |event: &Event| match &event.kind {
            Kind::Request { client, reads_configuration } => Some((client.clone(), *reads_configuration)),
            _ => None,
        };
        // A client that had no need of the table is the one that asked before.
        let client = events[at + 1..end].iter().find_map(requests);
        let client =
            client.or_else(|| events[..at].iter().rev().find_map(requests)).expect("somebody who asked").0;

        let tokens: BTreeMap<String, u64> =
            serde_json::from_value(call["consume"].clone()).expect("amounts by limit");
        let entity = text(&call["entity_id"]);
        let limits = limits(&call["limits"]).unwrap_or_else(|| self.limits.clone());
        let mut request = self.request(entity, &tokens, limits);
        if let Some(shard) = call["forced_shard_draw"].as_u64() {
            let count = self.shard_count(entity).await;
            request = self.world.drawing(request, u32::try_from(shard).unwrap(), count);
        }

        let mut host = self.host(&client, clock_ms);
        let answer = match inner {
            None => host.acquire(request, tokens, step).await,
            Some(inner) => {
                let (operation, materialisation) = self.held.expect("a place to hold the outer call at");
                host.gate.close(operation, materialisation);
                let gate = host.gate.clone();
                let other = async {
                    gate.reached().await;
                    self.position = inner;
                    self.run(result_of(events, inner) + 1).await;
                    gate.open();
                };
                tokio::join!(host.acquire(request, tokens, step), other).0
            }
        };
        self.clients.insert(client.clone(), host);
        self.position = end + 1;

        let theirs = events[at..end].iter().filter_map(requests);
        let theirs = theirs.filter(|(other, configuration)| *other == client && !configuration).count();
        let Kind::Result(result) = &events[end].kind else { unreachable!("it is a result") };
        self.compare_answer(step, &answer, result);
        self.compare_requests(step, answer.cost.requests as usize + answer.follow_ups, theirs);
    }

    async fn preview(&mut self, events: &[Event], at: usize, entity: &str) {
        let host = self.host("A", events[at].clock_ms);
        let subject = Subject::new(TABLE, NAMESPACE, entity, "gpt-4");
        let previewed = host.limiter.preview(subject, self.limits.clone()).await;
        let PreviewOutcome::Report(report) = previewed.outcome else { panic!("{:?}", previewed.outcome) };
        let ours: Vec<LimitStatus> = report.limits.into_iter().map(|limit| limit.status).collect();
        let end = result_of(events, at);
        let Kind::Result(result) = &events[end].kind else { unreachable!("it is a result") };
        self.compare_statuses(&events[at].step, &ours, result);
        let theirs = events[at..end].iter();
        let theirs =
            theirs.filter(|event| matches!(event.kind, Kind::Request { reads_configuration: false, .. }));
        self.compare_requests(&events[at].step, previewed.cost.requests as usize, theirs.count());
    }

    async fn edit(&mut self, edit: &Json) {
        let shard = u32::try_from(edit["shard"].as_u64().expect("a shard")).unwrap();
        let mut body = json!({
            "TableName": TABLE,
            "Key": { "PK": { "S": self.world.subject.bucket_pk(shard) }, "SK": { "S": "#STATE" } },
            "UpdateExpression": edit["expression"],
        });
        for (from, to) in [("names", "ExpressionAttributeNames"), ("values", "ExpressionAttributeValues")] {
            if edit[from].is_object() {
                body[to] = edit[from].clone();
            }
        }
        self.world.call("UpdateItem", body).await;
    }

    /// What the aggregator is handed: ours answers with a write, or with none.
    async fn record(&mut self, events: &[Event], at: usize, record: &Json) {
        let image = |name: &str| decode_item(&record[name].to_string()).expect("a sound image");
        let now_ms = i64::try_from(record["aggregator_now_ms"].as_u64().unwrap()).unwrap();
        let write = refill::write(Some(&image("old")), &image("new"), now_ms).expect("nothing is amiss");
        let calls: Vec<_> =
            write.iter().map(|write| encode(TABLE, std::slice::from_ref(write)).unwrap()).collect();
        let deadline = std::time::Instant::now() + Duration::from_secs(30);
        let replies = self.world.raw.perform(&calls, deadline, &mut Cost::default()).await;
        let wrote = replies.iter().any(|reply| matches!(reply, Reply::Http { status: 200, .. }));
        let end = result_of(events, at);
        let Kind::Result(result) = &events[end].kind else { unreachable!("it is a result") };
        if result["wrote"] != wrote {
            self.differ(&events[at].step, format!("wrote {wrote}, theirs {}", result["wrote"]));
        }
        self.compare_requests(&events[at].step, calls.len(), end - at - 1);
    }

    // ---- our side ----

    fn request(
        &self,
        entity: &str,
        tokens: &BTreeMap<String, u64>,
        limits: Vec<onewindow::Limit>,
    ) -> AcquireRequest {
        AcquireRequest {
            subject: Subject::new(TABLE, NAMESPACE, entity, "gpt-4"),
            consume: tokens.iter().map(|(limit, tokens)| Amount::new(limit, *tokens)).collect(),
            limits,
            permanent: self.permanent == Some(entity),
            ..AcquireRequest::default()
        }
    }

    /// One of the clients, at the time its own clock shows.
    fn host(&mut self, client: &str, clock_ms: u64) -> Host {
        if !self.clients.contains_key(client) {
            let clock = Clock::at(clock_ms);
            let gate = Arc::new(Gate::default());
            let mut config = self.world.database.client_config();
            config.interpose = Some(gate.clone());
            let repeat_rejections_for =
                if self.remembering == Some(client) { Duration::from_secs(1) } else { Duration::ZERO };
            let options = LimiterOptions { clock: clock.clone(), repeat_rejections_for, ..common::options() };
            let sender = Client::new(config).expect("a client");
            let limiter = Limiter::new(self.world.engine.clone(), sender, options);
            self.clients.insert(client.to_owned(), Host { limiter, clock, gate, lease: None });
        }
        let host = self.clients[client].clone();
        let skew_ms = self.skews.get(client).copied().unwrap_or(0);
        host.clock.set_ms(clock_ms.checked_add_signed(skew_ms).expect("a time"));
        host
    }

    async fn roll_back(&mut self, taken: &Taken, client: &str) -> Settled {
        let back: Vec<_> =
            taken.tokens.iter().map(|(limit, tokens)| (limit.as_str(), -tokens.cast_signed())).collect();
        self.settle(taken, client, &back).await
    }

    async fn settle(&mut self, taken: &Taken, client: &str, by: &[(&str, i64)]) -> Settled {
        let actual = by.iter().map(|(limit, by)| {
            let tokens = taken.tokens[*limit].checked_add_signed(*by).expect("no less than nothing");
            Amount::new(limit, tokens)
        });
        let limiter = &self.clients[client].limiter;
        let settled = limiter.settle(TABLE, &taken.lease, actual.collect()).await;
        assert!(
            matches!(settled.settlement, Settlement::Settled | Settlement::WindowOver | Settlement::ItemGone),
            "{settled:?}"
        );
        settled
    }

    /// How many shards the peer's client knew of.
    async fn shard_count(&self, entity: &str) -> u32 {
        let prefix = format!("{NAMESPACE}/BUCKET#{entity}#");
        let items = self.items().await;
        let items = items.iter().filter(|(pk, _)| pk.starts_with(&prefix));
        let counts = items.filter_map(|(_, item)| kit::number(item, "shard_count"));
        u32::try_from(counts.max().unwrap_or(1)).expect("a count")
    }

    async fn items(&self) -> Items {
        let body = json!({
            "TableName": TABLE,
            "ConsistentRead": true,
            "FilterExpression": "SK = :state",
            "ExpressionAttributeValues": { ":state": { "S": "#STATE" } },
        });
        by_key(self.world.call("Scan", body).await["Items"].as_array().expect("items"))
    }

    // ---- ours beside theirs ----

    fn differ(&mut self, step: &str, what: String) {
        self.differences.push(format!("{step}: {what}"));
    }

    fn compare_requests(&mut self, step: &str, ours: usize, theirs: usize) {
        if ours > theirs {
            self.differ(step, format!("{ours} requests, theirs {theirs}"));
        }
    }

    fn compare_answer(&mut self, step: &str, answer: &Answer, result: &Json) {
        let ours = match &answer.decision.outcome {
            Outcome::Admitted(_) => "admitted".to_owned(),
            Outcome::Rejected { retry_after_ms } => format!("rejected for {retry_after_ms} ms"),
            Outcome::NeverFits { limit } => format!("{limit} never fits"),
            Outcome::Failed(error) => format!("failed: {}", error.message),
            other => panic!("{other:?}"),
        };
        let theirs = match text(&result["outcome"]) {
            "RateLimitExceeded" => {
                assert_eq!(result["contended"], false);
                let seconds = result["retry_after_seconds"].as_f64().unwrap();
                format!("rejected for {} ms", (seconds * 1000.0).round())
            }
            outcome => outcome.to_owned(),
        };
        if ours != theirs {
            self.differ(step, format!("{ours}, theirs {theirs}"));
        }
        if ours.starts_with("rejected") && theirs.starts_with("rejected") {
            self.compare_statuses(step, &answer.decision.limits, result);
        }
    }

    fn compare_statuses(&mut self, step: &str, ours: &[LimitStatus], result: &Json) {
        for theirs in result["statuses"].as_array().expect("statuses") {
            let name = text(&theirs["limit_name"]);
            let ours = ours.iter().find(|status| status.name == name);
            let Some(ours) = ours else {
                self.differ(step, format!("{name} is not told of"));
                continue;
            };
            let resets_at_ms = theirs["resets_at_ms"].as_i64().map(i128::from);
            for (what, ours, theirs) in [
                ("available", Some(ours.available.into()), theirs["available"].as_i64().map(i128::from)),
                ("capacity", Some(ours.capacity.into()), theirs["limit_capacity"].as_i64().map(i128::from)),
                ("resets at", ours.resets_at_ms.map(i128::from), resets_at_ms),
            ] {
                if ours != theirs {
                    let shown = |number: Option<i128>| number.map_or("none".into(), relative);
                    self.differ(step, format!("{name} {what} {}, theirs {}", shown(ours), shown(theirs)));
                }
            }
        }
    }

    /// Compares every item, then takes theirs.
    async fn compare_items(&mut self, step: &str, dump: &[Json]) {
        let (ours, theirs) = (self.items().await, by_key(dump));
        let (none, both) =
            (Map::new(), |a: BTreeSet<String>, b: BTreeSet<String>| a.union(&b).cloned().collect());
        let keys: BTreeSet<String> = both(ours.keys().cloned().collect(), theirs.keys().cloned().collect());
        for pk in keys {
            let shard = pk.trim_start_matches(NAMESPACE).trim_start_matches("/BUCKET#").to_owned();
            let shard = match shard.strip_prefix("user-1#gpt-4#") {
                Some(shard) => format!("shard {shard}"),
                None => shard,
            };
            if ours.contains_key(&pk) != theirs.contains_key(&pk) {
                let who = if ours.contains_key(&pk) { "ours" } else { "theirs" };
                self.differ(step, format!("{shard} is {who} alone"));
                continue;
            }
            let (ours, theirs) = (ours.get(&pk).unwrap_or(&none), theirs.get(&pk).unwrap_or(&none));
            let names: BTreeSet<String> =
                both(ours.keys().cloned().collect(), theirs.keys().cloned().collect());
            for name in names {
                let (ours, theirs) = (shown(ours.get(&name)), shown(theirs.get(&name)));
                if ours != theirs {
                    self.differ(step, format!("{shard} {name} {ours}, theirs {theirs}"));
                }
            }
        }
        for (pk, item) in &ours {
            if !theirs.contains_key(pk) {
                let key = json!({ "PK": item["PK"], "SK": item["SK"] });
                self.world.call("DeleteItem", json!({ "TableName": TABLE, "Key": key })).await;
            }
        }
        for item in theirs.into_values() {
            self.world.put(Json::Object(item)).await;
        }
    }
}

impl Host {
    /// Takes tokens. What is corrected later is the first lease of a step.
    async fn acquire(
        &mut self,
        request: AcquireRequest,
        tokens: BTreeMap<String, u64>,
        step: &str,
    ) -> Answer {
        let answer = self.limiter.acquire(request).await;
        self.limiter.flush().await;
        if self.lease.as_ref().is_none_or(|taken| taken.step != step) {
            let taken = |lease: &Lease| Taken { step: step.to_owned(), lease: lease.encode(), tokens };
            self.lease = answer.lease().map(taken);
        }
        answer
    }
}

/// Where the result of the call, or of the record, at `at` is.
fn result_of(events: &[Event], at: usize) -> usize {
    let mut open = 1;
    for (index, event) in events.iter().enumerate().skip(at + 1) {
        match event.kind {
            Kind::Call(_) => open += 1,
            Kind::Result(_) => open -= 1,
            _ => {}
        }
        if open == 0 {
            return index;
        }
    }
    panic!("a call without a result");
}

fn by_key(items: &[Json]) -> Items {
    let item = |item: &Json| (text(&item["PK"]["S"]).to_owned(), item.as_object().expect("an item").clone());
    items.iter().map(item).collect()
}

fn shown(attribute: Option<&Json>) -> String {
    match attribute {
        None => "none".into(),
        Some(value) => match value["N"].as_str().map(str::parse) {
            Some(Ok(number)) => relative(number),
            _ => value.to_string(),
        },
    }
}

/// Instants as the time since the scenario's start.
fn relative(number: i128) -> String {
    let start_ms = i128::from(START_MS);
    let near = |start: i128, unit: &str| {
        let since = number - start;
        (since.abs() < start / 1000).then(|| format!("T+{since}{unit}"))
    };
    near(start_ms, "ms").or_else(|| near(start_ms / 1000, "s")).unwrap_or_else(|| number.to_string())
}
