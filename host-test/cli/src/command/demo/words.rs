//! Numbers and instants as a person reads them.

use time::{OffsetDateTime, macros::format_description};

/// A count with its noun.
pub(super) fn plural(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// A wait in its two largest units.
pub(super) fn span(ms: u64) -> String {
    let seconds = ms.div_ceil(1000);
    match (seconds / 3600, seconds % 3600 / 60, seconds % 60) {
        (0, 0, _) if ms < 1000 => format!("{ms} ms"),
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

/// An instant as the time of day in UTC, with its milliseconds where there are any.
pub(super) fn clock(ms: u64) -> String {
    let nanoseconds = i128::from(ms) * 1_000_000;
    let Ok(at) = OffsetDateTime::from_unix_timestamp_nanos(nanoseconds) else { return ms.to_string() };
    let text = if ms.is_multiple_of(1000) {
        at.format(format_description!("[hour]:[minute]:[second]"))
    } else {
        at.format(format_description!("[hour]:[minute]:[second].[subsecond digits:3]"))
    };
    text.unwrap_or_else(|_| ms.to_string())
}

/// The same, without seconds.
pub(super) fn short_clock(ms: u64) -> String {
    clock(ms).chars().take(5).collect()
}
