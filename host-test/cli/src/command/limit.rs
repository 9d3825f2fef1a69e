//! Limits and amounts in the syntax of the command line.

use onewindow_host::{Amount, Limit};

/// The manual of the syntax, for `--help`.
pub(crate) const LIMIT_HELP: &str = "\
A limit, NAME=TOKENS/PERIOD; may be given several times.
  session=100/5h          a session quota: 100 tokens, all back 5 hours after the first use
  rpm=60/1m:drip          a dripping limit: 60 tokens, 60 a minute coming back steadily
  rpm=60/1m:drip:200      the same, and up to 200 tokens may gather
Periods are made of d, h, m and s: 90s, 5h, 1h30m.";

/// Reads `NAME=TOKENS/PERIOD[:drip[:CAPACITY]]`.
pub(crate) fn limit(word: &str) -> Result<Limit, String> {
    let expected = "expected NAME=TOKENS/PERIOD, such as session=100/5h or rpm=60/1m:drip";
    let (name, rest) = word.split_once('=').ok_or(expected)?;
    let (tokens, rest) = rest.split_once('/').ok_or(expected)?;
    let tokens = number(tokens, "tokens")?;
    let limit = match rest.split(':').collect::<Vec<_>>()[..] {
        [period] => Limit::session(name, tokens, seconds(period)?),
        [period, "drip"] => Limit::drip(name, tokens, tokens, seconds(period)?),
        [period, "drip", capacity] => {
            Limit::drip(name, number(capacity, "a capacity")?, tokens, seconds(period)?)
        }
        _ => return Err(format!("after the period {:?} was read, expected :drip or :drip:CAPACITY", rest)),
    };
    limit.check().map_err(|error| error.message)?;
    Ok(limit)
}

/// Reads `NAME=TOKENS`.
pub(crate) fn amount(word: &str) -> Result<Amount, String> {
    let (name, tokens) = word.split_once('=').ok_or("expected NAME=TOKENS, such as session=1")?;
    Ok(Amount::new(name, number(tokens, "tokens")?))
}

fn number(word: &str, what: &str) -> Result<u64, String> {
    word.parse().map_err(|_| format!("{word:?} was read, expected {what}: a whole number"))
}

/// Reads a period: numbers, each with its unit.
fn seconds(word: &str) -> Result<u64, String> {
    let bad = || format!("the period {word:?} was read, expected numbers with d, h, m or s, such as 1h30m");
    let mut total: u64 = 0;
    let mut rest = word;
    while !rest.is_empty() {
        let end = rest.find(|character: char| !character.is_ascii_digit()).ok_or_else(bad)?;
        let (digits, tail) = rest.split_at(end);
        let unit = match tail.chars().next() {
            Some('d') => 86_400,
            Some('h') => 3_600,
            Some('m') => 60,
            Some('s') => 1,
            _ => return Err(bad()),
        };
        let part = digits.parse::<u64>().ok().and_then(|count| count.checked_mul(unit)).ok_or_else(bad)?;
        total = total.checked_add(part).ok_or_else(bad)?;
        // The units are one byte each.
        rest = &tail[1..];
    }
    if word.is_empty() { Err(bad()) } else { Ok(total) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read() {
        for (word, expected) in [
            ("session=100/5h", Limit::session("session", 100, 18_000)),
            ("tokens.v2-beta=1/1h30m", Limit::session("tokens.v2-beta", 1, 5_400)),
            ("rpm=60/1m:drip", Limit::drip("rpm", 60, 60, 60)),
            ("rpm=60/1m:drip:200", Limit::drip("rpm", 200, 60, 60)),
            ("week=7/7d", Limit::session("week", 7, 604_800)),
        ] {
            assert_eq!(limit(word), Ok(expected), "{word}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (word, says) in [
            ("session", "expected NAME=TOKENS/PERIOD"),
            ("session=100", "expected NAME=TOKENS/PERIOD"),
            ("session=many/5h", "\"many\" was read, expected tokens"),
            ("session=-1/5h", "\"-1\" was read"),
            ("session=100/5", "the period \"5\""),
            ("session=100/", "the period \"\""),
            ("session=100/h", "the period \"h\""),
            ("session=100/5w", "the period \"5w\""),
            ("session=100/5µ", "the period \"5µ\""),
            ("session=100/99999999999999999d", "the period"),
            ("session=100/0s", "window length in seconds is 0"),
            ("session=0/5h", "capacity is 0"),
            ("session=100/5h:burst", "expected :drip"),
            ("wcu=100/5h", "wcu"),
        ] {
            let error = limit(word).unwrap_err();
            assert!(error.contains(says), "{word}: {error}");
        }
    }

    #[test]
    fn amounts_are_read() {
        assert_eq!(amount("session=3"), Ok(Amount::new("session", 3)));
        assert!(amount("session").is_err());
        assert!(amount("session=1.5").unwrap_err().contains("1.5"));
    }
}
