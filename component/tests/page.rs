//! What the reset preview page came to in a browser, through the library: the same calls, the same
//! decisions, the same previews. `edge-examples/browser/test` writes the file and holds it still.

use std::collections::{BTreeMap, HashMap};

use onewindow::{
    Acquire, AcquireRequest, Amount, Call, Hint, Limit, LimitStatus, Outcome, Preview, PreviewOutcome,
    PreviewReport, Reply, Step, Subject, WindowState,
};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Line {
    about: String,
    subject: SubjectInput,
    now_ms: u64,
    items: Vec<Value>,
    report: Value,
    attempt: Option<Attempt>,
}

#[derive(Deserialize)]
struct SubjectInput {
    table: String,
    namespace: String,
    entity: String,
    resource: String,
}

#[derive(Deserialize)]
struct Attempt {
    now_ms: u64,
    seed: u64,
    hint: Option<HintInput>,
    consume: BTreeMap<String, u64>,
    limits: Vec<LimitInput>,
    rounds: Vec<Vec<CallInput>>,
    outcome: Value,
    statuses: Value,
    follow_ups: Vec<CallInput>,
}

#[derive(Deserialize)]
struct HintInput {
    key: String,
    shard_count: u32,
}

#[derive(Deserialize)]
struct LimitInput {
    name: String,
    capacity: u64,
    reset_after_seconds: Option<u64>,
    refill_amount: Option<u64>,
    refill_period_seconds: Option<u64>,
}

#[derive(Deserialize)]
struct CallInput {
    operation: String,
    body: String,
    reply: ReplyInput,
}

#[derive(Deserialize)]
struct ReplyInput {
    status: u16,
    body: String,
}

impl Line {
    fn subject(&self) -> Subject {
        let SubjectInput { table, namespace, entity, resource } = &self.subject;
        Subject::new(table, namespace, entity, resource)
    }

    /// What the library previews of the same items.
    fn previewed(&self) -> Value {
        let by_key: HashMap<&str, &Value> =
            self.items.iter().map(|item| (item["PK"]["S"].as_str().expect("a key"), item)).collect();
        let mut machine = Preview::new(self.subject(), Vec::new(), None);
        let mut replies = Vec::new();
        loop {
            match machine.advance(self.now_ms, &replies) {
                Step::Perform(calls) => {
                    replies = calls.iter().map(|call| read(call, &self.subject.table, &by_key)).collect();
                }
                Step::Done(PreviewOutcome::Report(report)) => return document(&report),
                Step::Done(other) => panic!("{}: {other:?}", self.about),
            }
        }
    }
}

/// A batch read, answered.
fn read(call: &Call, table: &str, by_key: &HashMap<&str, &Value>) -> Reply {
    assert_eq!(call.operation, "BatchGetItem");
    let asked: Value = serde_json::from_str(&call.body).expect("a body");
    let keys = asked["RequestItems"][table]["Keys"].as_array().expect("keys");
    let found: Vec<&Value> =
        keys.iter().filter_map(|key| by_key.get(key["PK"]["S"].as_str()?).copied()).collect();
    Reply::Http { status: 200, body: json!({"Responses": {table: found}, "UnprocessedKeys": {}}).to_string() }
}

fn document(report: &PreviewReport) -> Value {
    let limits = report.limits.iter().map(|limit| {
        let shards = limit.shards.iter().map(|view| {
            json!({
                "shard": view.shard,
                "state": match view.state {
                    WindowState::Absent => "absent",
                    WindowState::Unstarted => "unstarted",
                    WindowState::Live => "live",
                    WindowState::Pending => "pending",
                    WindowState::Ended => "ended",
                },
                "starts_at_ms": view.starts_at_ms,
                "ends_at_ms": view.ends_at_ms,
                "balance_milli": view.balance_milli,
                "counted_milli": view.counted_milli,
                "ceiling_milli": view.ceiling_milli,
            })
        });
        let mut document = status(&limit.status);
        document["shards"] = shards.collect();
        document
    });
    let limits: Value = limits.collect();
    json!({"shard_count": report.shard_count, "disabled": report.disabled, "limits": limits})
}

fn status(status: &LimitStatus) -> Value {
    json!({
        "name": status.name,
        "capacity": status.capacity,
        "available": status.available,
        "resets_at_ms": status.resets_at_ms,
    })
}

impl Attempt {
    fn request(&self, subject: Subject) -> AcquireRequest {
        let limit = |input: &LimitInput| match input.reset_after_seconds {
            Some(seconds) => Limit::session(&input.name, input.capacity, seconds),
            None => Limit::drip(
                &input.name,
                input.capacity,
                input.refill_amount.expect("a drip's amount"),
                input.refill_period_seconds.expect("a drip's period"),
            ),
        };
        AcquireRequest {
            consume: self.consume.iter().map(|(limit, tokens)| Amount::new(limit, *tokens)).collect(),
            limits: self.limits.iter().map(limit).collect(),
            hint: self.hint.as_ref().map(|HintInput { key, shard_count }| Hint {
                key: key.clone(),
                shard_count: *shard_count,
                rejections: Vec::new(),
            }),
            seed: self.seed,
            ..AcquireRequest { subject, ..AcquireRequest::default() }
        }
    }

    /// The library makes the same calls, and the same decision.
    fn replay(&self, subject: Subject, about: &str) {
        let mut machine = Acquire::new(self.request(subject));
        let mut replies = Vec::new();
        for round in &self.rounds {
            let Step::Perform(calls) = machine.advance(self.now_ms, &replies) else {
                panic!("{about}: a decision, expected {} calls", round.len());
            };
            same_calls(&calls, round, about);
            replies = round
                .iter()
                .map(|CallInput { reply: ReplyInput { status, body }, .. }| Reply::Http {
                    status: *status,
                    body: body.clone(),
                })
                .collect();
        }
        let Step::Done(decision) = machine.advance(self.now_ms, &replies) else {
            panic!("{about}: more calls, expected a decision");
        };
        assert_eq!(outcome(&decision.outcome), self.outcome, "{about}");
        assert_eq!(Value::from_iter(decision.limits.iter().map(status)), self.statuses, "{about}");
        same_calls(&decision.follow_ups, &self.follow_ups, about);
    }
}

fn same_calls(calls: &[Call], expected: &[CallInput], about: &str) {
    let calls: Vec<_> = calls.iter().map(|call| (call.operation, call.body.as_str())).collect();
    let expected: Vec<_> =
        expected.iter().map(|call| (call.operation.as_str(), call.body.as_str())).collect();
    assert_eq!(calls, expected, "{about}");
}

fn outcome(outcome: &Outcome) -> Value {
    match outcome {
        Outcome::Admitted(lease) => json!({"tag": "admitted", "val": lease.encode()}),
        Outcome::Rejected { retry_after_ms } => json!({"tag": "rejected", "val": retry_after_ms}),
        Outcome::NeverFits { limit } => json!({"tag": "never-fits", "val": limit}),
        other => panic!("nothing in the file comes to {other:?}"),
    }
}

#[test]
fn what_the_page_shows_is_what_the_library_decides() {
    let lines: Vec<Line> = include_str!("vectors/page.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of the page's record"))
        .collect();
    let mut attempts = 0;
    for line in &lines {
        assert_eq!(line.previewed(), line.report, "{}", line.about);
        if let Some(attempt) = &line.attempt {
            attempt.replay(line.subject(), &line.about);
            attempts += 1;
        }
    }
    assert_eq!((lines.len(), attempts), (18, 14), "lines, and requests among them");
}
