//! The table: it executes requests, answers as DynamoDB does, and reports each item that changed.

use std::{collections::BTreeMap, sync::Arc};

use onewindow::Reply;

use super::{
    item::{Item, Key, Value},
    json::write_item,
    request::{Change, Effect, Request, Write},
};

/// A write that landed: the item before and after it.
#[derive(Clone, Debug)]
pub struct Landed {
    /// The item.
    pub key: Key,
    /// Before; none: there was no item.
    pub before: Option<Arc<Item>>,
    /// After.
    pub after: Arc<Item>,
}

/// The table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Store {
    items: BTreeMap<Key, Arc<Item>>,
    /// Each item one write ago, for stale reads.
    previous: BTreeMap<Key, Option<Arc<Item>>>,
}

impl Store {
    /// The item, if there is one.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<&Arc<Item>> {
        self.items.get(key)
    }

    /// Every item, by key.
    pub fn items(&self) -> impl Iterator<Item = (&Key, &Arc<Item>)> {
        self.items.iter()
    }

    /// Puts an item in place, unconditionally.
    pub fn insert(&mut self, key: Key, item: Item) {
        self.replace(key, Some(Arc::new(item)));
    }

    /// Removes an item, as an expiry does.
    pub fn remove(&mut self, key: &Key) {
        self.replace(key.clone(), None);
    }

    fn replace(&mut self, key: Key, item: Option<Arc<Item>>) {
        let before = match item {
            Some(item) => self.items.insert(key.clone(), item),
            None => self.items.remove(&key),
        };
        self.previous.insert(key, before);
    }

    /// Executes a request: what the table answers, and what landed.
    pub fn execute(&mut self, request: &Request) -> (Reply, Vec<Landed>) {
        match request {
            Request::Single(write) => self.single(write),
            Request::Transaction(writes) => self.transaction(writes),
            Request::Read { keys, .. } => {
                (batch(keys.iter().filter_map(|key| self.items.get(key))), Vec::new())
            }
        }
    }

    /// Answers a read from the items as they were one write ago.
    #[must_use]
    pub fn stale_read(&self, keys: &[Key]) -> Reply {
        let old = |key: &Key| match self.previous.get(key) {
            Some(previous) => previous.clone(),
            None => self.items.get(key).cloned(),
        };
        let items: Vec<_> = keys.iter().filter_map(old).collect();
        batch(items.iter())
    }

    fn single(&mut self, write: &Write) -> (Reply, Vec<Landed>) {
        let before = self.items.get(&write.key).cloned();
        if !write.condition.holds(before.as_deref()) {
            let mut body = String::from(
                r#"{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"The conditional request failed""#,
            );
            if let Some(item) = &before {
                body.push_str(r#","Item":"#);
                write_item(&mut body, item);
            }
            body.push('}');
            return (Reply::Http { status: 400, body }, Vec::new());
        }
        let landed = self.land(write, before);
        let mut body = String::from("{");
        if let (Effect::Update(_), Some(landed)) = (&write.effect, &landed) {
            body.push_str(r#""Attributes":"#);
            write_item(&mut body, &landed.after);
        }
        body.push('}');
        (Reply::Http { status: 200, body }, landed.into_iter().collect())
    }

    fn transaction(&mut self, writes: &[Write]) -> (Reply, Vec<Landed>) {
        let before: Vec<_> = writes.iter().map(|write| self.items.get(&write.key).cloned()).collect();
        let holds: Vec<_> =
            writes.iter().zip(&before).map(|(write, item)| write.condition.holds(item.as_deref())).collect();
        if holds.iter().all(|holds| *holds) {
            let landed =
                writes.iter().zip(before).filter_map(|(write, item)| self.land(write, item)).collect();
            return (Reply::Http { status: 200, body: "{}".into() }, landed);
        }
        let mut body = String::from(
            r#"{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","message":"Transaction cancelled","CancellationReasons":["#,
        );
        for (index, (holds, item)) in holds.iter().zip(&before).enumerate() {
            if index > 0 {
                body.push(',');
            }
            if *holds {
                body.push_str(r#"{"Code":"None"}"#);
                continue;
            }
            body.push_str(r#"{"Code":"ConditionalCheckFailed","Message":"The conditional request failed""#);
            if let Some(item) = item {
                body.push_str(r#","Item":"#);
                write_item(&mut body, item);
            }
            body.push('}');
        }
        body.push_str("]}");
        (Reply::Http { status: 400, body }, Vec::new())
    }

    fn land(&mut self, write: &Write, before: Option<Arc<Item>>) -> Option<Landed> {
        let after = match &write.effect {
            Effect::Check => return None,
            Effect::Put(item) => item.clone(),
            Effect::Update(changes) => {
                let mut item = before.as_deref().cloned().unwrap_or_else(|| {
                    let (pk, sk) = write.key.clone();
                    Item::from([("PK".into(), Value::Text(pk)), ("SK".into(), Value::Text(sk))])
                });
                let old = item.clone();
                changes.iter().for_each(|change| apply(&mut item, &old, change));
                item
            }
        };
        let after = Arc::new(after);
        self.replace(write.key.clone(), Some(after.clone()));
        Some(Landed { key: write.key.clone(), before, after })
    }
}

/// Every change reads the item as it was before the update.
fn apply(item: &mut Item, old: &Item, change: &Change) {
    match change {
        Change::Set(name, value) => {
            item.insert(name.clone(), value.clone());
        }
        Change::SetFrom(name, source, fallback) => {
            let value = old.get(source).unwrap_or(fallback).clone();
            item.insert(name.clone(), value);
        }
        Change::Add(name, number) => {
            let sum = match old.get(name) {
                Some(Value::Number(old)) => old.saturating_add(*number),
                _ => *number,
            };
            item.insert(name.clone(), Value::Number(sum));
        }
        Change::Remove(name) => {
            item.remove(name);
        }
    }
}

fn batch<'a>(items: impl Iterator<Item = &'a Arc<Item>>) -> Reply {
    let mut body = String::from(r#"{"Responses":{"t":["#);
    for (index, item) in items.enumerate() {
        if index > 0 {
            body.push(',');
        }
        write_item(&mut body, item);
    }
    body.push_str(r#"]},"UnprocessedKeys":{}}"#);
    Reply::Http { status: 200, body }
}
