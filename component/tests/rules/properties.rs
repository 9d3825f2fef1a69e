//! Whatever comes back, however odd: no panic, an end, and no request the table would refuse.

use std::collections::BTreeSet;

use onewindow::{
    Acquire, AcquireRequest, Amount, Call, Cascade, Hint, Limit, Preview, Reply, Settle, Step,
    internals::{
        Shard,
        balance::{Rate, quota_ceiling, share},
        decode_item,
        grant::{self, Sibling},
        materialise::{Materialisation, Settings},
        preview, propagate, refill,
        window::{Window, reported_reset_ms},
    },
    wire,
};
use proptest::{collection::vec, option, prelude::*, sample::select};
use serde_json::{Value, json};

use crate::kit::*;

/// The most steps of any machine for one entity.
const MOST_STEPS: usize = 40;
/// Those of a cascade: its chain may change twelve times, and then it may credit what was debited.
const MOST_STEPS_OF_A_CASCADE: usize = 14 * MOST_STEPS;
const PARENTS: [&str; 3] = ["p", "p2", "e"];
const NAMES: [&str; 3] = ["q", "d", "tokens.v2-beta"];

// ---- what a call must be ----

/// Every expression of a call.
pub(crate) fn expressions(call: &Call) -> Vec<String> {
    operations(call)
        .iter()
        .flat_map(|it| [&it["UpdateExpression"], &it["ConditionExpression"]])
        .filter_map(|it| it.as_str().map(str::to_owned))
        .collect()
}

/// Operators and functions, as the table counts them.
pub(crate) fn operators(expression: &str) -> usize {
    let is_update = ["SET ", "ADD ", "REMOVE "].iter().any(|it| expression.starts_with(it));
    let functions = expression.matches("attribute_").count() + expression.matches("if_not_exists").count();
    let words = expression.split_whitespace();
    functions
        + words
            .filter(|word| !is_update && matches!(*word, "=" | "<>" | "<" | "<=" | ">" | ">=" | "AND" | "OR"))
            .count()
}

fn operations(call: &Call) -> Vec<Value> {
    let body: Value = serde_json::from_str(&call.body).expect("a body in JSON");
    match body["TransactItems"].as_array() {
        Some(items) => {
            items.iter().flat_map(|it| it.as_object().expect("a write").values().cloned()).collect()
        }
        None => vec![body],
    }
}

/// The table accepts the call: aliases, sizes, numbers, one change an attribute, one write an item.
fn assert_sound(call: &Call) {
    if call.operation == "BatchGetItem" {
        let keys = whole_keys(call);
        let distinct: BTreeSet<_> = keys.iter().collect();
        assert!(distinct.len() == keys.len() && (1..=100).contains(&keys.len()), "{keys:?}");
        return;
    }
    let operations = operations(call);
    assert!((1..=100).contains(&operations.len()));
    let mut items = BTreeSet::new();
    for operation in &operations {
        let key = |name: &str| (operation["Key"][name].clone(), operation["Item"][name].clone());
        assert!(items.insert(format!("{:?}{:?}", key("PK"), key("SK"))), "an item twice: {}", call.body);
        assert_aliases(operation);
        assert_numbers(operation);
    }
    for text in expressions(call) {
        assert!(text.len() <= 4096, "{} bytes: {text}", text.len());
        assert!(operators(&text) <= 300, "{} operators", operators(&text));
    }
    for write in sent(call) {
        let mut changed = BTreeSet::new();
        for change in &write.changes {
            let attribute = change.split_whitespace().nth(1).expect("an attribute");
            assert!(changed.insert(attribute), "{attribute} is changed twice: {:#?}", write.changes);
            assert!(is_ours(attribute), "I10: {attribute} is somebody else's");
        }
        assert!(write.kind != "Update" || !write.changes.is_empty());
        assert!(!write.conditions.is_empty(), "an unconditional write: {}", call.body);
    }
}

/// The partition and sort keys that a read asks for.
fn whole_keys(call: &Call) -> Vec<String> {
    let body: Value = serde_json::from_str(&call.body).expect("JSON");
    let tables = body["RequestItems"].as_object().expect("tables");
    tables.values().flat_map(|table| table["Keys"].as_array().expect("keys")).map(Value::to_string).collect()
}

/// I10: what an update may touch.
fn is_ours(attribute: &str) -> bool {
    const FIELDS: [&str; 11] = ["tk", "cp", "ra", "rp", "tc", "rsa", "ws", "wa", "wtc", "gc", "tu"];
    let field = attribute.strip_prefix("b_").and_then(|rest| rest.rsplit_once('_'));
    ["rf", "vu", "ttl", "shard_count"].contains(&attribute)
        || field.is_some_and(|(_, field)| FIELDS.contains(&field))
}

/// Aliases and keywords, nothing else; each alias is defined, and each that is defined is used.
fn assert_aliases(operation: &Value) {
    const WORDS: [&str; 11] = ["SET", "ADD", "REMOVE", "AND", "OR", "=", "<>", "<", "<=", ">", ">="];
    const FUNCTIONS: [&str; 3] = ["attribute_exists", "attribute_not_exists", "if_not_exists"];
    let mut used = BTreeSet::new();
    for text in [&operation["UpdateExpression"], &operation["ConditionExpression"]] {
        let text = text.as_str().unwrap_or_default();
        for word in text.split([' ', ',', '(', ')']).filter(|word| !word.is_empty()) {
            if WORDS.contains(&word) || FUNCTIONS.contains(&word) {
                continue;
            }
            let number = word.strip_prefix("#a").or_else(|| word.strip_prefix(":v"));
            assert!(number.is_some_and(|it| it.parse::<u32>().is_ok()), "{word:?} in {text}");
            used.insert(word.to_owned());
        }
    }
    let aliases = ["ExpressionAttributeNames", "ExpressionAttributeValues"];
    let defined: BTreeSet<String> = aliases
        .iter()
        .flat_map(|it| operation[*it].as_object().into_iter().flatten())
        .map(|it| it.0.clone())
        .collect();
    assert_eq!(used, defined, "{operation}");
    for map in aliases {
        assert!(operation[map] != json!({}), "an empty map is refused");
    }
}

/// No number the table cannot store.
fn assert_numbers(value: &Value) {
    match value {
        Value::Object(map) => map.iter().for_each(|(tag, value)| match (tag.as_str(), value) {
            ("N", Value::String(text)) => {
                let digits = text.trim_start_matches('-');
                assert!(digits.len() <= 38 && digits.bytes().all(|it| it.is_ascii_digit()), "{text}");
            }
            _ => assert_numbers(value),
        }),
        Value::Array(values) => values.iter().for_each(assert_numbers),
        _ => {}
    }
}

// ---- odd things ----

fn number() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        6 => (-70_000_i64..70_000).prop_map(|n| (NOW + n).to_string()),
        6 => (-200_000_i64..200_000).prop_map(|n| n.to_string()),
        2 => (-3_i64..40).prop_map(|n| n.to_string()),
        1 => any::<i64>().prop_map(|n| n.to_string()),
        1 => select(vec![
            "0", "-0", "1E3", "99999999999999999999999999999999999999", "-99999999999999999999999999999999999999",
            "1152921504606846976", "-1152921504606846976", "9223372036854775807", "-9223372036854775808",
        ]).prop_map(str::to_owned),
    ];
    text.prop_map(|text| json!({"N": text}))
}

fn attribute_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        60 => number(),
        1 => select(vec![
            json!({"N": "1.5"}), json!({"S": "x"}), json!({"S": "-"}), json!({"BOOL": true}), json!({"BOOL": false}),
            json!({"NULL": true}), json!({}), json!({"N": 5}), json!({"L": [{"M": {}}]}), json!("x"), json!(null),
        ]),
    ]
}

/// A number that is sound where it stands, mostly.
fn field(name: &'static str) -> BoxedStrategy<Value> {
    let sane = match name {
        "rsa" => select(vec![60_i64, 60, 1, 18_000, 1_000_000_000]).boxed(),
        "gc" | "shard_count" => select(vec![1_i64, 2, 4, 4, 8, 32, 0, 3, 64]).boxed(),
        "cp" => select(vec![100_000_i64, 100_000, 60_000, 0, 1, 1_000_000_000_000_000_000]).boxed(),
        "ra" => select(vec![0_i64, 0, 60_000, 1]).boxed(),
        "rp" => select(vec![1000_i64, 60_000, 1]).boxed(),
        "tk" | "tc" | "wtc" | "tu" => (-30_000_i64..120_000).boxed(),
        _ => (-70_000_i64..70_000).prop_map(|n| NOW + n).boxed(),
    };
    prop_oneof![14 => sane.prop_map(|n| json!({"N": n.to_string()})), 1 => attribute_value()].boxed()
}

fn item() -> BoxedStrategy<Item> {
    let always = ["tk", "cp", "ra", "rp"];
    let sometimes = ["tc", "rsa", "ws", "wa", "wtc", "gc", "tu", "soft"];
    let limit = move || {
        let always = always.map(|name| option::weighted(0.99, field(name)).prop_map(move |it| (name, it)));
        let sometimes = sometimes.map(|name| {
            let odds = if matches!(name, "soft" | "tu") { 0.1 } else { 0.8 };
            option::weighted(odds, field(name)).prop_map(move |it| (name, it))
        });
        option::weighted(0.8, (always, sometimes)).boxed()
    };
    let limits = [limit(), limit(), limit(), limit()];
    let plain = (
        option::weighted(0.99, field("rf")),
        option::weighted(0.7, field("vu")),
        option::weighted(0.3, attribute_value()),
        option::weighted(0.9, field("shard_count")),
        option::weighted(0.04, attribute_value()),
        option::weighted(0.06, attribute_value()),
    );
    (0_u32..5, limits, plain)
        .prop_map(|(shard, limits, plain)| {
            let mut item = Item::default()
                .text("PK", &subject().bucket_pk(shard))
                .text("SK", "#STATE")
                .text("resource", "r");
            for (name, fields) in ["q", "d", "tokens.v2-beta", "wcu"].into_iter().zip(limits) {
                let Some((always, sometimes)) = fields else { continue };
                for (suffix, value) in always.into_iter().chain(sometimes) {
                    if let Some(value) = value {
                        item = item.raw(&format!("b_{name}_{suffix}"), value);
                    }
                }
            }
            let (rf, vu, ttl, count, disabled, other) = plain;
            for (name, value) in [
                ("rf", rf),
                ("vu", vu),
                ("ttl", ttl),
                ("shard_count", count),
                ("disabled", disabled),
                ("sched", other),
            ] {
                if let Some(value) = value {
                    item = item.raw(name, value);
                }
            }
            item
        })
        .boxed()
}

/// What the table may come back with.
#[derive(Clone, Debug)]
enum Answer {
    /// Whatever fits the call: it works.
    Landed(Vec<Item>),
    /// Whatever fits the call: it does not.
    Lost(Vec<Item>, Vec<&'static str>),
    /// Something, whatever the call.
    Any(Reply),
    /// The wrong number of replies.
    Count(usize),
}

impl Answer {
    /// The same, with items that debit a parent too.
    fn under(&self, parent: Option<usize>) -> Self {
        let Some(parent) = parent else { return self.clone() };
        let under = |items: &[Item]| {
            items.iter().map(|item| item.clone().flag("cascade").text("parent_id", PARENTS[parent])).collect()
        };
        match self {
            Self::Landed(items) => Self::Landed(under(items)),
            Self::Lost(items, codes) => Self::Lost(under(items), codes.clone()),
            other => other.clone(),
        }
    }
}

fn answer() -> BoxedStrategy<Answer> {
    let items = || vec(item(), 0..4);
    let codes = select(vec![
        "None",
        "None",
        "ConditionalCheckFailed",
        "ConditionalCheckFailed",
        "TransactionConflict",
    ]);
    let any_reply = prop_oneof![
        (any::<u16>(), ".{0,40}").prop_map(|(status, body)| Reply::Http { status, body }),
        items().prop_map(|items| found_some(&items)),
        item().prop_map(|item| cut(landed(&item))),
        select(vec!["ThrottlingException", "ValidationException", "TransactionConflictException", "X"])
            .prop_map(error),
        Just(committed()),
        Just(Reply::Failed("gone".into())),
    ];
    prop_oneof![
        8 => items().prop_map(Answer::Landed),
        16 => (items(), vec(codes, 0..8)).prop_map(|(items, codes)| Answer::Lost(items, codes)),
        1 => any_reply.prop_map(Answer::Any),
        1 => (0_usize..3).prop_map(Answer::Count),
    ]
    .boxed()
}

fn cut(reply: Reply) -> Reply {
    match reply {
        Reply::Http { status, body } => Reply::Http { status, body: body[..body.len() / 2].into() },
        other => other,
    }
}

/// The replies to some calls; a table sends the items that were asked for, whatever is in them.
fn replies_to(calls: &[Call], answer: &Answer) -> Vec<Reply> {
    let fitting = |call: &Call| match (answer, call.operation) {
        (Answer::Any(reply), _) => reply.clone(),
        (Answer::Landed(items) | Answer::Lost(items, _), "BatchGetItem") => {
            found(&keyed(items, &asked(call).0))
        }
        (Answer::Landed(items), "UpdateItem") => match keyed(items, &keys(call)).first() {
            Some(item) => landed(item),
            None => committed(),
        },
        (Answer::Landed(_), _) => committed(),
        (Answer::Lost(items, codes), "TransactWriteItems") => {
            let items = keyed(items, &keys(call));
            let reasons: Vec<_> = codes.iter().enumerate().map(|(at, code)| (*code, items.get(at))).collect();
            cancelled(&reasons)
        }
        (Answer::Lost(items, _), _) => refused(keyed(items, &keys(call)).first()),
        (Answer::Count(_), _) => committed(),
    };
    match answer {
        Answer::Count(count) => vec![committed(); *count],
        _ => calls.iter().map(fitting).collect(),
    }
}

fn keys(call: &Call) -> Vec<String> {
    sent(call).into_iter().map(|write| write.pk).collect()
}

/// The items under these keys, in this order.
fn keyed(items: &[Item], keys: &[String]) -> Vec<Item> {
    items.iter().zip(keys).map(|(item, key)| item.clone().text("PK", key)).collect()
}

fn requests() -> BoxedStrategy<AcquireRequest> {
    let amount = prop_oneof![4 => 0_u64..30, 1 => Just(100), 1 => any::<u64>()];
    let limit = |name: &'static str| {
        prop_oneof![
            2 => (1_u64..200, select(vec![60_u64, 18_000])).prop_map(move |(cp, len)| Limit::session(name, cp, len)),
            1 => (1_u64..200).prop_map(move |cp| Limit::drip(name, cp, cp, 60)),
        ]
    };
    let limits = NAMES.map(|name| option::weighted(0.7, limit(name)));
    let amounts = [(); 3].map(|()| option::weighted(0.6, amount.clone()));
    let hint = option::weighted(0.6, select(vec![1_u32, 2, 4, 32, 3]));
    (limits, amounts, any::<bool>(), any::<bool>(), hint, any::<u64>())
        .prop_map(|(limits, amounts, authoritative, permanent, count, seed)| AcquireRequest {
            subject: subject(),
            consume: NAMES
                .into_iter()
                .zip(amounts)
                .filter_map(|(name, tokens)| Some(Amount::new(name, tokens?)))
                .collect(),
            limits: limits.into_iter().flatten().collect(),
            authoritative,
            permanent,
            hint: count.map(|shard_count| Hint {
                key: subject().hint_key(),
                shard_count,
                rejections: Vec::new(),
            }),
            seed,
        })
        .boxed()
}

/// A clock that wanders, either way.
fn clock() -> impl Strategy<Value = u64> {
    prop_oneof![20 => (-70_000_i64..70_000).prop_map(|n| (NOW + n) as u64), 1 => any::<u64>(), 1 => Just(0)]
}

fn shards() -> impl Strategy<Value = Vec<Shard>> {
    vec(item(), 0..5).prop_map(|items| {
        items.iter().filter_map(|item| decode_item(&item.json().to_string()).ok()).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_acquire_comes_to_an_end(request in requests(), script in vec((clock(), answer()), 1..12)) {
        let mut machine = Acquire::new(request.clone());
        let mut step = machine.advance(NOW as u64, &[]);
        let mut script = script.iter().cycle();
        for _ in 0..MOST_STEPS {
            match step {
                Step::Perform(calls) => {
                    assert!(!calls.is_empty());
                    calls.iter().for_each(assert_sound);
                    let (now, answer) = script.next().expect("it goes round");
                    step = machine.advance(*now, &replies_to(&calls, answer));
                }
                Step::Done(decision) => {
                    decision.follow_ups.iter().for_each(assert_sound);
                    let _ = decision.hint.reject(&request, NOW as u64);
                    return Ok(());
                }
            }
        }
        prop_assert!(false, "still going after {MOST_STEPS} steps");
    }

    #[test]
    fn a_table_on_which_no_write_lands_ends_the_sequence(request in requests(), items in vec(item(), 1..5)) {
        // The same items all along, and every condition fails.
        let answer = Answer::Lost(items, vec!["ConditionalCheckFailed"; 7]);
        let mut machine = Acquire::new(request);
        let mut step = machine.advance(NOW as u64, &[]);
        for _ in 0..MOST_STEPS {
            match step {
                Step::Perform(calls) => {
                    calls.iter().for_each(assert_sound);
                    step = machine.advance(NOW as u64, &replies_to(&calls, &answer));
                }
                Step::Done(decision) => {
                    let asked_nothing = decision.outcome.is_admitted();
                    prop_assert!(!asked_nothing || decision.follow_ups.is_empty());
                    return Ok(());
                }
            }
        }
        prop_assert!(false, "still going");
    }

    #[test]
    fn every_cascade_comes_to_an_end(
        request in requests(), script in vec((clock(), answer(), option::of(0_usize..3)), 1..12)
    ) {
        let mut machine = Cascade::new(vec![request]);
        let mut step = machine.advance(NOW as u64, &[]);
        for (now, answer, parent) in script.iter().cycle().take(MOST_STEPS_OF_A_CASCADE) {
            let Step::Perform(calls) = step else { return Ok(()) };
            calls.iter().for_each(assert_sound);
            step = machine.advance(*now, &replies_to(&calls, &answer.under(*parent)));
        }
        prop_assert!(matches!(step, Step::Done(_)), "still going");
    }

    #[test]
    fn every_settlement_comes_to_an_end(
        items in vec(item(), 1..3), actual in vec(any::<u64>(), 1..4), script in vec((clock(), answer()), 1..8)
    ) {
        let part = |shard: usize| json!({"s": shard, "l": NAMES.map(|name| json!({
            "l": name, "t": 5000, "q": 100_000, "c": 50_000, "w": {"s": NOW, "a": NOW, "e": NOW + LENGTH}
        }))});
        let lease = json!({"n": "ns", "e": "e", "r": "r", "p": (0..items.len()).map(part).collect::<Vec<_>>()});
        let actual = NAMES.iter().zip(actual).map(|(name, tokens)| Amount::new(name, tokens % 40)).collect();
        let mut machine = Settle::new("limits", &lease.to_string(), actual);
        let mut step = machine.advance(NOW as u64, &[]);
        for (now, answer) in script.iter().cycle().take(MOST_STEPS) {
            let Step::Perform(calls) = step else { return Ok(()) };
            calls.iter().for_each(assert_sound);
            step = machine.advance(*now, &replies_to(&calls, answer));
        }
        prop_assert!(matches!(step, Step::Done(_)), "still going");
    }

    #[test]
    fn every_preview_comes_to_an_end(
        limits in requests().prop_map(|it| it.limits), script in vec((clock(), answer()), 1..8)
    ) {
        let mut machine = Preview::new(subject(), limits, None);
        let mut step = machine.advance(NOW as u64, &[]);
        for (now, answer) in script.iter().cycle().take(MOST_STEPS) {
            let Step::Perform(calls) = step else { return Ok(()) };
            calls.iter().for_each(assert_sound);
            step = machine.advance(*now, &replies_to(&calls, answer));
        }
        prop_assert!(matches!(step, Step::Done(_)), "still going");
    }

    #[test]
    fn a_lease_from_outside_never_panics(text in "\\PC{0,60}", numbers in vec(any::<i64>(), 6)) {
        let _ = Settle::new("limits", &text, Vec::new()).advance(NOW as u64, &[]);
        let [taken, capacity, ceiling, start, applied, end] = numbers[..] else { panic!() };
        let limit = json!({"l": "q", "t": taken, "q": capacity, "c": ceiling,
            "w": {"s": start, "a": applied, "e": end}});
        let part = json!({"s": 0, "l": [limit, limit]});
        let lease = json!({"n": "ns", "e": "e", "r": "r", "p": [part, part]}).to_string();
        if let Step::Perform(calls) =
            Settle::new("limits", &lease, vec![Amount::new("q", 7)]).advance(NOW as u64, &[])
        {
            calls.iter().for_each(assert_sound);
        }
    }

    #[test]
    fn decoding_never_panics(item in item(), text in "\\PC{0,80}", at in 0_usize..400) {
        let json = item.json().to_string();
        let _ = decode_item(&json);
        let _ = decode_item(&text);
        let cut: String = json.chars().take(at).collect();
        let _ = decode_item(&cut);
        for body in [json, text, cut] {
            for status in [200, 400] {
                let _ = wire::classify(&Reply::Http { status, body: body.clone() });
            }
        }
    }

    #[test]
    fn a_materialisation_of_anything_is_sound(shards in shards(), request in requests(), now in clock()) {
        let now_ms = i64::try_from(now).unwrap_or(i64::MAX).min(253_402_300_799_999);
        let settings = Settings {
            limits: &request.limits, authoritative: request.authoritative, permanent: request.permanent,
            parent: None, now_ms,
        };
        let _ = preview::report(&shards, 4, &request.limits, now_ms);
        for shard in &shards {
            if let Ok(Some(write)) = refill::write(None, shard, now_ms) {
                assert_sound(&onewindow::internals::encode("limits", &[write]).expect("one write"));
            }
            let Ok(materialisation) = Materialisation::of(shard, &settings) else { continue };
            assert_sound(&onewindow::internals::encode("limits", &[materialisation.write(&subject(), &Default::default(), &[])]).expect("one"));
            let writes = propagate::writes(&subject(), shard.id, 4, &materialisation.opened());
            if !writes.is_empty() {
                for write in writes {
                    assert_sound(&onewindow::internals::encode("limits", &[write]).expect("one"));
                }
            }
            // R6, R5, R12, I5 over whatever was read.
            prop_assert!(materialisation.last_refill_ms > shard.last_refill_ms);
            prop_assert!(materialisation.last_refill_ms >= now_ms);
            for limit in &materialisation.limits {
                prop_assert!(limit.after.tokens_milli <= limit.ceiling_milli);
                if limit.length_ms.is_some() {
                    prop_assert_eq!(limit.after.window_applied_ms, limit.after.window_start_ms);
                    prop_assert!(limit.window_end_ms().is_some_and(|end| end > now_ms));
                    prop_assert!(materialisation.valid_until_ms <= limit.window_end_ms());
                }
            }
        }
    }

    #[test]
    fn pure_functions_accept_any_number(a in any::<i128>(), b in any::<i128>(), c in any::<i128>(), x in any::<i64>(), y in any::<i64>()) {
        let extremes = [i128::MIN, i128::MAX, 0, 1, -1, a];
        let instants = [i64::MIN, i64::MAX, 0, -1, x, y];
        for n in extremes {
            let _ = share(n, b);
            let _ = quota_ceiling(n, b, c);
            for t in instants {
                let rate = Rate { amount_milli: n, period_ms: t };
                let _ = rate.refill(b, x, c, a);
                let wait = rate.retry_after_ms(b, c);
                prop_assert_eq!(wait == 0, b <= 0);
                let _ = reported_reset_ms(t, x, y);
            }
            let sibling = Sibling { shard: 3, current: true, grant_count: n, tokens_milli: b };
            let grant = grant::plan(7, c, &[sibling]);
            prop_assert!(grant.donor.is_none() || (0..=c.max(0)).contains(&grant.tokens_milli));
        }
        for t in instants {
            let limit = onewindow::internals::LimitState {
                window_start_ms: Some(t), window_applied_ms: Some(x), reset_after_seconds: Some(y),
                tokens_milli: a, capacity_milli: b, consumed_milli: Some(a), consumed_mark_milli: Some(b),
                ..onewindow::internals::LimitState::default()
            };
            let _ = Window::of(&limit, y, x, t);
            let _ = onewindow::internals::window::roll_target_milli(&limit, c);
            let _ = grant::grant_count(&limit, x as u32);
            let _ = grant::candidates(x as u32 % 64, y as u32, x % 2 == 0);
        }
    }
}
