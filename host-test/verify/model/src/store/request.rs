//! Reading our own requests: what a table would understand of them.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::{
    Item, Key, Value,
    expression::{self, Aliases, Condition, expect, take, take_if, tokens},
};

/// A request as the store executes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// `UpdateItem`, `PutItem`: one write, which answers with images.
    Single(Write),
    /// `TransactWriteItems`: all of them or none.
    Transaction(Vec<Write>),
    /// `BatchGetItem`.
    Read {
        /// What is read.
        keys: Vec<Key>,
        /// Whether it must not be stale.
        consistent: bool,
    },
}

/// One write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The item it is on.
    pub key: Key,
    /// What it does.
    pub effect: Effect,
    /// When.
    pub condition: Condition,
}

/// What a write does when its condition holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The item becomes this.
    Put(Item),
    /// These attributes change.
    Update(Vec<Change>),
    /// Nothing.
    Check,
}

/// One change of an update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// `SET name = value`
    Set(String, Value),
    /// `SET name = if_not_exists(source, value)`
    SetFrom(String, String, Value),
    /// `ADD name number`
    Add(String, i128),
    /// `REMOVE name`
    Remove(String),
}

impl Change {
    /// The attribute that changes.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Set(name, _) | Self::SetFrom(name, ..) | Self::Add(name, _) | Self::Remove(name) => name,
        }
    }
}

impl Write {
    /// The millitokens it gives back, whatever of.
    #[must_use]
    pub fn given_back(&self) -> Option<i128> {
        let Effect::Update(changes) = &self.effect else { return None };
        changes.iter().find_map(|change| match change {
            Change::Add(name, consumed) if name.ends_with("_tc") && *consumed < 0 => Some(-consumed),
            _ => None,
        })
    }
}

impl Request {
    /// Reads the body of an operation.
    ///
    /// # Errors
    /// Says what is not understood: a table might, but no request of ours says it.
    pub fn parse(operation: &str, body: &str) -> Result<Self, String> {
        let body: Map<String, Json> = serde_json::from_str(body).map_err(|error| error.to_string())?;
        match operation {
            "UpdateItem" | "PutItem" => Ok(Self::Single(write(operation, &body)?)),
            "TransactWriteItems" => {
                let items = body.get("TransactItems").and_then(Json::as_array).ok_or("no TransactItems")?;
                items.iter().map(transaction_item).collect::<Result<_, _>>().map(Self::Transaction)
            }
            "BatchGetItem" => read(&body),
            other => Err(format!("operation {other:?}")),
        }
    }

    /// Its writes.
    #[must_use]
    pub fn writes(&self) -> &[Write] {
        match self {
            Self::Single(write) => std::slice::from_ref(write),
            Self::Transaction(writes) => writes,
            Self::Read { .. } => &[],
        }
    }

    /// The items it speaks of.
    #[must_use]
    pub fn keys(&self) -> Vec<&Key> {
        match self {
            Self::Read { keys, .. } => keys.iter().collect(),
            _ => self.writes().iter().map(|write| &write.key).collect(),
        }
    }

    /// Where it gives tokens back, and how many millitokens: a settlement's or a cascade's credit.
    #[must_use]
    pub fn credit(&self) -> Option<(&Key, i128)> {
        self.writes().iter().find_map(|write| Some((&write.key, write.given_back()?)))
    }

    /// Its writes, to change them.
    pub fn writes_mut(&mut self) -> &mut [Write] {
        match self {
            Self::Single(write) => std::slice::from_mut(write),
            Self::Transaction(writes) => writes,
            Self::Read { .. } => &mut [],
        }
    }
}

fn transaction_item(item: &Json) -> Result<Write, String> {
    let (kind, body) =
        item.as_object().and_then(|item| item.iter().next()).ok_or("an empty transaction item")?;
    write(kind, body.as_object().ok_or("a transaction item that is no object")?)
}

fn read(body: &Map<String, Json>) -> Result<Request, String> {
    let tables = body.get("RequestItems").and_then(Json::as_object).ok_or("no RequestItems")?;
    let table = tables.values().next().ok_or("no table")?;
    let keys = table.get("Keys").and_then(Json::as_array).ok_or("no Keys")?;
    Ok(Request::Read {
        keys: keys.iter().map(key).collect::<Result<_, _>>()?,
        consistent: table.get("ConsistentRead").and_then(Json::as_bool).unwrap_or(false),
    })
}

fn write(kind: &str, body: &Map<String, Json>) -> Result<Write, String> {
    let aliases = aliases(body)?;
    let text = |name: &str| body.get(name).and_then(Json::as_str);
    let condition = match text("ConditionExpression") {
        Some(text) => expression::parse(text, &aliases)?,
        None => Condition::All(Vec::new()),
    };
    let (key, effect) = match kind {
        "Put" | "PutItem" => {
            let item = item(body.get("Item").ok_or("no Item")?)?;
            (key_of(&item)?, Effect::Put(item))
        }
        "Update" | "UpdateItem" => {
            let expression = text("UpdateExpression").ok_or("no UpdateExpression")?;
            (key(body.get("Key").ok_or("no Key")?)?, Effect::Update(changes(expression, &aliases)?))
        }
        "ConditionCheck" => (key(body.get("Key").ok_or("no Key")?)?, Effect::Check),
        other => return Err(format!("a write of kind {other:?}")),
    };
    Ok(Write { key, effect, condition })
}

fn aliases(body: &Map<String, Json>) -> Result<Aliases, String> {
    let entries = |name: &str| body.get(name).and_then(Json::as_object).into_iter().flatten();
    let mut aliases = Aliases::default();
    for (alias, name) in entries("ExpressionAttributeNames") {
        aliases.names.insert(alias.clone(), name.as_str().ok_or("a name that is no string")?.into());
    }
    for (alias, raw) in entries("ExpressionAttributeValues") {
        aliases.values.insert(alias.clone(), value(raw)?);
    }
    Ok(aliases)
}

/// Reads an update expression.
fn changes(text: &str, aliases: &Aliases) -> Result<Vec<Change>, String> {
    let tokens = tokens(text);
    let mut rest = tokens.as_slice();
    let mut changes = Vec::new();
    while !rest.is_empty() {
        let clause = take(&mut rest)?;
        loop {
            let name = aliases.name(take(&mut rest)?)?;
            changes.push(match clause {
                "SET" => {
                    expect(&mut rest, "=")?;
                    set(name, &mut rest, aliases)?
                }
                "ADD" => match aliases.value(take(&mut rest)?)? {
                    Value::Number(number) => Change::Add(name, number),
                    other => return Err(format!("ADD of {other:?}")),
                },
                "REMOVE" => Change::Remove(name),
                other => return Err(format!("{other:?} where SET, ADD or REMOVE was expected")),
            });
            if !take_if(&mut rest, ",") {
                break;
            }
        }
    }
    Ok(changes)
}

fn set(name: String, rest: &mut &[&str], aliases: &Aliases) -> Result<Change, String> {
    let token = take(rest)?;
    if token != "if_not_exists" {
        return Ok(Change::Set(name, aliases.value(token)?));
    }
    expect(rest, "(")?;
    let source = aliases.name(take(rest)?)?;
    expect(rest, ",")?;
    let value = aliases.value(take(rest)?)?;
    expect(rest, ")")?;
    Ok(Change::SetFrom(name, source, value))
}

fn key(json: &Json) -> Result<Key, String> {
    key_of(&item(json)?)
}

/// The key of an item.
///
/// # Errors
/// Where it has none.
pub fn key_of(item: &Item) -> Result<Key, String> {
    match (item.get("PK"), item.get("SK")) {
        (Some(Value::Text(pk)), Some(Value::Text(sk))) => Ok((pk.clone(), sk.clone())),
        _ => Err("an item without PK and SK".into()),
    }
}

/// Reads an item in DynamoDB JSON.
///
/// # Errors
/// Says which type is not understood.
pub fn item(json: &Json) -> Result<Item, String> {
    let attributes = json.as_object().ok_or("an item that is no object")?;
    attributes
        .iter()
        .map(|(name, raw)| Ok((name.clone(), value(raw)?)))
        .collect::<Result<BTreeMap<_, _>, _>>()
}

fn value(json: &Json) -> Result<Value, String> {
    let (tag, raw) =
        json.as_object().and_then(|value| value.iter().next()).ok_or("a value without a type")?;
    match (tag.as_str(), raw) {
        ("N", Json::String(digits)) => {
            digits.parse().map(Value::Number).map_err(|_| format!("the number {digits}"))
        }
        ("S", Json::String(text)) => Ok(Value::Text(text.clone())),
        ("BOOL", Json::Bool(value)) => Ok(Value::Boolean(*value)),
        ("NULL", Json::Bool(true)) => Ok(Value::Null),
        _ => Err(format!("a value of type {tag}")),
    }
}
