//! The model's table answers as a real engine does: the same random writes, conditions and
//! transactions on both, compared reply by reply.

use std::{borrow::Cow, time::Duration};

use onewindow::{
    Reply,
    internals::{Action, Attribute, Change, ConditionalWrite, Field, Term, Test, Value, Verb, encode},
};
use onewindow_host::{Client, Cost};
use onewindow_model::store::{Request, Store};
use serde_json::Value as Json;

use crate::common;

/// Fields that hold a string, a boolean, and nothing ever.
const TEXT: Field = Field::ParentId;
const FLAG: Field = Field::Disabled;
const MISSING: Field = Field::Bypass;

/// Few items and attributes, so that random writes meet.
struct Dice(fastrand::Rng);

impl Dice {
    fn attribute(&mut self) -> Attribute {
        let fields = [Field::LastRefill, Field::ValidUntil, TEXT, FLAG, MISSING];
        match self.0.usize(..8) {
            index @ 0..=4 => Attribute { limit: None, field: fields[index] },
            _ => self.balance(),
        }
    }

    fn number(&mut self) -> Attribute {
        match self.0.usize(..4) {
            index @ 0..=1 => Attribute { limit: None, field: [Field::LastRefill, Field::ValidUntil][index] },
            _ => self.balance(),
        }
    }

    fn balance(&mut self) -> Attribute {
        let field = [Field::Tokens, Field::WindowStart][self.0.usize(..2)];
        Attribute { limit: Some("q".into()), field }
    }

    fn whole(&mut self) -> i128 {
        if self.0.u8(..20) == 0 { 10_i128.pow(37) } else { self.0.i8(-3..=3).into() }
    }

    fn value(&mut self) -> Value {
        match self.0.usize(..7) {
            0 => Value::Text(["", "a", "b"][self.0.usize(1..3)].into()),
            1 => Value::Boolean(self.0.bool()),
            2 => Value::Null,
            _ => Value::Number(self.whole()),
        }
    }

    fn term(&mut self) -> Term {
        let tests = [
            Test::Exists,
            Test::Absent,
            Test::Equal,
            Test::NotEqual,
            Test::Less,
            Test::AtMost,
            Test::More,
            Test::AtLeast,
        ];
        let attribute = self.attribute();
        let test = tests[self.0.usize(..tests.len())];
        let operand = match test {
            Test::Exists | Test::Absent => None,
            // The engine refuses to compare an attribute with itself, and booleans by order.
            Test::Equal | Test::NotEqual => Some(self.value()),
            _ if self.0.bool() => {
                let other = self.number();
                if other == attribute {
                    Some(Value::Number(self.whole()))
                } else {
                    Some(Value::Attribute(other))
                }
            }
            _ => Some(Value::Number(self.whole())),
        };
        Term { attribute, test, operand }
    }

    fn clauses(&mut self) -> Vec<Vec<Term>> {
        (0..self.0.usize(..4)).map(|_| (0..self.0.usize(1..4)).map(|_| self.term()).collect()).collect()
    }

    fn changes(&mut self) -> Vec<Change> {
        let mut changes: Vec<Change> = Vec::new();
        let mut changed: Vec<Attribute> = Vec::new();
        for _ in 0..self.0.usize(1..5) {
            let attribute = self.number();
            if changed.contains(&attribute) {
                continue;
            }
            changed.push(attribute.clone());
            let (verb, value) = match self.0.usize(..4) {
                0 => (Verb::Set, Some(Value::Number(self.whole()))),
                1 => (Verb::Snapshot, Some(Value::Attribute(self.number()))),
                2 => (Verb::Remove, None),
                _ => (Verb::Add, Some(Value::Number(self.whole()))),
            };
            changes.push(Change { attribute, verb, value });
        }
        changes
    }

    fn item(&mut self) -> Vec<Change> {
        let set = |field, value| Change {
            attribute: Attribute { limit: None, field },
            verb: Verb::Set,
            value: Some(value),
        };
        let text = match self.0.usize(..3) {
            0 => Value::Null,
            index => Value::Text(["a", "b"][index - 1].into()),
        };
        let mut item = vec![set(TEXT, text), set(FLAG, Value::Boolean(self.0.bool()))];
        for field in [Field::LastRefill, Field::ValidUntil] {
            if self.0.bool() {
                item.push(set(field, Value::Number(self.whole())));
            }
        }
        item
    }

    fn write(&mut self, item: usize, checks: bool) -> ConditionalWrite {
        let mut clauses = self.clauses();
        let action = match self.0.usize(..if checks { 6 } else { 5 }) {
            0 => Action::Put(self.item()),
            5 => {
                // A check without a condition is no request.
                clauses.push(vec![self.term()]);
                Action::Check
            }
            _ => Action::Update(self.changes()),
        };
        ConditionalWrite { pk: format!("item-{item}"), sk: Cow::Borrowed("#STATE"), action, clauses }
    }
}

/// A reply without what the model does not promise: messages, capacities, an item's order.
fn essence(reply: &Reply) -> (u16, String, Json) {
    let Reply::Http { status, body } = reply else { panic!("no reply: {reply:?}") };
    let body: Json = serde_json::from_str(body).expect("a body");
    let kind = body["__type"].as_str().unwrap_or_default();
    let kind = kind.rsplit('#').next().unwrap_or_default().to_owned();
    let reasons: Vec<Json> = body["CancellationReasons"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|reason| serde_json::json!([reason["Code"], reason["Item"]]))
        .collect();
    (*status, kind, serde_json::json!([body["Item"], body["Attributes"], reasons]))
}

#[tokio::test]
async fn the_models_table_answers_as_the_embedded_engine_does() {
    let database = common::database().await;
    let client = Client::new(database.client_config()).expect("a client");
    let mut store = Store::default();
    let mut dice = Dice(fastrand::Rng::with_seed(11));
    let mut landed = 0;
    for round in 0..3000 {
        let writes: Vec<ConditionalWrite> = if dice.0.u8(..4) == 0 {
            let first = dice.0.usize(..4);
            (0..dice.0.usize(2..4)).map(|index| dice.write((first + index) % 4, true)).collect()
        } else {
            vec![dice.write(dice.0.clone().usize(..4), false)]
        };
        let call = encode(common::TABLE, &writes).expect("a request");
        let deadline = std::time::Instant::now() + Duration::from_secs(30);
        let theirs = client.perform(std::slice::from_ref(&call), deadline, &mut Cost::default()).await;
        let request = Request::parse(call.operation, &call.body).expect("the model reads it");
        let (ours, _) = store.execute(&request);
        let (ours, theirs) = (essence(&ours), essence(&theirs[0]));
        assert_eq!(ours, theirs, "round {round}: {}", call.body);
        landed += usize::from(ours.0 == 200);
    }
    // Neither all nor none: the comparison would be of no worth.
    assert!((600..2400).contains(&landed), "{landed} of 3000 landed");
}
