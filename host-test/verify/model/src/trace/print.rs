//! Events step by step: who did what, and the items that changed.

use std::fmt::Write as _;

use super::code::encode;
use crate::{
    event::Event,
    explore::Counterexample,
    parent::stamped_parent,
    quota::number,
    setting::Setting,
    store::{Item, Value},
    time::EPOCH_MS,
    world::World,
};

/// Spells out a counterexample: its steps, what it breaks, and how to replay it.
#[must_use]
pub fn explain(setting: &Setting, found: &Counterexample) -> String {
    let mut out = steps(setting, &found.events);
    // Writing into a string cannot fail.
    let _ = writeln!(out, "  => {}", found.violation);
    let _ = writeln!(out, "  replay: {} {} {}", setting.name, setting.ablation.name(), encode(&found.events));
    out
}

/// Spells out what each event does, with the items that it changed.
#[must_use]
pub fn steps(setting: &Setting, events: &[Event]) -> String {
    let mut out = String::new();
    // Writing into a string cannot fail.
    for entity in &setting.entities {
        let parent = entity.parent.map_or("none", |parent| setting.entity(parent).name);
        let _ = writeln!(
            out,
            "{}, parent {parent}: {} shards, quota {} per {} s",
            entity.name, entity.shard_count, entity.capacity, entity.length_seconds
        );
    }
    let _ =
        writeln!(out, "each request asks for {}; clocks off by {:?} ms", setting.amount, setting.skews_ms);
    let mut world = World::new(setting);
    for (key, item) in world.store.items().filter(|(key, _)| setting.owner(key).is_some()) {
        let _ = writeln!(out, "      {}: {}", shard(&key.0), describe(item));
    }
    for (index, event) in events.iter().enumerate() {
        let record = world.step(setting, *event);
        let text = match &record {
            Ok(Some(record)) => record.text.clone(),
            Ok(None) => "nothing".into(),
            Err(violation) => violation.to_string(),
        };
        let _ = writeln!(out, "{:>3}. {}: {text}", index + 1, who(setting, *event));
        for landed in record.iter().flatten().flat_map(|record| &record.landed) {
            let _ = writeln!(out, "      {}: {}", shard(&landed.key.0), describe(&landed.after));
        }
    }
    out
}

fn who(setting: &Setting, event: Event) -> String {
    let of_shard = |number: u32| match setting.numbered(number) {
        Some((_, key)) => shard(&key.0),
        None => format!("shard {number}"),
    };
    match event {
        Event::Tick => "time".into(),
        Event::Start(client, _)
        | Event::Land(client, _)
        | Event::LandStale(client, _)
        | Event::Resend(client, _)
        | Event::LoseReply(client, _)
        | Event::Settle(client, _)
        | Event::Copy(client, _)
        | Event::Die(client) => format!("client {client}"),
        Event::Deliver(_) | Event::Duplicate(_) | Event::LoseFollowUp(_) => "network".into(),
        Event::OldFast(number) | Event::OldMaterialisation(number, _) => {
            format!("old writer on {}", of_shard(number))
        }
        Event::Expire(number) => format!("expiry of {}", of_shard(number)),
        Event::Restamp(number) => format!("operator on {}", of_shard(number)),
    }
}

/// The entity and the shard that a partition key names.
fn shard(pk: &str) -> String {
    let mut parts = pk.split('#').skip(1);
    match (parts.next(), parts.nth(1)) {
        (Some(entity), Some(shard)) => format!("{entity} shard {shard}"),
        _ => pk.into(),
    }
}

/// An item in one line; instants are ms since the world began.
fn describe(item: &Item) -> String {
    let mut out = String::new();
    for field in ["tk", "tc", "ws", "wa", "wtc", "gc"] {
        let Some(read) = number(item, field) else { continue };
        let read = if matches!(field, "ws" | "wa") { read - i128::from(EPOCH_MS) } else { read };
        let _ = write!(out, "{field} {read}  ");
    }
    for name in ["rf", "vu", "shard_count"] {
        let Some(Value::Number(read)) = item.get(name) else { continue };
        let read = if *read > 1_000_000_000 { read - i128::from(EPOCH_MS) } else { *read };
        let _ = write!(out, "{name} {read}  ");
    }
    let _ = stamped_parent(item).map(|parent| write!(out, "parent {parent}"));
    out.trim_end().into()
}
