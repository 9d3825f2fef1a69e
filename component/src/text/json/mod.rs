//! JSON for the table: a reader that reads one token after the other from borrowed text, and a writer
//! that appends to one string. Neither builds a tree.
//!
//! The reader accepts what RFC 8259 calls JSON and nothing else; the tests compare it with `serde_json`.
//! That crate is not used in the component because its generic code is larger than all of the rules.

mod reader;
mod unescaped;
mod writer;

pub(crate) use self::{
    reader::{Malformed, Parsed, Reader},
    writer::Writer,
};

#[cfg(test)]
mod tests {
    use std::{
        borrow::Cow,
        format,
        string::{String, ToString},
        vec::Vec,
    };

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
