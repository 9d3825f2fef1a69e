//! Stored items, replies and requests in a few words, and calls read back as a person would.

use std::{collections::BTreeMap, fmt::Display};

use onewindow::{
    Acquire, AcquireRequest, Amount, Call, Decision, Limit, Outcome, Reply, Step, Subject,
    internals::{
        ConditionalWrite, Shard, decode_item,
        materialise::{Debit, Materialisation, Settings},
    },
};
use serde_json::{Value, json};

/// The clock reading of most tests.
pub(crate) const NOW: i64 = 1_800_000_000_000;
/// The length of the quota `q`, ms.
pub(crate) const LENGTH: i64 = 60_000;

/// The quota most tests are about: 100 tokens a minute.
pub(crate) fn quota() -> Limit {
    Limit::session("q", 100, 60)
}

/// A token bucket: 60 tokens, one a second.
pub(crate) fn drip() -> Limit {
    Limit::drip("d", 60, 60, 60)
}

pub(crate) fn subject() -> Subject {
    Subject::new("limits", "ns", "e", "r")
}

/// A request of `tokens` of `q`.
pub(crate) fn request(tokens: u64) -> AcquireRequest {
    AcquireRequest {
        subject: subject(),
        consume: vec![Amount::new("q", tokens)],
        limits: vec![quota()],
        ..AcquireRequest::default()
    }
}

/// Settings with a configuration that may be old.
pub(crate) fn settings(limits: &[Limit], now_ms: i64) -> Settings<'_> {
    Settings { limits, authoritative: false, permanent: false, parent: None, now_ms }
}

pub(crate) fn debit(limit: &str, tokens: u64, limits: &[Limit]) -> Debit {
    Debit::new(&Amount::new(limit, tokens), limits)
}

/// The item materialised, with the quota `q` alone configured.
pub(crate) fn materialised(item: &Item, now_ms: i64) -> Materialisation {
    Materialisation::of(&item.read(), &settings(&[quota()], now_ms)).expect("a sound item")
}

// ---- items ----

/// A stored item, as the table spells it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Item(BTreeMap<String, Value>);

impl Item {
    /// An item of `subject()` that holds no limit but `wcu`.
    pub(crate) fn bare(shard: u32) -> Self {
        Self::default()
            .text("PK", &subject().bucket_pk(shard))
            .text("SK", "#STATE")
            .text("entity_id", "e")
            .text("resource", "r")
            .num("rf", NOW - 1000)
            .num("shard_count", 1)
            .limit("wcu", 1_000_000, 1_000_000, 1_000_000, 1000)
    }

    /// A shard of `count` that holds `tokens` (milli) of `q`, in a window that started at `start`.
    pub(crate) fn shard(shard: u32, count: u32, tokens: i64, start: i64) -> Self {
        Self::bare(shard)
            .num("shard_count", count)
            .num("vu", start + LENGTH)
            .limit("q", tokens, 100_000, 0, 1000)
            .num("b_q_rsa", 60)
            .num("b_q_ws", start)
            .num("b_q_wa", start)
            .num("b_q_gc", count)
    }

    /// The only shard, in a window that started ten seconds ago.
    pub(crate) fn live(tokens: i64) -> Self {
        Self::shard(0, 1, tokens, NOW - 10_000)
    }

    /// A limit's five plain attributes; nothing consumed.
    pub(crate) fn limit(self, name: &str, tk: i64, cp: i64, ra: i64, rp: i64) -> Self {
        [("tk", tk), ("cp", cp), ("ra", ra), ("rp", rp), ("tc", 0)]
            .into_iter()
            .fold(self, |item, (field, value)| item.num(&format!("b_{name}_{field}"), value))
    }

    /// The token bucket `d`.
    pub(crate) fn with_drip(self, tokens: i64) -> Self {
        self.limit("d", tokens, 60_000, 60_000, 60_000)
    }

    pub(crate) fn num(self, name: &str, value: impl Display) -> Self {
        self.raw(name, json!({"N": value.to_string()}))
    }

    pub(crate) fn text(self, name: &str, value: &str) -> Self {
        self.raw(name, json!({"S": value}))
    }

    pub(crate) fn flag(self, name: &str) -> Self {
        self.raw(name, json!({"BOOL": true}))
    }

    pub(crate) fn raw(mut self, name: &str, value: Value) -> Self {
        self.0.insert(name.into(), value);
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.0.remove(name).unwrap_or_else(|| panic!("no {name} to leave out"));
        self
    }

    pub(crate) fn json(&self) -> Value {
        json!(self.0)
    }

    pub(crate) fn read(&self) -> Shard {
        decode_item(&self.json().to_string()).expect("a sound item")
    }
}

// ---- replies ----

pub(crate) fn http(status: u16, body: &Value) -> Reply {
    Reply::Http { status, body: body.to_string() }
}

/// An error of the table's own.
pub(crate) fn error(name: &str) -> Reply {
    http(400, &json!({"__type": format!("com.amazonaws.dynamodb.v20120810#{name}"), "message": "says so"}))
}

/// A single write landed, and this is the item now.
pub(crate) fn landed(item: &Item) -> Reply {
    http(200, &json!({"Attributes": item.json()}))
}

/// A transaction landed.
pub(crate) fn committed() -> Reply {
    http(200, &json!({}))
}

/// A condition failed, and this is the item; none: there is none.
pub(crate) fn refused(item: Option<&Item>) -> Reply {
    let mut body = json!({"__type": "ConditionalCheckFailedException", "message": "no"});
    if let Some(item) = item {
        body["Item"] = item.json();
    }
    http(400, &body)
}

/// A batch read found these.
pub(crate) fn found(items: &[Item]) -> Reply {
    let items: Vec<Value> = items.iter().map(Item::json).collect();
    http(200, &json!({"Responses": {"limits": items}, "UnprocessedKeys": {}}))
}

/// A batch read found these, and left something unread.
pub(crate) fn found_some(items: &[Item]) -> Reply {
    let items: Vec<Value> = items.iter().map(Item::json).collect();
    let left = json!({"limits": {"Keys": [{"PK": {"S": "x"}, "SK": {"S": "#STATE"}}]}});
    http(200, &json!({"Responses": {"limits": items}, "UnprocessedKeys": left}))
}

/// A transaction was cancelled, for these reasons.
pub(crate) fn cancelled(reasons: &[(&str, Option<&Item>)]) -> Reply {
    let reason = |(code, item): &(&str, Option<&Item>)| match item {
        Some(item) => json!({"Code": code, "Message": "no", "Item": item.json()}),
        None => json!({"Code": code}),
    };
    let reasons: Vec<Value> = reasons.iter().map(reason).collect();
    http(400, &json!({"__type": "TransactionCanceledException", "CancellationReasons": reasons}))
}

// ---- machines ----

/// The one call of a step.
#[track_caller]
pub(crate) fn only(step: Step) -> Call {
    match step {
        Step::Perform(mut calls) if calls.len() == 1 => calls.remove(0),
        other => panic!("expected one call, got {other:?}"),
    }
}

#[track_caller]
pub(crate) fn done(step: Step) -> Decision {
    match step {
        Step::Done(decision) => decision,
        Step::Perform(calls) => panic!("expected a decision, got {calls:?}"),
    }
}

/// A machine that is past its first step.
#[track_caller]
pub(crate) fn started(request: AcquireRequest) -> (Acquire, Call) {
    let mut machine = Acquire::new(request);
    let call = only(machine.advance(NOW as u64, &[]));
    (machine, call)
}

/// The next step, after one reply at [`NOW`].
pub(crate) fn next(machine: &mut Acquire, reply: Reply) -> Step {
    machine.advance(NOW as u64, &[reply])
}

/// The step after a first fast write that was refused with `item`.
#[track_caller]
pub(crate) fn after_refusal(request: AcquireRequest, item: Option<&Item>) -> (Acquire, Step) {
    let (mut machine, call) = started(request);
    assert_eq!(call.operation, "UpdateItem", "{}", call.body);
    let step = next(&mut machine, refused(item));
    (machine, step)
}

/// The outcome of a request after a script of replies; every step before makes one call.
#[track_caller]
pub(crate) fn played(request: AcquireRequest, replies: Vec<Reply>) -> Decision {
    let (mut machine, _) = started(request);
    let last = replies.len() - 1;
    for (index, reply) in replies.into_iter().enumerate() {
        let step = next(&mut machine, reply);
        if index == last {
            return done(step);
        }
        only(step);
    }
    unreachable!("a script has an end")
}

/// A seed that draws `shard` of `count`.
pub(crate) fn seed_for(shard: u32, count: u32) -> u64 {
    let draws = |seed: &u64| {
        let mut probe = Acquire::new(AcquireRequest { seed: *seed, ..hinted(1, count) });
        sent(&only(probe.advance(NOW as u64, &[])))[0].pk == subject().bucket_pk(shard)
    };
    (0..10_000).find(draws).expect("every shard is drawn by some seed")
}

/// A request of `tokens` of `q` whose host remembers `count` shards.
pub(crate) fn hinted(tokens: u64, count: u32) -> AcquireRequest {
    let hint = onewindow::Hint { key: subject().hint_key(), shard_count: count, rejections: Vec::new() };
    AcquireRequest { hint: Some(hint), ..request(tokens) }
}

/// The same, drawing `shard`.
pub(crate) fn drawn(tokens: u64, shard: u32, count: u32) -> AcquireRequest {
    AcquireRequest { seed: seed_for(shard, count), ..hinted(tokens, count) }
}

#[track_caller]
pub(crate) fn retry_after(decision: &Decision) -> u64 {
    match decision.outcome {
        Outcome::Rejected { retry_after_ms } => retry_after_ms,
        ref other => panic!("expected a rejection, got {other:?}"),
    }
}

// ---- calls, read back ----

/// One write of a call, its aliases replaced by what they stand for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sent {
    /// `Put`, `Update` or `ConditionCheck`.
    pub(crate) kind: String,
    pub(crate) pk: String,
    /// The clauses of the condition.
    pub(crate) conditions: Vec<String>,
    /// `SET x = 1`, `ADD x 1`, `REMOVE x`.
    pub(crate) changes: Vec<String>,
    /// A put's attributes, as `x = 1`.
    pub(crate) item: Vec<String>,
}

impl Sent {
    #[track_caller]
    pub(crate) fn assert_condition(&self, wanted: &str) {
        assert!(self.conditions.iter().any(|it| it == wanted), "no {wanted:?} in {:#?}", self.conditions);
    }

    #[track_caller]
    pub(crate) fn assert_no_condition_on(&self, part: &str) {
        assert!(!self.conditions.iter().any(|it| it.contains(part)), "{part:?} in {:#?}", self.conditions);
    }

    #[track_caller]
    pub(crate) fn assert_change(&self, wanted: &str) {
        assert!(self.changes.iter().any(|it| it == wanted), "no {wanted:?} in {:#?}", self.changes);
    }

    #[track_caller]
    pub(crate) fn assert_no_change_of(&self, part: &str) {
        assert!(!self.changes.iter().any(|it| it.contains(part)), "{part:?} in {:#?}", self.changes);
    }

    #[track_caller]
    pub(crate) fn assert_stores(&self, wanted: &str) {
        assert!(self.item.iter().any(|it| it == wanted), "no {wanted:?} in {:#?}", self.item);
    }
}

/// The writes of a call.
pub(crate) fn sent(call: &Call) -> Vec<Sent> {
    let body: Value = serde_json::from_str(&call.body).expect("a body in JSON");
    match call.operation {
        "TransactWriteItems" => body["TransactItems"]
            .as_array()
            .expect("a list of writes")
            .iter()
            .map(|write| {
                let (kind, write) = write.as_object().and_then(|it| it.iter().next()).expect("a write");
                spelled_out(kind, write)
            })
            .collect(),
        "UpdateItem" => vec![spelled_out("Update", &body)],
        "PutItem" => vec![spelled_out("Put", &body)],
        other => panic!("{other} writes nothing"),
    }
}

/// The one write of a pure function, spelled by the encoder.
pub(crate) fn spelled(write: &ConditionalWrite) -> Sent {
    let call = onewindow::internals::encode("limits", std::slice::from_ref(write)).expect("one write");
    sent(&call).remove(0)
}

/// The partition keys a batch read asks for, and whether it is strongly consistent.
pub(crate) fn asked(call: &Call) -> (Vec<String>, bool) {
    assert_eq!(call.operation, "BatchGetItem");
    let body: Value = serde_json::from_str(&call.body).expect("a body in JSON");
    let table = &body["RequestItems"]["limits"];
    let key = |key: &Value| key["PK"]["S"].as_str().expect("a key").to_owned();
    let keys = table["Keys"].as_array().expect("keys").iter().map(key).collect();
    (keys, table["ConsistentRead"] == true)
}

fn spelled_out(kind: &str, write: &Value) -> Sent {
    let resolved = |text: &str| {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['#', ':']) {
            out.push_str(&rest[..at]);
            let end =
                rest[at + 1..].find(|c: char| !c.is_ascii_alphanumeric()).map_or(rest.len(), |n| at + 1 + n);
            let alias = &rest[at..end];
            let stands_for = match &write["ExpressionAttributeNames"][alias] {
                Value::String(name) => name.clone(),
                _ => plain(&write["ExpressionAttributeValues"][alias]),
            };
            out.push_str(&stands_for);
            rest = &rest[end..];
        }
        out + rest
    };
    let conditions = write["ConditionExpression"].as_str().unwrap_or_default();
    let conditions = conditions.split(" AND ").filter(|it| !it.is_empty()).map(resolved).collect();
    let update = write["UpdateExpression"].as_str().unwrap_or_default();
    let changes = changes(update).iter().map(|it| resolved(it)).collect();
    let stored = write["Item"].as_object().into_iter().flatten();
    Sent {
        kind: kind.into(),
        pk: plain(&write["Key"]["PK"]) + &plain(&write["Item"]["PK"]),
        conditions,
        changes,
        item: stored.map(|(name, value)| format!("{name} = {}", plain(value))).collect(),
    }
}

/// The changes of an update expression, each with its keyword. Every one begins with a name.
fn changes(update: &str) -> Vec<String> {
    let sections = update.replace(" ADD ", "\nADD ").replace(" REMOVE ", "\nREMOVE ");
    let of = |section: &str| {
        let (keyword, list) = section.split_once(' ').expect("a keyword and its list");
        let list = list.strip_prefix('#').expect("a name");
        list.split(", #").map(|part| format!("{keyword} #{part}")).collect::<Vec<_>>()
    };
    sections.lines().flat_map(of).collect()
}

fn plain(value: &Value) -> String {
    match value.as_object().and_then(|tagged| tagged.values().next()) {
        Some(_) if value.get("NULL").is_some() => "NULL".into(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}
