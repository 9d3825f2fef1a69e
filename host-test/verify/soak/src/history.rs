//! What the table's history shows of the invariants.
//!
//! Every write that the table carried out is repeated on the model's table, which shows the items before
//! and after it. The model's ledgers, one for each entity, check it.

use std::collections::{BTreeMap, BTreeSet};

use onewindow_model::{
    ledger::{Actor, Ledger},
    quota::number,
    setting::Entity,
    store::{Effect, Item, Key, Landed, Request, Store, Value},
};

use crate::{
    attribution::{ANY_CLIENT, actor, credit},
    proxy::CompletedWrite,
};

/// A shard's partition key, and the start of a window.
type Window = (String, i128);

/// The ledgers of a whole table.
#[derive(Debug)]
pub struct History {
    quota: Entity,
    store: Store,
    ledgers: BTreeMap<String, Ledger>,
    /// Millitokens that the table debited, credits not deducted.
    debited: BTreeMap<Window, i128>,
    /// Millitokens that answers granted to callers.
    granted: BTreeMap<Window, i128>,
    /// What went wrong.
    pub violations: Vec<String>,
    /// Writes seen.
    pub writes: u64,
    /// Times a shard count was raised on shard 0.
    pub doublings: u64,
    /// Millitokens credited.
    pub credited_milli: i128,
    opened: BTreeSet<(String, i128)>,
}

impl History {
    /// No writes yet, for entities with this quota.
    #[must_use]
    pub fn new(quota: Entity) -> Self {
        Self {
            quota,
            store: Store::default(),
            ledgers: BTreeMap::new(),
            debited: BTreeMap::new(),
            granted: BTreeMap::new(),
            violations: Vec::new(),
            writes: 0,
            doublings: 0,
            credited_milli: 0,
            opened: BTreeSet::new(),
        }
    }

    /// Windows that were opened, over all entities: starts at which shard 0 or another was reset.
    #[must_use]
    pub fn windows(&self) -> usize {
        self.opened.len()
    }

    /// Millitokens that the table debited, credits not deducted.
    #[must_use]
    pub fn debited_milli(&self) -> i128 {
        self.debited.values().sum()
    }

    /// Records one write.
    pub fn record(&mut self, written: &CompletedWrite) {
        self.writes += 1;
        let request = match Request::parse(&written.operation, &written.body) {
            Ok(request) => request,
            Err(reason) => {
                return self.violated(format!(
                    "a write that the model does not understand: {reason}: {}",
                    written.body
                ));
            }
        };
        let (_, landed) = self.store.execute(&request);
        let changes = request.writes().iter().any(|write| write.effect != Effect::Check);
        if landed.is_empty() && changes {
            return self.violated(format!("the table carried out what its model refuses: {}", written.body));
        }
        let actor = actor(request.writes());
        self.count(actor, &landed);
        let Some(entity) = landed.first().map(|landed| entity(&landed.key)) else { return };
        // Clocks are off and hosts are killed: convergence is not promised.
        let ledger = self.ledgers.entry(entity.into()).or_insert_with(|| Ledger::new(true));
        if let Actor::Settle(_) = actor
            && let Some((start, milli)) = request.writes().first().and_then(credit)
        {
            ledger.allow_credit(ANY_CLIENT, start, milli);
            self.credited_milli += milli;
        }
        if let Err(violation) = ledger.observe(&self.quota, actor, &landed) {
            let items: Vec<_> = landed.iter().map(|landed| format!("{landed:?}")).collect();
            self.violated(format!("{violation}\n    {}\n    {}", written.body, items.join("\n    ")));
        }
    }

    fn count(&mut self, actor: Actor, landed: &[Landed]) {
        for write in landed {
            let of = |item: &Item, field: &str| number(item, field).unwrap_or(0);
            let before = write.before.as_deref();
            let start = of(&write.after, "ws");
            let consumed = of(&write.after, "tc") - before.map_or(0, |item| of(item, "tc"));
            if consumed > 0 && !matches!(actor, Actor::Settle(_)) {
                *self.debited.entry((write.key.0.clone(), start)).or_default() += consumed;
            }
            if before.map_or(0, |item| of(item, "ws")) < start && of(&write.after, "wa") == start {
                self.opened.insert((entity(&write.key).into(), start));
            }
            let count = |item: &Item| match item.get("shard_count") {
                Some(Value::Number(count)) => *count,
                _ => 0,
            };
            let raised = before.is_some_and(|before| count(before) < count(&write.after));
            if raised && write.key.0.ends_with("#0") && actor != Actor::FollowUp {
                self.doublings += 1;
            }
        }
    }

    /// Records an admission: its lease, as it was encoded. The table must have debited all of it.
    ///
    /// # Errors
    /// The text is no lease.
    pub fn grant(&mut self, lease: &str) -> Result<(), String> {
        let lease: Lease = serde_json::from_str(lease).map_err(|error| format!("{error}: {lease:?}"))?;
        for part in &lease.p {
            let pk = format!("{}/BUCKET#{}#{}#{}", lease.n, lease.e, lease.r, part.s);
            for limit in &part.l {
                let start = limit.w.as_ref().map_or(0, |window| window.s.into());
                *self.granted.entry((pk.clone(), start)).or_default() += i128::from(limit.t);
            }
        }
        Ok(())
    }

    /// Compares what answers granted with what the table debited. Call it after the last record.
    pub fn check_grants(&mut self) {
        let short: Vec<_> = self
            .granted
            .iter()
            .filter(|(window, granted)| self.debited.get(*window).copied().unwrap_or(0) < **granted)
            .map(|((pk, start), granted)| {
                let debited = self.debited.get(&(pk.clone(), *start)).copied().unwrap_or(0);
                format!(
                    "answers granted {granted} millitokens on {pk} at {start}, the table debited {debited}"
                )
            })
            .collect();
        self.violations.extend(short);
    }

    /// Compares an item of the table with the model's.
    pub fn check_item(&mut self, key: &Key, item: &Item) {
        match self.store.get(key) {
            Some(model) if **model == *item => {}
            other => self.violated(format!("{key:?} is {item:?} in the table, and {other:?} by its history")),
        }
    }

    /// How many items the history created.
    #[must_use]
    pub fn items(&self) -> usize {
        self.store.items().count()
    }

    fn violated(&mut self, how: String) {
        self.violations.push(how);
    }
}

/// The entity of a bucket's key.
fn entity(key: &Key) -> &str {
    key.0.split('#').nth(1).unwrap_or_default()
}

/// The fields of a lease that say where tokens were debited.
#[derive(serde::Deserialize)]
struct Lease {
    n: String,
    e: String,
    r: String,
    p: Vec<Part>,
}

#[derive(serde::Deserialize)]
struct Part {
    s: u32,
    l: Vec<Limit>,
}

#[derive(serde::Deserialize)]
struct Limit {
    t: i64,
    w: Option<Start>,
}

#[derive(serde::Deserialize)]
struct Start {
    s: i64,
}

#[cfg(test)]
mod tests {
    use onewindow_model::time::EPOCH_MS;
    use serde_json::json;

    use super::*;
    use crate::load::Load;

    const CAPACITY: i128 = 10_000;

    fn shard_key(shard: u32) -> Key {
        Entity::default().shard_key(shard)
    }

    fn history() -> History {
        let load = Load {
            callers: 1,
            entities: 1,
            era_seconds: 60,
            capacity: 10,
            window_seconds: 2,
            most_tokens: 1,
            settled_percent: 0,
            native: true,
        };
        let quota = Entity { began_ms: Some(0), shard_count: 1, ..load.entity() };
        let mut history = History::new(load.entity());
        history.store.insert(shard_key(0), quota.item(0, 3600));
        history
    }

    /// An update of shard 0 that adds to its balance, its consumption and its write budget.
    fn debits(milli: i128) -> CompletedWrite {
        let body = json!({
            "TableName": "t",
            "Key": { "PK": { "S": shard_key(0).0 }, "SK": { "S": "#STATE" } },
            "UpdateExpression": "ADD #a0 :v0, #a1 :v1, #a2 :v2",
            "ExpressionAttributeNames": { "#a0": "b_q_tk", "#a1": "b_q_tc", "#a2": "b_wcu_tk" },
            "ExpressionAttributeValues": {
                ":v0": { "N": (-milli).to_string() }, ":v1": { "N": milli.to_string() }, ":v2": { "N": "-1000" },
            },
        });
        CompletedWrite { operation: "UpdateItem".into(), body: body.to_string() }
    }

    fn lease(milli: i128) -> String {
        let part = json!({ "s": 0, "l": [{ "l": "q", "t": milli, "q": 10000, "c": 10000, "w": { "s": EPOCH_MS, "e": 0 } }] });
        json!({ "n": "n", "e": "e", "r": "r", "p": [part] }).to_string()
    }

    #[test]
    fn a_window_that_gives_all_it_has_is_fine_and_one_token_more_is_not() {
        let mut history = history();
        history.record(&debits(CAPACITY));
        assert_eq!(history.violations, [""; 0]);
        history.record(&debits(1000));
        assert!(history.violations[0].starts_with("I1: "), "{:?}", history.violations);
    }

    #[test]
    fn an_answer_that_granted_more_than_was_debited_is_a_violation() {
        let mut history = history();
        history.record(&debits(2000));
        history.grant(&lease(2000)).unwrap();
        history.check_grants();
        assert_eq!(history.violations, [""; 0]);
        history.grant(&lease(1)).unwrap();
        history.check_grants();
        assert!(history.violations[0].contains("the table debited 2000"), "{:?}", history.violations);
    }

    #[test]
    fn an_item_that_is_not_what_its_history_made_it_is_a_violation() {
        let mut history = history();
        let item = (**history.store.get(&shard_key(0)).unwrap()).clone();
        history.check_item(&shard_key(0), &item);
        assert_eq!(history.violations, [""; 0]);
        let other = Item::from_iter(item.into_iter().chain([("rf".to_owned(), Value::Number(1))]));
        history.check_item(&shard_key(0), &other);
        assert_eq!(history.violations.len(), 1);
    }
}
