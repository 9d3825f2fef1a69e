//! A counterexample as a story: who did what, and what the items say after it.

use std::fmt::Write as _;

use crate::{
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
    let _ = writeln!(
        out,
        "{} shards, quota {} per {} s, each request asks for {}; clocks off by {:?} ms",
        setting.shard_count, setting.capacity, setting.length_seconds, setting.amount, setting.skews_ms
    );
    let mut world = World::new(setting);
    for (key, item) in world.store.items() {
        let _ = writeln!(out, "      shard {}: {}", shard(&key.0), describe(item));
    }
    for (index, event) in events.iter().enumerate() {
        let account = world.step(setting, *event);
        let said = match &account {
            Ok(Some(account)) => account.said.clone(),
            Ok(None) => "nothing".into(),
            Err(violation) => violation.to_string(),
        };
        let _ = writeln!(out, "{:>3}. {}: {said}", index + 1, who(*event));
        for landed in account.iter().flatten().flat_map(|account| &account.landed) {
            let _ = writeln!(out, "      shard {}: {}", shard(&landed.key.0), describe(&landed.after));
        }
    }
    out
}

fn who(event: Event) -> String {
    match event {
        Event::Tick => "time".into(),
        Event::Start(client, _)
        | Event::Land(client)
        | Event::LandStale(client)
        | Event::Resend(client)
        | Event::LoseReply(client)
        | Event::Settle(client, _)
        | Event::Copy(client)
        | Event::Die(client) => format!("client {client}"),
        Event::Deliver(_) | Event::Duplicate(_) | Event::LoseFollowUp(_) => "network".into(),
        Event::OldFast(shard) | Event::OldPass(shard, _) => format!("old writer on shard {shard}"),
        Event::Expire(shard) => format!("expiry of shard {shard}"),
    }
}

fn shard(pk: &str) -> &str {
    pk.rsplit('#').next().unwrap_or(pk)
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
    out.trim_end().into()
}

/// Events in a line that [`decode`] reads.
#[must_use]
pub fn encode(events: &[Event]) -> String {
    let word = |event: &Event| match event {
        Event::Tick => "T".into(),
        Event::Start(client, shard) => format!("S{client}.{shard}"),
        Event::Settle(client, used) => format!("A{client}.{used}"),
        Event::Copy(client) => format!("C{client}"),
        Event::Land(client) => format!("L{client}"),
        Event::LandStale(client) => format!("l{client}"),
        Event::Resend(client) => format!("R{client}"),
        Event::LoseReply(client) => format!("r{client}"),
        Event::Die(client) => format!("D{client}"),
        Event::Deliver(index) => format!("F{index}"),
        Event::Duplicate(index) => format!("f{index}"),
        Event::LoseFollowUp(index) => format!("x{index}"),
        Event::OldFast(shard) => format!("O{shard}"),
        Event::OldPass(shard, skew_ms) => format!("P{shard}.{skew_ms}"),
        Event::Expire(shard) => format!("E{shard}"),
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
            "C" => Event::Copy(first.parse().ok()?),
            "L" => Event::Land(first.parse().ok()?),
            "l" => Event::LandStale(first.parse().ok()?),
            "R" => Event::Resend(first.parse().ok()?),
            "r" => Event::LoseReply(first.parse().ok()?),
            "D" => Event::Die(first.parse().ok()?),
            "F" => Event::Deliver(first.parse().ok()?),
            "f" => Event::Duplicate(first.parse().ok()?),
            "x" => Event::LoseFollowUp(first.parse().ok()?),
            "O" => Event::OldFast(first.parse().ok()?),
            "P" => Event::OldPass(first.parse().ok()?, second.parse().ok()?),
            "E" => Event::Expire(first.parse().ok()?),
            _ => return None,
        })
    };
    text.split_whitespace().map(|word| event(word).ok_or_else(|| format!("{word:?} is no event"))).collect()
}
