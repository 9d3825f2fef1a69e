//! A reader that reads one token after the other from borrowed text.

use alloc::borrow::Cow;

use super::unescaped::unescaped_length;

/// The deepest nesting that is read.
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

    /// The next member's name; its value must be read next. None: the object is at its end.
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
            let end = unescaped_length(rest);
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

    /// The result of `value`; none for `null`.
    pub(crate) fn optional<T>(&mut self, value: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<Option<T>> {
        if self.word("null") { Ok(None) } else { value(self).map(Some) }
    }

    /// Skips any value.
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

    pub(super) fn number(&mut self) -> Parsed<&'a str> {
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

    /// The character of an escape, after its backslash.
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

    /// Reads `word` if it follows; whether it did.
    fn word(&mut self, word: &str) -> bool {
        self.peek();
        let found = self.text.get(self.at..).is_some_and(|rest| rest.starts_with(word));
        if found {
            self.at = self.at.saturating_add(word.len());
        }
        found
    }

    /// The next byte that is not blank, without reading it.
    pub(super) fn peek(&mut self) -> Option<u8> {
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
