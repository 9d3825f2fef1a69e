//! Stored numbers, read exactly.

/// Reads a whole number as the table may spell it: an optional sign, digits, a point, an exponent
/// (`1E3`, `1000.0`, `-0`). None for a fraction, for more than 38 digits, and for anything else.
pub(crate) fn parse_whole(text: &str) -> Option<i128> {
    // Nearly all are plain digits that fit 64 bits; products of 128 are slow in WebAssembly.
    if let Ok(number) = text.parse::<i64>() {
        return Some(number.into());
    }
    const LIMIT: i128 = 10_i128.pow(38);
    let (mut value, mut digits) = (0_i128, 0_u32);
    // Powers of ten that are still to be multiplied in: zeros, which may be the last, and the exponent.
    let (mut zeros, mut fraction) = (0_i64, None);
    let (negative, unsigned) = match text.as_bytes() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        all => (false, all),
    };
    let mut rest = unsigned.iter();
    while let Some(byte) = rest.next() {
        match byte {
            b'0'..=b'9' => {
                digits = digits.saturating_add(1);
                zeros = zeros.saturating_add(1);
                fraction = fraction.map(|read: i64| read.saturating_add(1));
                if *byte != b'0' {
                    value = scaled(value, zeros)?.checked_add(byte.wrapping_sub(b'0').into())?;
                    zeros = 0;
                }
            }
            b'.' if fraction.is_none() => fraction = Some(0),
            b'e' | b'E' => {
                let exponent = text.get(text.len().checked_sub(rest.len())?..)?.parse::<i64>().ok()?;
                zeros = zeros.saturating_add(exponent);
                break;
            }
            _ => return None,
        }
    }
    let value = scaled(value, zeros.saturating_sub(fraction.unwrap_or(0)))?;
    (digits > 0 && value < LIMIT).then_some(if negative { value.saturating_neg() } else { value })
}

/// `value` times a power of ten, if that is whole.
fn scaled(value: i128, exponent: i64) -> Option<i128> {
    if value == 0 {
        return Some(0);
    }
    value.checked_mul(10_i128.checked_pow(u32::try_from(exponent).ok()?)?)
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
