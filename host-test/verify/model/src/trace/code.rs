//! Events as a line of text: `S0.0 L0 T`.

use crate::event::Event;

/// Events as a line of text that [`decode`] reads.
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
        Event::OldMaterialisation(shard, skew_ms) => format!("P{shard}.{skew_ms}"),
        Event::Expire(shard) => format!("E{shard}"),
        Event::Restamp(shard) => format!("M{shard}"),
    };
    events.iter().map(word).collect::<Vec<String>>().join(" ")
}

/// Reads events that [`encode`] wrote.
///
/// # Errors
/// Says which word is no event.
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
            "P" => Event::OldMaterialisation(first.parse().ok()?, second.parse().ok()?),
            "E" => Event::Expire(first.parse().ok()?),
            "M" => Event::Restamp(first.parse().ok()?),
            _ => return None,
        })
    };
    text.split_whitespace().map(|word| event(word).ok_or_else(|| format!("{word:?} is no event"))).collect()
}
