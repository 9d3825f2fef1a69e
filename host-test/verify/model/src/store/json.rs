//! DynamoDB JSON: reads the bodies of our own requests, reads and writes items.

use std::{collections::BTreeMap, fmt::Write as _};

use serde_json::{Map, Value as Json};

use super::{
    expression::{self, Aliases, Condition, expect, take, take_if, tokens},
    item::{Item, Key, Value},
    request::{Change, Effect, Request, Write},
};

impl Request {
    /// Reads the body of an operation.
    ///
    /// # Errors
    /// Says what is not understood. DynamoDB may understand it, but no request of ours contains it.
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

/// Writes an item in DynamoDB JSON. Names and texts of the model need no escapes beyond quotes.
pub fn write_item(out: &mut String, item: &Item) {
    out.push('{');
    for (index, (name, value)) in item.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        // Writing into a string cannot fail.
        let _ = match value {
            Value::Number(number) => write!(out, r#"{name:?}:{{"N":"{number}"}}"#),
            Value::Text(text) => write!(out, r#"{name:?}:{{"S":{text:?}}}"#),
            Value::Boolean(value) => write!(out, r#"{name:?}:{{"BOOL":{value}}}"#),
            Value::Null => write!(out, r#"{name:?}:{{"NULL":true}}"#),
        };
    }
    out.push('}');
}
