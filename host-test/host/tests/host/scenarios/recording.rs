//! A recorded scenario, event by event.

use std::{fs, path::Path};

use onewindow::Limit;
use serde_json::Value as Json;

pub(crate) struct Recording {
    /// The limits in force for every call that does not bring its own.
    pub(crate) limits: Vec<Limit>,
    pub(crate) events: Vec<Event>,
}

pub(crate) struct Event {
    /// The letter of the step it belongs to; empty before the first.
    pub(crate) step: String,
    pub(crate) clock_ms: u64,
    pub(crate) kind: Kind,
}

pub(crate) enum Kind {
    /// What the peer was asked for.
    Call(Json),
    /// One request of the peer's, and which of its clients made it.
    Request {
        client: String,
        reads_configuration: bool,
    },
    /// What a call came to.
    Result(Json),
    /// Somebody changed an item by hand.
    Edit(Json),
    /// What the table's stream handed to the peer's aggregator.
    Record(Json),
    /// Every bucket item.
    Table(Vec<Json>),
    Remark,
}

impl Recording {
    pub(crate) fn read(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../component/tests/scenarios");
        let path = folder.join(format!("{name}.jsonl"));
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let lines: Vec<Json> =
            text.lines().map(|line| serde_json::from_str(line).expect("an event")).collect();
        let limits = limits(&lines[0]["limits"]).expect("the limits in force come first");
        Self { limits, events: lines.into_iter().skip(1).map(event).collect() }
    }
}

fn event(mut json: Json) -> Event {
    let step = json["step"].as_str().and_then(|step| step.split_once(':')).map_or("", |(letter, _)| letter);
    let step = step.to_owned();
    let clock_ms = json["clock_ms"].as_u64().expect("a clock");
    let kind = match json["kind"].as_str().expect("a kind") {
        "call" => Kind::Call(json),
        "result" => Kind::Result(json),
        "table" => Kind::Table(json["bucket_items"].as_array().expect("items").clone()),
        "request" => Kind::Request {
            client: text(&json["client"]).into(),
            // We are handed the configuration; the peer reads it, and the namespace.
            reads_configuration: {
                let keys = json["keys"].as_array().expect("keys");
                let configuration =
                    |key: &Json| text(key).contains("#CONFIG") || text(key).contains("SYSTEM#");
                !keys.is_empty() && keys.iter().all(configuration)
            },
        },
        _ if json["expression"].is_string() => Kind::Edit(json),
        _ if json["new"].is_object() => Kind::Record(json.take()),
        _ => Kind::Remark,
    };
    Event { step, clock_ms, kind }
}

pub(crate) fn limits(json: &Json) -> Option<Vec<Limit>> {
    let limit = |limit: &Json| {
        let whole = |field: &str| limit[field].as_u64().unwrap_or_else(|| panic!("{field} in {limit}"));
        let name = text(&limit["name"]);
        match limit["reset_after_seconds"].as_u64() {
            Some(seconds) => Limit::session(name, whole("capacity"), seconds),
            None => {
                Limit::drip(name, whole("capacity"), whole("refill_amount"), whole("refill_period_seconds"))
            }
        }
    };
    Some(json.as_array()?.iter().map(limit).collect())
}

pub(crate) fn text(json: &Json) -> &str {
    json.as_str().unwrap_or_else(|| panic!("a text, not {json}"))
}
