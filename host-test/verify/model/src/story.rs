//! A counterexample as a story: who did what, and what the items say after it.

use std::fmt::Write as _;

use crate::{
    entity::stamped_parent,
    event::Event,
    explore::Counterexample,
    setting::Setting,
    store::{Item, Value},
    world::{EPOCH_MS, World, number},
};

/// Tells a counterexample.
#[must_use]
pub fn tell(setting: &Setting, found: &Counterexample) -> String {
    let mut out = tell_events(setting, &found.events);
    // Writing into a string cannot fail.
    let _ = writeln!(out, "  => {}", found.violation);
    let _ = writeln!(out, "  replay: {} {} {}", setting.name, setting.ablation.name(), encode(&found.events));
    out
}

/// Tells what happens.
#[must_use]
pub fn tell_events(setting: &Setting, events: &[Event]) -> String {
    let mut out = String::new();
    // Writing into a string cannot fail.
    for entity in &setting.entities {
        let parent = entity.parent.map_or("nobody", |parent| setting.entity(parent).name);
        let _ = writeln!(
            out,
            "{} under {parent}: {} shards, quota {} per {} s",
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
        let account = world.step(setting, *event);
        let said = match &account {
            Ok(Some(account)) => account.said.clone(),
            Ok(None) => "nothing".into(),
            Err(violation) => violation.to_string(),
        };
        let _ = writeln!(out, "{:>3}. {}: {said}", index + 1, who(setting, *event));
        for landed in account.iter().flatten().flat_map(|account| &account.landed) {
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
        Event::OldFast(number) | Event::OldPass(number, _) => format!("old writer on {}", of_shard(number)),
        Event::Expire(number) => format!("expiry of {}", of_shard(number)),
        Event::Restamp(number) => format!("operator on {}", of_shard(number)),
    }
}

/// Which shard of whom, by its partition key.
fn shard(pk: &str) -> String {
    let mut parts = pk.split('#').skip(1);
    match (parts.next(), parts.nth(1)) {
        (Some(entity), Some(shard)) => format!("{entity} shard {shard}"),
        _ => pk.into(),
    }
}

/// An item in a line; instants count from the world's beginning.
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
    let _ = stamped_parent(item).map(|parent| write!(out, "under {parent}"));
    out.trim_end().into()
}

/// Events in a line that [`decode`] reads.
#[must_use]
pub fn encode(events: &[Event]) -> String {
    let call = |kind: char, client: &u8, call: &u8| match call {
        0 => format!("{kind}{client}"),
        call => format!("{kind}{client}.{call}"),
    };
    let word = |event: &Event| match event {
        Event::Tick => "T".into(),
        Event::Start(client, shard) => format!("S{client}.{shard}"),
        Event::Settle(client, used) => format!("A{client}.{used}"),
        Event::Copy(client, index) => call('C', client, index),
        Event::Land(client, index) => call('L', client, index),
        Event::LandStale(client, index) => call('l', client, index),
        Event::Resend(client, index) => call('R', client, index),
        Event::LoseReply(client, index) => call('r', client, index),
        Event::Die(client) => format!("D{client}"),
        Event::Deliver(index) => format!("F{index}"),
        Event::Duplicate(index) => format!("f{index}"),
        Event::LoseFollowUp(index) => format!("x{index}"),
        Event::OldFast(shard) => format!("O{shard}"),
        Event::OldPass(shard, skew_ms) => format!("P{shard}.{skew_ms}"),
        Event::Expire(shard) => format!("E{shard}"),
        Event::Restamp(shard) => format!("M{shard}"),
    };
    events.iter().map(word).collect::<Vec<String>>().join(" ")
}

/// Reads events that [`encode`] wrote.
///
/// # Errors
/// Says which word is none.
pub fn decode(text: &str) -> Result<Vec<Event>, String> {
    let event = |word: &str| {
        let (kind, rest) = word.split_at_checked(1)?;
        let (first, second) = rest.split_once('.').unwrap_or((rest, "0"));
        Some(match kind {
            "T" => Event::Tick,
            "S" => Event::Start(first.parse().ok()?, second.parse().ok()?),
            "A" => Event::Settle(first.parse().ok()?, second.parse().ok()?),
            "C" => Event::Copy(first.parse().ok()?, second.parse().ok()?),
            "L" => Event::Land(first.parse().ok()?, second.parse().ok()?),
            "l" => Event::LandStale(first.parse().ok()?, second.parse().ok()?),
            "R" => Event::Resend(first.parse().ok()?, second.parse().ok()?),
            "r" => Event::LoseReply(first.parse().ok()?, second.parse().ok()?),
            "D" => Event::Die(first.parse().ok()?),
            "F" => Event::Deliver(first.parse().ok()?),
            "f" => Event::Duplicate(first.parse().ok()?),
            "x" => Event::LoseFollowUp(first.parse().ok()?),
            "O" => Event::OldFast(first.parse().ok()?),
            "P" => Event::OldPass(first.parse().ok()?, second.parse().ok()?),
            "E" => Event::Expire(first.parse().ok()?),
            "M" => Event::Restamp(first.parse().ok()?),
            _ => return None,
        })
    };
    text.split_whitespace().map(|word| event(word).ok_or_else(|| format!("{word:?} is no event"))).collect()
}
