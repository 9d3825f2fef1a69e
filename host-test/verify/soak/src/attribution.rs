//! Who made a write. The history does not say: it is read from what was written.

use onewindow_model::{
    ledger::Actor,
    quota::attribute,
    store::{
        Change, Effect, Value, Write,
        expression::{Comparison, Condition, Operand},
    },
};

/// The client that all settlements are recorded for.
pub(crate) const ANY_CLIENT: u8 = 0;

/// Who wrote. What was written says so.
pub(crate) fn actor(writes: &[Write]) -> Actor {
    let mut effects = writes.iter().map(|write| &write.effect);
    let changes = |name: &str| {
        let changes_it = |effect: &Effect| match effect {
            Effect::Update(changes) => changes.iter().any(|change| change.name() == name),
            Effect::Put(_) => true,
            Effect::Check => false,
        };
        effects.clone().any(changes_it)
    };
    let debits = changes("b_wcu_tk") || changes("rf");
    if changes(&attribute("tc")) && !debits {
        return Actor::Settle(ANY_CLIENT);
    }
    // Shard 0 is doubled before the answer; the counts of the others are raised after it.
    let pinned = |effect: &Effect| matches!(effect, Effect::Update(changes) if changes.len() == 1);
    let doubles = writes.first().is_some_and(|write| write.key.0.ends_with("#0"));
    if debits || (doubles && effects.all(pinned)) { Actor::Acquire } else { Actor::FollowUp }
}

/// The start of the window that a credit names, and its millitokens.
pub(crate) fn credit(write: &Write) -> Option<(i128, i128)> {
    let Effect::Update(changes) = &write.effect else { return None };
    let milli = changes.iter().find_map(|change| match change {
        Change::Add(name, number) if *name == attribute("tc") && *number < 0 => Some(-number),
        _ => None,
    })?;
    Some((window_start(&write.condition)?, milli))
}

fn window_start(condition: &Condition) -> Option<i128> {
    match condition {
        Condition::All(parts) => parts.iter().find_map(window_start),
        Condition::Compare(
            Operand::Attribute(name),
            Comparison::Equal,
            Operand::Value(Value::Number(start)),
        ) if *name == attribute("ws") => Some(*start),
        _ => None,
    }
}
