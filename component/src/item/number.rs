//! Stored numbers, read exactly.

/// Reads a whole number as the table may spell it: an optional sign, digits, a point, an exponent
/// (`1E3`, `1000.0`, `-0`). None for a fraction, for more than 38 digits, and for anything else.
pub(crate) fn parse_whole(text: &str) -> Option<i128> {
    const MAX_DIGITS: i64 = 38;
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i16>().ok()?),
        None => (unsigned, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    // Digits left of the point once the exponent has moved it.
    let point = i64::try_from(whole.len()).ok()?.checked_add(i64::from(exponent))?;
    let mut value: i128 = 0;
    let mut position: i64 = 0;
    for digit in whole.bytes().chain(fraction.bytes()) {
        if !digit.is_ascii_digit() {
            return None;
        }
        let digit = i128::from(digit.checked_sub(b'0')?);
        if position < point {
            value = value.checked_mul(10)?.checked_add(digit)?;
        } else if digit != 0 {
            return None;
        }
        position = position.checked_add(1)?;
    }
    while value != 0 && position < point {
        value = value.checked_mul(10)?;
        position = position.checked_add(1)?;
    }
    let limit = 10_i128.checked_pow(u32::try_from(MAX_DIGITS).ok()?)?;
    (value < limit).then_some(if negative { value.saturating_neg() } else { value })
}

#[cfg(test)]
mod tests {
    use super::parse_whole;

    #[test]
    fn whole_numbers_are_read_exactly_however_they_are_spelled() {
        for (text, value) in [
            ("0", 0),
            ("-0", 0),
            ("1E3", 1000),
            ("1e+3", 1000),
            ("1000.0", 1000),
            ("1.5E1", 15),
            ("120E-1", 12),
            ("-7", -7),
            ("3804086584686624768", 3_804_086_584_686_624_768),
            ("99999999999999999999999999999999999999", 99_999_999_999_999_999_999_999_999_999_999_999_999),
            ("0E30000", 0),
        ] {
            assert_eq!(parse_whole(text), Some(value), "{text}");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for text in [
            "",
            "-",
            ".",
            "1.5",
            "1E",
            "E1",
            "1E-1",
            "0x10",
            "1_000",
            " 1",
            "1E9999",
            "1E99999",
            "NaN",
            "٣",
            "100000000000000000000000000000000000000",
            "--1",
            "1..0",
            "1E1E1",
        ] {
            assert_eq!(parse_whole(text), None, "{text}");
        }
    }
}
