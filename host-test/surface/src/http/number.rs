//! Whole numbers in JSON: a number up to 2^53, where every reader is exact, a string above.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, Unexpected, Visitor},
};

/// The largest number that every JSON reader reads exactly.
const EXACT: u64 = 1 << 53;

/// A count in a request: a number up to 2^53, or digits in a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count(pub(super) u64);

/// A number in an answer: as a string where it is above 2^53 or below -2^53.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JsonNumber(i128);

impl From<u64> for JsonNumber {
    fn from(number: u64) -> Self {
        Self(number.into())
    }
}

impl From<i64> for JsonNumber {
    fn from(number: i64) -> Self {
        Self(number.into())
    }
}

impl Serialize for JsonNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match i64::try_from(self.0) {
            Ok(number) if number.unsigned_abs() <= EXACT => serializer.serialize_i64(number),
            _ => serializer.collect_str(&self.0),
        }
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CountVisitor)
    }
}

struct CountVisitor;

impl Visitor<'_> for CountVisitor {
    type Value = Count;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number, 0 to 2^53, or a string of digits, up to 2^64 - 1")
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Count, E> {
        if number > EXACT {
            // Many JSON writers have already rounded such a number.
            return Err(E::invalid_value(Unexpected::Unsigned(number), &self));
        }
        Ok(Count(number))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Count, E> {
        let digits = (1..=20).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = if digits { text.parse().ok() } else { None };
        number.map(Count).ok_or_else(|| {
            let clipped: String = text.chars().take(32).collect();
            E::invalid_value(Unexpected::Str(&clipped), &self)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn big_numbers_are_written_as_strings() {
        for (number, json) in [
            (JsonNumber::from(0_u64), "0"),
            (JsonNumber::from(-5_i64), "-5"),
            (JsonNumber::from(1_u64 << 53), "9007199254740992"),
            (JsonNumber::from((1_u64 << 53) + 1), "\"9007199254740993\""),
            (JsonNumber::from(u64::MAX), "\"18446744073709551615\""),
            (JsonNumber::from(i64::MIN), "\"-9223372036854775808\""),
        ] {
            assert_eq!(serde_json::to_string(&number).unwrap(), json);
        }
    }

    #[test]
    fn counts_are_read_exactly_or_not_at_all() {
        let read = |json: &str| serde_json::from_str::<Count>(json).map(|Count(count)| count);
        assert_eq!(read("7").unwrap(), 7);
        assert_eq!(read("\"7\"").unwrap(), 7);
        assert_eq!(read("9007199254740992").unwrap(), 1 << 53);
        assert_eq!(read("\"18446744073709551615\"").unwrap(), u64::MAX);
        for bad in [
            "9007199254740993",
            "-1",
            "1.0",
            "1e3",
            "true",
            "null",
            "\"\"",
            "\"-1\"",
            "\"+1\"",
            "\"1e3\"",
            "\"18446744073709551616\"",
            "[]",
        ] {
            let error = read(bad).unwrap_err().to_string();
            assert!(error.contains("a whole number, 0 to 2^53"), "{bad}: {error}");
        }
    }
}
