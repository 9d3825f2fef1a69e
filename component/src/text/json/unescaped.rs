//! Finds the bytes of a JSON string that need no escape.

/// The length of the start of `text` that needs no escape. Most of the time of reading and writing is spent
/// here, so eight bytes are searched at a time.
#[inline(never)]
pub(super) fn unescaped_length(text: &str) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const TOPS: u64 = u64::from_ne_bytes([0x80; 8]);
    // Sets the top bit of each byte that is below `least` (128 at most). A borrow may also set it in bytes
    // above a found one, so only the first is exact.
    let below = |word: u64, least: u8| word.wrapping_sub(ONES.wrapping_mul(least.into())) & !word & TOPS;
    let is = |word: u64, byte: u8| below(word ^ ONES.wrapping_mul(byte.into()), 1);
    let (words, rest) = text.as_bytes().as_chunks();
    let mut length: usize = 0;
    for word in words {
        let word = u64::from_le_bytes(*word);
        let found = below(word, 0x20) | is(word, b'"') | is(word, b'\\');
        if found != 0 {
            return length.saturating_add(found.trailing_zeros().div_euclid(8) as usize);
        }
        length = length.saturating_add(8);
    }
    length.saturating_add(rest.iter().take_while(|byte| !needs_escape(**byte)).count())
}

/// Whether a byte must be escaped in a string.
fn needs_escape(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | 0..=0x1f)
}

#[cfg(test)]
mod tests {
    use std::format;

    use super::*;

    /// Eight bytes are read together: each byte there is, in each place, beside each that borrows from it.
    #[test]
    fn what_needs_an_escape_is_found_in_every_place() {
        for byte in 0..0x80_u8 {
            for before in 0..20 {
                for after in ["", "\u{1f}", "\u{7f}\"", "é\\ more than eight bytes"] {
                    let text = format!("{}{}{after}", "~".repeat(before), char::from(byte));
                    assert_eq!(
                        unescaped_length(&text),
                        text.bytes().position(needs_escape).unwrap_or(text.len()),
                        "{text:?}"
                    );
                }
            }
        }
    }
}
