//! Output for people. With colours only where the terminal has them and `NO_COLOR` is not set.

use std::net::SocketAddr;

use anstream::{eprintln, println};
use anstyle::{AnsiColor, Style};
use onewindow::{LimitPreview, LimitStatus, Outcome, PreviewOutcome, Subject, WindowState};
use onewindow_host::{Answer, Cost, limiter::Previewed};
use time::{OffsetDateTime, macros::format_description};

const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();
const NOTE: Style = AnsiColor::Yellow.on_default();
const NAME: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();

/// Prints one line as it is.
pub(crate) fn line(text: &str) {
    println!("{text}");
}

/// Why the command failed, with its causes.
pub(crate) fn fault(error: &anyhow::Error) {
    eprintln!("{BAD}error{BAD:#}: {error:#}");
}

pub(crate) fn serving(address: SocketAddr, table: &str, place: &str, engine: &str) {
    println!("{GOOD}serving{GOOD:#} http://{address}");
    println!("  {FAINT}table {table} on {place}; {engine} engine; Ctrl-C ends it{FAINT:#}");
}

pub(crate) fn listening(address: SocketAddr, table: &str) {
    println!("{GOOD}listening{GOOD:#} http://{address}");
    println!("  {FAINT}table {table}, in memory; any credentials do; Ctrl-C ends it{FAINT:#}");
}

pub(crate) fn answer(subject: &Subject, answer: &Answer, now_ms: u64) {
    let Subject { entity, resource, .. } = subject;
    let (style, word, rest) = match &answer.decision.outcome {
        Outcome::Admitted(_) => (GOOD, "admitted", String::new()),
        Outcome::Rejected { retry_after_ms } => {
            (BAD, "rejected", format!("; ask again in {}", span(*retry_after_ms)))
        }
        Outcome::Contended { retry_after_ms } => {
            let rest = format!("; other requests won every round, ask again in {}", span(*retry_after_ms));
            (BAD, "contended", rest)
        }
        Outcome::NeverFits { limit } => {
            (BAD, "refused", format!("; the amount of {limit} is above what its capacity can ever hold"))
        }
        Outcome::Disabled => (BAD, "refused", "; it is switched off".into()),
        Outcome::Failed(error) => (BAD, "failed", format!("; {error}")),
        Outcome::Unavailable(reason) => (BAD, "unavailable", format!("; {reason}")),
        Outcome::Misconfigured(reason) => (BAD, "misconfigured", format!("; {reason}")),
    };
    println!("{style}{word}{style:#}  {entity} on {resource}{rest}");
    for status in &answer.decision.limits {
        println!("  {}", limit(status, now_ms));
    }
    println!("  {FAINT}{}{FAINT:#}", cost(&answer.cost));
}

pub(crate) fn preview(subject: &Subject, previewed: &Previewed, now_ms: u64) {
    let Subject { entity, resource, .. } = subject;
    let report = match &previewed.outcome {
        PreviewOutcome::Report(report) => report,
        PreviewOutcome::Failed(error) => return println!("{BAD}failed{BAD:#}  {error}"),
        PreviewOutcome::Unavailable(reason) => return println!("{BAD}unavailable{BAD:#}  {reason}"),
        PreviewOutcome::Misconfigured(reason) => return println!("{BAD}misconfigured{BAD:#}  {reason}"),
    };
    let shards = if report.shard_count == 1 { "shard" } else { "shards" };
    println!("{NAME}{entity}{NAME:#} on {NAME}{resource}{NAME:#}, {} {shards}", report.shard_count);
    if report.disabled {
        println!("  {BAD}switched off{BAD:#}: nothing is admitted, whatever is left");
    }
    if report.limits.is_empty() {
        println!("  nothing is stored, and no limit was named");
    }
    for preview in &report.limits {
        println!("  {}", limit(&preview.status, now_ms));
        shard_lines(preview, now_ms);
    }
    println!("  {FAINT}{}{FAINT:#}", cost(&previewed.cost));
}

fn shard_lines(preview: &LimitPreview, now_ms: u64) {
    for view in &preview.shards {
        let (style, state) = match view.state {
            WindowState::Live => (GOOD, "live"),
            WindowState::Pending => (NOTE, "pending"),
            WindowState::Ended => (NOTE, "ended"),
            WindowState::Unstarted => (FAINT, "no window"),
            WindowState::Absent => (FAINT, "no item"),
        };
        let window = match (view.starts_at_ms, view.ends_at_ms) {
            (Some(start), Some(end)) => format!("  {} to {}", clock(start, now_ms), clock(end, now_ms)),
            _ => String::new(),
        };
        println!(
            "    {FAINT}{:>2}{FAINT:#}  {style}{state:<9}{style:#}  {:>12} of {}{window}",
            view.shard,
            tokens(view.counted_milli),
            tokens(view.ceiling_milli)
        );
    }
}

fn limit(status: &LimitStatus, now_ms: u64) -> String {
    let LimitStatus { name, capacity, available, resets_at_ms } = status;
    let resets = resets_at_ms.map_or_else(String::new, |at_ms| {
        format!(", resets {} UTC (in {})", clock(at_ms, now_ms), span(at_ms.saturating_sub(now_ms)))
    });
    format!("{NAME}{name}{NAME:#}  {available} of {capacity} left{resets}")
}

fn cost(cost: &Cost) -> String {
    let count = |count: u32, what: &str| {
        if count == 1 { format!("{count} {what}") } else { format!("{count} {what}s") }
    };
    format!("{}, {}", count(cost.round_trips, "round trip"), count(cost.requests, "request"))
}

/// Millitokens as tokens, exact.
fn tokens(milli: i64) -> String {
    let (sign, milli) = (if milli < 0 { "-" } else { "" }, milli.unsigned_abs());
    match milli % 1000 {
        0 => format!("{sign}{}", milli / 1000),
        part => format!("{sign}{}.{part:03}", milli / 1000),
    }
}

/// An instant in UTC: the time alone where it is within a day.
fn clock(at_ms: u64, now_ms: u64) -> String {
    let near = at_ms.abs_diff(now_ms) < 24 * 60 * 60 * 1000;
    let instant = OffsetDateTime::from_unix_timestamp_nanos(i128::from(at_ms) * 1_000_000).ok();
    let text = instant.and_then(|instant| {
        if near {
            instant.format(format_description!("[hour]:[minute]:[second]")).ok()
        } else {
            instant.format(format_description!("[year]-[month]-[day] [hour]:[minute]:[second]")).ok()
        }
    });
    text.unwrap_or_else(|| format!("{at_ms} ms"))
}

/// A span in its two largest units, rounded up to whole seconds.
fn span(ms: u64) -> String {
    let seconds = ms.div_ceil(1000);
    let units = [
        (seconds / 86_400, "d"),
        (seconds / 3_600 % 24, "h"),
        (seconds / 60 % 60, "min"),
        (seconds % 60, "s"),
    ];
    let from = units.iter().position(|(count, _)| *count > 0).unwrap_or(units.len() - 1);
    let parts =
        units.iter().skip(from).take(2).filter(|(count, unit)| *count > 0 || (*unit == "s" && seconds == 0));
    parts.map(|(count, unit)| format!("{count} {unit}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_short_and_rounded_up() {
        for (ms, text) in [
            (0, "0 s"),
            (1, "1 s"),
            (1_200, "2 s"),
            (60_000, "1 min"),
            (17_999_000, "4 h 59 min"),
            (18_000_000, "5 h"),
            (90_061_000, "1 d 1 h"),
        ] {
            assert_eq!(span(ms), text, "{ms}");
        }
    }

    #[test]
    fn tokens_are_exact() {
        for (milli, text) in
            [(0, "0"), (1_000, "1"), (1_050, "1.050"), (-500, "-0.500"), (i64::MIN, "-9223372036854775.808")]
        {
            assert_eq!(tokens(milli), text);
        }
    }

    #[test]
    fn instants_of_another_day_have_their_date() {
        assert_eq!(clock(1_800_000_000_000, 1_800_000_000_000 - 18_000_000), "08:00:00");
        assert_eq!(clock(1_800_000_000_000, 0), "2027-01-15 08:00:00");
    }
}
