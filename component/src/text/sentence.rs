//! Parts of an error's sentence: a text from outside, shortened and in quotes.

use alloc::{borrow::ToOwned, string::String};

use super::json::Writer;

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

/// Whether `text` contains `part`.
pub(crate) fn contains(text: &str, part: &str) -> bool {
    text.as_bytes().windows(part.len()).any(|window| window == part.as_bytes())
}

/// Both sides of the last `separator`, an ASCII character.
pub(crate) fn split_last(text: &str, separator: u8) -> Option<(&str, &str)> {
    let at = text.bytes().rposition(|byte| byte == separator)?;
    Some((text.get(..at)?, text.get(at.saturating_add(1)..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_from_outside_is_shortened() {
        assert_eq!(clip("é"), "é");
        assert_eq!(clip(&"é".repeat(64)), "é".repeat(64));
        assert_eq!(clip(&"é".repeat(65)), "é".repeat(64) + "…");
        assert_eq!(quoted("a\"\n"), r#""a\"\u000a""#);
        assert!(
            contains("n/BUCKET#e", "/BUCKET#") && !contains("n/BUCKET", "/BUCKET#") && !contains("", "/")
        );
    }
}
