//! Numbers in decimal digits.

use alloc::string::String;

/// A number in decimal digits.
pub(crate) fn decimal(number: impl TryInto<i128>) -> String {
    let mut out = String::new();
    push_integer(&mut out, number.try_into().unwrap_or(i128::MAX));
    out
}

/// Appends a number in decimal digits.
pub(crate) fn push_integer(out: &mut String, number: i128) {
    // Divisions of 128 bits are slow: one for 19 digits.
    const CHUNK: u128 = 10_u128.pow(CHUNK_DIGITS as u32);
    const CHUNK_DIGITS: usize = 19;
    if number < 0 {
        out.push('-');
    }
    let natural = number.unsigned_abs();
    let low = |number: u128| u64::try_from(number).unwrap_or_default();
    match u64::try_from(natural) {
        Ok(natural) => push_digits(out, natural, 1),
        Err(_) => {
            push_digits(out, low(natural.div_euclid(CHUNK)), 1);
            push_digits(out, low(natural.rem_euclid(CHUNK)), CHUNK_DIGITS);
        }
    }
}

/// Appends a number with at least this many digits.
#[inline(never)]
fn push_digits(out: &mut String, mut number: u64, least: usize) {
    let mut digits = [b'0'; 20];
    let mut first = digits.len();
    let enough = first.saturating_sub(least);
    for (at, digit) in digits.iter_mut().enumerate().rev() {
        if number == 0 && at < enough {
            break;
        }
        *digit = b'0'.wrapping_add(number.rem_euclid(10).to_le_bytes()[0]);
        number = number.div_euclid(10);
        first = at;
    }
    digits.iter().skip(first).for_each(|digit| out.push(char::from(*digit)));
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
}
