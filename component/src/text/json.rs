//! JSON as the table speaks it: a reader that pulls one token after the other from borrowed text,
//! and a writer that appends to one string. Neither builds a tree.
//!
//! The reader takes what RFC 8259 calls JSON and nothing else; it is held against `serde_json` in
//! the tests. It is here because that crate's generic machinery costs more than all of the rules.

use alloc::{borrow::Cow, string::String};

use crate::text::push_integer;

/// Levels of nesting that are followed.
const DEEPEST: u8 = 128;

/// The text is not JSON, or not of the shape that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

pub(crate) type Parsed<T> = Result<T, Malformed>;

/// Reads a text from front to back.
///
/// ```text
/// json.object()?;
/// while let Some(name) = json.name()? {
///     match &*name { "Code" => code = json.string()?, _ => json.skip()? }
/// }
/// ```
pub(crate) struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: u8,
    /// The container was just opened: no comma before what comes next.
    opened: bool,
}

impl<'a> Reader<'a> {
    /// Reads all of `text` as one value.
    pub(crate) fn read<T>(text: &'a str, value: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let mut reader = Self { text, at: 0, depth: 0, opened: false };
        let value = value(&mut reader)?;
        if reader.peek().is_some() { Err(Malformed) } else { Ok(value) }
    }

    /// The start of an object; [`Reader::name`] goes through it.
    pub(crate) fn object(&mut self) -> Parsed<()> {
        self.open(b'{')
    }

    /// The next member's name, to be followed by its value; none: the object is at its end.
    pub(crate) fn name(&mut self) -> Parsed<Option<Cow<'a, str>>> {
        if !self.next(b'}')? {
            return Ok(None);
        }
        let name = self.string()?;
        self.expect(b':')?;
        Ok(Some(name))
    }

    /// The start of an array; [`Reader::element`] goes through it.
    pub(crate) fn array(&mut self) -> Parsed<()> {
        self.open(b'[')
    }

    /// Whether an element follows; if not, the array is at its end.
    pub(crate) fn element(&mut self) -> Parsed<bool> {
        self.next(b']')
    }

    /// A string, borrowed unless it holds an escape.
    pub(crate) fn string(&mut self) -> Parsed<Cow<'a, str>> {
        self.expect(b'"')?;
        let mut string = Cow::Borrowed("");
        loop {
            let rest = self.text.get(self.at..).ok_or(Malformed)?;
            let end = plain_length(rest);
            let plain = rest.get(..end).ok_or(Malformed)?;
            match &mut string {
                Cow::Borrowed("") => string = Cow::Borrowed(plain),
                _ => string.to_mut().push_str(plain),
            }
            self.at = self.at.saturating_add(end);
            match self.byte()? {
                b'"' => return Ok(string),
                b'\\' => string.to_mut().push(self.escaped()?),
                _ => return Err(Malformed),
            }
        }
    }

    /// `true` or `false`.
    pub(crate) fn boolean(&mut self) -> Parsed<bool> {
        if self.word("true") {
            return Ok(true);
        }
        if self.word("false") { Ok(false) } else { Err(Malformed) }
    }

    /// A number without fraction or exponent that fits.
    pub(crate) fn integer<T: TryFrom<i64>>(&mut self) -> Parsed<T> {
        let number = self.number()?.parse::<i64>().map_err(|_| Malformed)?;
        T::try_from(number).map_err(|_| Malformed)
    }

    /// What `value` reads, or `null`.
    pub(crate) fn optional<T>(&mut self, value: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<Option<T>> {
        if self.word("null") { Ok(None) } else { value(self).map(Some) }
    }

    /// Any value, of which nothing is kept.
    pub(crate) fn skip(&mut self) -> Parsed<()> {
        match self.peek() {
            Some(b'{') => {
                self.object()?;
                while self.name()?.is_some() {
                    self.skip()?;
                }
                Ok(())
            }
            Some(b'[') => {
                self.array()?;
                while self.element()? {
                    self.skip()?;
                }
                Ok(())
            }
            Some(b'"') => self.string().map(drop),
            Some(b'-' | b'0'..=b'9') => self.number().map(drop),
            Some(b'n') if self.word("null") => Ok(()),
            _ => self.boolean().map(drop),
        }
    }

    fn open(&mut self, bracket: u8) -> Parsed<()> {
        self.expect(bracket)?;
        self.depth = self.depth.saturating_add(1);
        self.opened = true;
        if self.depth > DEEPEST { Err(Malformed) } else { Ok(()) }
    }

    /// Whether something follows before the closing `bracket`.
    fn next(&mut self, bracket: u8) -> Parsed<bool> {
        let first = core::mem::take(&mut self.opened);
        if self.peek() == Some(bracket) {
            self.depth = self.depth.saturating_sub(1);
            return self.byte().map(|_| false);
        }
        if !first {
            self.expect(b',')?;
        }
        Ok(true)
    }

    fn number(&mut self) -> Parsed<&'a str> {
        self.peek();
        let start = self.at;
        self.eat(b"-");
        if !self.eat(b"0") {
            self.digits()?;
        }
        if self.eat(b".") {
            self.digits()?;
        }
        if self.eat(b"eE") {
            self.eat(b"+-");
            self.digits()?;
        }
        self.text.get(start..self.at).ok_or(Malformed)
    }

    fn digits(&mut self) -> Parsed<()> {
        let mut any = false;
        while self.eat(b"0123456789") {
            any = true;
        }
        if any { Ok(()) } else { Err(Malformed) }
    }

    /// What a backslash stands for.
    fn escaped(&mut self) -> Parsed<char> {
        Ok(match self.byte()? {
            plain @ (b'"' | b'\\' | b'/') => char::from(plain),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let unit = self.hex()?;
                if let Some(char) = char::from_u32(unit.into()) {
                    return Ok(char);
                }
                // Half of a surrogate pair.
                if !(self.eat(b"\\") && self.eat(b"u")) {
                    return Err(Malformed);
                }
                let pair = char::decode_utf16([unit, self.hex()?]).next();
                pair.and_then(Result::ok).ok_or(Malformed)?
            }
            _ => return Err(Malformed),
        })
    }

    fn hex(&mut self) -> Parsed<u16> {
        let mut unit: u16 = 0;
        for _ in 0..4 {
            let digit = char::from(self.byte()?).to_digit(16).ok_or(Malformed)?;
            unit = unit << 4 | u16::try_from(digit).map_err(|_| Malformed)?;
        }
        Ok(unit)
    }

    /// Whether `word` is what follows; then it is read.
    fn word(&mut self, word: &str) -> bool {
        self.peek();
        let found = self.text.get(self.at..).is_some_and(|rest| rest.starts_with(word));
        if found {
            self.at = self.at.saturating_add(word.len());
        }
        found
    }

    /// The next byte that is not blank, left where it is.
    fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = self.text.as_bytes().get(self.at).copied();
            if !matches!(byte, Some(b' ' | b'\n' | b'\r' | b'\t')) {
                return byte;
            }
            self.at = self.at.saturating_add(1);
        }
    }

    fn expect(&mut self, wanted: u8) -> Parsed<()> {
        if self.peek() == Some(wanted) { self.byte().map(drop) } else { Err(Malformed) }
    }

    /// Reads the next byte if it is one of these.
    fn eat(&mut self, any_of: &[u8]) -> bool {
        let found = self.text.as_bytes().get(self.at).is_some_and(|byte| any_of.contains(byte));
        if found {
            self.at = self.at.saturating_add(1);
        }
        found
    }

    fn byte(&mut self) -> Parsed<u8> {
        let byte = *self.text.as_bytes().get(self.at).ok_or(Malformed)?;
        self.at = self.at.saturating_add(1);
        Ok(byte)
    }
}

/// How much of a text can stand in a string as it is. Most of what is read and written is looked at
/// here: eight bytes at a time.
#[inline(never)]
fn plain_length(text: &str) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const TOPS: u64 = u64::from_ne_bytes([0x80; 8]);
    // The top bit of each byte that is below `least`, 128 at most. What is carried may add bytes above
    // one that is: the first is right.
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

/// What cannot stand in a string as it is.
fn needs_escape(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | 0..=0x1f)
}

/// Writes a text from front to back. It puts the commas; the caller closes what it opens.
#[derive(Default)]
pub(crate) struct Writer {
    text: String,
}

impl Writer {
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self { text: String::with_capacity(bytes) }
    }

    /// What was written.
    pub(crate) fn finish(self) -> String {
        self.text
    }

    pub(crate) fn object(&mut self, members: impl FnOnce(&mut Self)) {
        self.value("{");
        members(self);
        self.text.push('}');
    }

    pub(crate) fn array(&mut self, elements: impl FnOnce(&mut Self)) {
        self.value("[");
        elements(self);
        self.text.push(']');
    }

    /// A member's name, to be followed by its value.
    pub(crate) fn name(&mut self, name: &str) -> &mut Self {
        self.joined(&[name])
    }

    /// A name that is put together from parts.
    pub(crate) fn joined(&mut self, parts: &[&str]) -> &mut Self {
        self.strings(parts);
        self.text.push(':');
        self
    }

    pub(crate) fn string(&mut self, text: &str) {
        self.strings(&[text]);
    }

    /// A string that `write` appends, and that holds nothing to escape.
    pub(crate) fn plain(&mut self, write: impl FnOnce(&mut String)) {
        self.value("\"");
        write(&mut self.text);
        self.text.push('"');
    }

    pub(crate) fn integer(&mut self, number: i128) {
        self.value("");
        push_integer(&mut self.text, number);
    }

    pub(crate) fn boolean(&mut self, value: bool) {
        self.value(if value { "true" } else { "false" });
    }

    /// One string of several parts.
    pub(crate) fn strings(&mut self, parts: &[&str]) {
        self.value("\"");
        for part in parts {
            if plain_length(part) < part.len() {
                part.chars().for_each(|char| self.char(char));
            } else {
                self.text.push_str(part);
            }
        }
        self.text.push('"');
    }

    fn char(&mut self, char: char) {
        match char {
            '"' | '\\' => self.text.extend(['\\', char]),
            '\0'..='\x1f' => {
                let hex = |nibble| char::from_digit(nibble, 16).unwrap_or('0');
                let code = u32::from(char);
                self.text.push_str("\\u00");
                self.text.extend([hex(code >> 4), hex(code & 0xf)]);
            }
            _ => self.text.push(char),
        }
    }

    /// The first of a value's text, after a comma unless it is the first of its kind.
    fn value(&mut self, text: &str) {
        if !matches!(self.text.as_bytes().last(), None | Some(b'{' | b'[' | b':')) {
            self.text.push(',');
        }
        self.text.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use std::{format, string::ToString, vec::Vec};

    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    /// A value of any shape, read through the pull interface.
    fn tree(json: &mut Reader<'_>) -> Parsed<Value> {
        Ok(match json.peek().ok_or(Malformed)? {
            b'{' => {
                let mut members = serde_json::Map::new();
                json.object()?;
                while let Some(name) = json.name()? {
                    members.insert(name.into_owned(), tree(json)?);
                }
                Value::Object(members)
            }
            b'[' => {
                let mut elements = Vec::new();
                json.array()?;
                while json.element()? {
                    elements.push(tree(json)?);
                }
                Value::Array(elements)
            }
            b'"' => Value::String(json.string()?.into_owned()),
            b't' | b'f' => Value::Bool(json.boolean()?),
            b'n' => {
                let none = json.optional(Reader::boolean)?;
                assert_eq!(none, None);
                Value::Null
            }
            _ => {
                let text = json.number()?;
                serde_json::from_str(text).map_err(|_| Malformed)?
            }
        })
    }

    fn write(json: &mut Writer, value: &Value) {
        match value {
            Value::Null => json.value("null"),
            Value::Bool(value) => json.boolean(*value),
            Value::Number(number) => json.integer(number.as_i64().expect("whole").into()),
            Value::String(text) => json.string(text),
            Value::Array(elements) => json.array(|json| elements.iter().for_each(|value| write(json, value))),
            Value::Object(members) => json.object(|json| {
                members.iter().for_each(|(name, value)| write(json.name(name), value));
            }),
        }
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
            "[\"\\\\/\u{0}-\u{1f}a😀é]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    /// Both say the same of a text: what it is, or that it is not JSON.
    fn agree(text: &str) {
        let theirs = serde_json::from_str::<Value>(text).ok();
        assert_eq!(Reader::read(text, tree).ok(), theirs, "{text:?}");
        // What is skipped may be a number that no `f64` holds; what they skip, half of a surrogate pair.
        let skipped = Reader::read(text, Reader::skip).is_ok();
        assert!(skipped || theirs.is_none(), "{text:?}");
        assert!(!skipped || serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok(), "{text:?}");
    }

    /// Eight bytes are looked at together: each byte there is, in each place, beside each that borrows from it.
    #[test]
    fn what_needs_an_escape_is_found_in_every_place() {
        for byte in 0..0x80_u8 {
            for before in 0..20 {
                for after in ["", "\u{1f}", "\u{7f}\"", "é\\ more than eight bytes"] {
                    let text = format!("{}{}{after}", "~".repeat(before), char::from(byte));
                    assert_eq!(
                        plain_length(&text),
                        text.bytes().position(needs_escape).unwrap_or(text.len()),
                        "{text:?}"
                    );
                }
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_by_others(value in any_value()) {
            let mut json = Writer::default();
            write(&mut json, &value);
            prop_assert_eq!(serde_json::from_str::<Value>(&json.finish()).expect("JSON"), value);
        }

        #[test]
        fn what_others_write_is_read(value in any_value()) {
            agree(&value.to_string());
            agree(&serde_json::to_string_pretty(&value).expect("JSON"));
        }

        #[test]
        fn a_broken_text_is_refused_just_where_others_refuse_it(
            value in any_value(), at in any::<prop::sample::Index>(), with in "[\\[\\]{}\",:0-9.eE+\\-\\\\u tfn\n]{0,2}"
        ) {
            let text = value.to_string();
            let at = at.index(text.len() + 1);
            prop_assume!(text.is_char_boundary(at));
            agree(&text[..at]);
            agree(&format!("{}{with}{}", &text[..at], &text[at..]));
            let rest = text[at..].chars().skip(1).collect::<String>();
            agree(&format!("{}{with}{rest}", &text[..at]));
        }

        #[test]
        fn any_small_text_is_judged_as_others_do(text in "[\\[\\]{}\",:019.eE+\\-\\\\u8dDcC truefalsnl\n]{0,12}") {
            agree(&text);
        }

        #[test]
        fn every_escape_is_judged_as_others_do(text in "\"(\\\\([\"\\\\/bfnrtx]|u[0-9a-fA-F]{3,4}|u[dD][89a-fA-F]00))*\"") {
            agree(&text);
        }
    }

    #[test]
    fn strings_are_borrowed_unless_they_hold_an_escape() {
        assert!(matches!(Reader::read(r#""a b""#, Reader::string), Ok(Cow::Borrowed("a b"))));
        assert!(matches!(Reader::read(r#""a\nb""#, Reader::string), Ok(Cow::Owned(text)) if text == "a\nb"));
    }

    #[test]
    fn nesting_is_followed_to_its_bound_and_refused_beyond() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(Reader::read(&nested(128), Reader::skip).is_ok());
        assert!(Reader::read(&nested(129), Reader::skip).is_err());
        assert!(Reader::read(&nested(100_000), Reader::skip).is_err());
        // Beside each other they do not add up.
        let wide = format!("[{}[]]", "[{}],".repeat(1000));
        assert!(Reader::read(&wide, Reader::skip).is_ok());
    }
}
