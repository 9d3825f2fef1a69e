//! Sentences and keys, put together from parts: `["limit ", &quoted(name), " …"].concat()`.
//!
//! `core::fmt` would do the same and bring 10 KB into the component.

use alloc::{borrow::ToOwned, string::String};

use crate::json::Writer;

/// The start of a string that came from outside, short enough for a message.
pub(crate) fn clip(text: &str) -> String {
    const LONGEST: usize = 64;
    match text.char_indices().nth(LONGEST).and_then(|(end, _)| text.get(..end)) {
        Some(start) => [start, "…"].concat(),
        None => text.to_owned(),
    }
}

/// The start of a string that came from outside, in quotes.
pub(crate) fn quoted(text: &str) -> String {
    let mut json = Writer::default();
    json.string(&clip(text));
    json.finish()
}

/// Whether `part` stands anywhere in `text`.
pub(crate) fn contains(text: &str, part: &str) -> bool {
    text.as_bytes().windows(part.len()).any(|window| window == part.as_bytes())
}

/// A number in decimal digits.
pub(crate) fn decimal(number: impl TryInto<i128>) -> String {
    let mut out = String::new();
    push_integer(&mut out, number.try_into().unwrap_or(i128::MAX));
    out
}

/// Appends a number in decimal digits.
pub(crate) fn push_integer(out: &mut String, number: i128) {
    if number < 0 {
        out.push('-');
    }
    push_natural(out, number.unsigned_abs());
}

fn push_natural(out: &mut String, number: u128) {
    const CHUNK: u128 = 10_u128.pow(CHUNK_DIGITS as u32);
    const CHUNK_DIGITS: usize = 19;
    // Divisions of 128 bits are slow: one for 19 digits.
    let (head, mut tail) = match u64::try_from(number) {
        Ok(tail) => (0, tail),
        Err(_) => (number.div_euclid(CHUNK), u64::try_from(number.rem_euclid(CHUNK)).unwrap_or_default()),
    };
    let least = if head == 0 { 1 } else { CHUNK_DIGITS };
    if head > 0 {
        push_natural(out, head);
    }
    let mut digits = [b'0'; 20];
    let mut written = 0_usize;
    for digit in digits.iter_mut().rev() {
        if tail == 0 && written >= least {
            break;
        }
        *digit = b'0'.saturating_add(u8::try_from(tail.rem_euclid(10)).unwrap_or_default());
        tail = tail.div_euclid(10);
        written = written.saturating_add(1);
    }
    let first = digits.len().saturating_sub(written);
    let digits = digits.get(first..).unwrap_or_default();
    out.push_str(core::str::from_utf8(digits).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_number_is_written_in_full(number in any::<i128>(), shift in 0..127_u32) {
            for number in [number >> shift, -(number >> shift)] {
                let mut out = String::new();
                push_integer(&mut out, number);
                prop_assert_eq!(out, number.to_string());
            }
        }
    }

    #[test]
    fn numbers_at_the_edges_of_their_chunks() {
        let edges = [0, 1, 9, 10, u64::MAX.into(), 10_i128.pow(19), i128::MAX, i128::MIN + 1];
        for edge in edges {
            for number in [edge - 1, edge, edge.saturating_add(1), -edge] {
                let mut out = String::new();
                push_integer(&mut out, number);
                assert_eq!(out, number.to_string());
            }
        }
    }

    #[test]
    fn what_came_from_outside_is_told_in_part() {
        assert_eq!(clip("é"), "é");
        assert_eq!(clip(&"é".repeat(64)), "é".repeat(64));
        assert_eq!(clip(&"é".repeat(65)), "é".repeat(64) + "…");
        assert_eq!(quoted("a\"\n"), r#""a\"\u000a""#);
        assert!(
            contains("n/BUCKET#e", "/BUCKET#") && !contains("n/BUCKET", "/BUCKET#") && !contains("", "/")
        );
    }
}
