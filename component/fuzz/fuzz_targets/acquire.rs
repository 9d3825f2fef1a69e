//! An acquire of anything, answered with anything in any order, at any time.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use onewindow::{Acquire, AcquireRequest, Amount, Hint, Limit, Reply, Step, Subject};

const NAMES: [&str; 4] = ["q", "d", "a.b-c", "wcu"];
/// No request may take more steps.
const MOST_STEPS: usize = 64;

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    consume: Vec<(u8, u64)>,
    limits: Vec<(u8, u64, u64, Option<u64>)>,
    shard_count: Option<u32>,
    seed: u64,
    authoritative: bool,
    answers: Vec<Answer<'a>>,
}

#[derive(Arbitrary, Debug)]
struct Answer<'a> {
    now_ms: u64,
    /// Which of the shapes below, and what it is filled with.
    shape: Shape,
    items: Vec<Item<'a>>,
    raw: &'a str,
}

#[derive(Arbitrary, Debug)]
enum Shape {
    Lost,
    Raw(u16),
    Landed,
    Refused,
    Cancelled,
    Read,
    TooFew,
}

/// An item that is sound in places.
#[derive(Arbitrary, Debug)]
struct Item<'a> {
    shard: u8,
    refilled: i64,
    shard_count: u8,
    limits: Vec<(u8, [Option<i64>; 11])>,
    foreign: Option<&'a str>,
}

impl Item<'_> {
    fn json(&self) -> String {
        let mut out = format!(
            r##"{{"PK":{{"S":"n/BUCKET#e#r#{}"}},"SK":{{"S":"#STATE"}},"rf":{{"N":"{}"}},"shard_count":{{"N":"{}"}}"##,
            self.shard % 33,
            self.refilled,
            self.shard_count
        );
        if let Some(text) = self.foreign {
            out.push_str(&format!(r#","foreign":{{"S":{text:?}}}"#));
        }
        let mut named = Vec::new();
        for (name, fields) in self.limits.iter().take(4) {
            let name = NAMES[usize::from(*name) % NAMES.len()];
            if named.contains(&name) {
                continue;
            }
            named.push(name);
            let suffixes = ["tk", "cp", "ra", "rp", "tc", "rsa", "ws", "wa", "wtc", "gc", "tu"];
            for (suffix, value) in suffixes.into_iter().zip(fields) {
                if let Some(value) = value {
                    out.push_str(&format!(r#","b_{name}_{suffix}":{{"N":"{value}"}}"#));
                }
            }
        }
        out.push('}');
        out
    }
}

impl Answer<'_> {
    fn reply(&self, index: usize) -> Reply {
        let item = self.items.get(index % self.items.len().max(1)).map_or("{}".into(), Item::json);
        let http = |status, body| Reply::Http { status, body };
        match self.shape {
            Shape::Lost => Reply::Failed(self.raw.into()),
            Shape::Raw(status) => http(status, self.raw.into()),
            Shape::Landed | Shape::TooFew => http(200, format!(r#"{{"Attributes":{item}}}"#)),
            Shape::Refused => {
                http(400, format!(r#"{{"__type":"x#ConditionalCheckFailedException","Item":{item}}}"#))
            }
            Shape::Cancelled => {
                let reasons: Vec<_> = self
                    .items
                    .iter()
                    .map(|item| format!(r#"{{"Code":"ConditionalCheckFailed","Item":{}}}"#, item.json()))
                    .collect();
                let reasons = reasons.join(",");
                http(
                    400,
                    format!(
                        r#"{{"__type":"x#TransactionCanceledException","CancellationReasons":[{reasons}]}}"#
                    ),
                )
            }
            Shape::Read => {
                let items: Vec<_> = self.items.iter().map(Item::json).collect();
                let items = items.join(",");
                http(200, format!(r#"{{"Responses":{{"t":[{items}]}},"UnprocessedKeys":{{}}}}"#))
            }
        }
    }
}

fuzz_target!(|input: Input<'_>| {
    let name = |index: u8| NAMES[usize::from(index) % NAMES.len()];
    let subject = Subject::new("t", "n", "e", "r");
    let hint = |shard_count| Hint { key: subject.hint_key(), shard_count, rejections: Vec::new() };
    let limit = |(index, capacity, seconds, drip): &(u8, u64, u64, Option<u64>)| match drip {
        Some(amount) => Limit::drip(name(*index), *capacity, *amount, *seconds),
        None => Limit::session(name(*index), *capacity, *seconds),
    };
    let mut machine = Acquire::new(AcquireRequest {
        consume: input.consume.iter().map(|(index, tokens)| Amount::new(name(*index), *tokens)).collect(),
        limits: input.limits.iter().map(limit).collect(),
        hint: input.shard_count.map(hint),
        seed: input.seed,
        authoritative: input.authoritative,
        subject,
        ..AcquireRequest::default()
    });
    let now_ms = input.answers.first().map_or(0, |answer| answer.now_ms);
    let mut step = machine.advance(now_ms, &[]);
    let mut answers = input.answers.iter().cycle();
    for _ in 0..MOST_STEPS {
        let Step::Perform(calls) = step else { return };
        let Some(answer) = answers.next() else { return };
        let count = calls.len() - usize::from(matches!(answer.shape, Shape::TooFew));
        let replies: Vec<_> = (0..count).map(|index| answer.reply(index)).collect();
        step = machine.advance(answer.now_ms, &replies);
    }
    panic!("it never ends");
});
