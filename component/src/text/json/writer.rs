//! Appends to one string; builds no tree.

use alloc::string::String;

use super::unescaped::unescaped_length;
use crate::text::number::push_integer;

/// Writes a text from front to back. It writes the commas; the caller closes what it opens.
#[derive(Default)]
pub(crate) struct Writer {
    text: String,
}

impl Writer {
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self { text: String::with_capacity(bytes) }
    }

    /// The text that was written.
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

    /// A member's name, composed from parts.
    pub(crate) fn joined(&mut self, parts: &[&str]) -> &mut Self {
        self.strings(parts);
        self.text.push(':');
        self
    }

    pub(crate) fn string(&mut self, text: &str) {
        self.strings(&[text]);
    }

    /// A string that `write` appends; it must hold nothing to escape.
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
            if unescaped_length(part) < part.len() {
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

    /// The start of a value's text, after a comma where one is needed.
    pub(super) fn value(&mut self, text: &str) {
        if !matches!(self.text.as_bytes().last(), None | Some(b'{' | b'[' | b':')) {
            self.text.push(',');
        }
        self.text.push_str(text);
    }
}
