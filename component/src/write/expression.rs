//! Writes the expressions of a request. Names and values are replaced by positional aliases, so no name
//! is ever part of an expression's text.

use alloc::{string::String, vec::Vec};

use super::{
    change::{Change, Verb},
    condition::{Term, Test},
    value::{Value, literal},
};
use crate::{
    item::Attribute,
    text::{json::Writer, push_integer},
};

/// Writes expressions and assigns aliases: `#a0` for a name, `:v0` for a value.
pub(super) struct Aliases<'w> {
    names: Vec<&'w Attribute>,
    values: Vec<&'w Value>,
}

/// Zero, for `if_not_exists`.
static ZERO: Value = Value::Number(0);

/// Appends an alias with the number of `wanted`, which it gets if it has none yet.
fn push_alias<'w, T: PartialEq>(out: &mut String, prefix: &str, aliased: &mut Vec<&'w T>, wanted: &'w T) {
    let index = aliased.iter().position(|other| *other == wanted).unwrap_or_else(|| {
        aliased.push(wanted);
        aliased.len().saturating_sub(1)
    });
    push_numbered(out, prefix, index);
}

fn push_numbered(out: &mut String, prefix: &str, index: usize) {
    out.push_str(prefix);
    push_integer(out, i128::try_from(index).unwrap_or_default());
}

impl<'w> Aliases<'w> {
    pub(super) fn new() -> Self {
        Self { names: Vec::with_capacity(24), values: Vec::with_capacity(24) }
    }

    /// What the aliases stand for.
    pub(super) fn members(&self, json: &mut Writer) {
        let alias = |prefix, index| {
            let mut alias = String::new();
            push_numbered(&mut alias, prefix, index);
            alias
        };
        if !self.names.is_empty() {
            json.name("ExpressionAttributeNames").object(|json| {
                for (index, attribute) in self.names.iter().enumerate() {
                    json.name(&alias("#a", index)).strings(&attribute.parts());
                }
            });
        }
        if !self.values.is_empty() {
            json.name("ExpressionAttributeValues").object(|json| {
                for (index, value) in self.values.iter().enumerate() {
                    literal(json.name(&alias(":v", index)), Some(value));
                }
            });
        }
    }

    fn name(&mut self, out: &mut String, attribute: &'w Attribute) {
        push_alias(out, "#a", &mut self.names, attribute);
    }

    fn value(&mut self, out: &mut String, value: &'w Value) {
        match value {
            Value::Attribute(attribute) => self.name(out, attribute),
            value => push_alias(out, ":v", &mut self.values, value),
        }
    }

    pub(super) fn update(&mut self, out: &mut String, changes: &'w [Change]) {
        let mut gap = "";
        for keyword in ["SET ", "ADD ", "REMOVE "] {
            let mut separator = keyword;
            for change in changes.iter().filter(|change| change.verb.keyword() == keyword) {
                out.push_str(core::mem::take(&mut gap));
                out.push_str(core::mem::replace(&mut separator, ", "));
                self.change(out, change);
            }
            if separator != keyword {
                gap = " ";
            }
        }
    }

    fn change(&mut self, out: &mut String, Change { attribute, verb, value }: &'w Change) {
        let (open, close) = match verb {
            Verb::Set => (" = ", None),
            Verb::Snapshot => (" = if_not_exists(", Some(", ")),
            Verb::Add => (" ", None),
            Verb::Remove => ("", None),
        };
        self.name(out, attribute);
        out.push_str(open);
        if let Some(value) = value {
            self.value(out, value);
        }
        if let Some(close) = close {
            out.push_str(close);
            self.value(out, &ZERO);
            out.push(')');
        }
    }

    pub(super) fn condition(&mut self, out: &mut String, clauses: &'w [Vec<Term>]) {
        let mut and = "";
        for clause in clauses {
            out.push_str(core::mem::replace(&mut and, " AND "));
            let (mut or, close) = if clause.len() > 1 { ("(", ")") } else { ("", "") };
            for term in clause {
                out.push_str(core::mem::replace(&mut or, " OR "));
                self.term(out, term);
            }
            out.push_str(close);
        }
    }

    fn term(&mut self, out: &mut String, term: &'w Term) {
        let function = match term.test {
            Test::Exists => "attribute_exists(",
            Test::Absent => "attribute_not_exists(",
            _ => "",
        };
        out.push_str(function);
        self.name(out, &term.attribute);
        if !function.is_empty() {
            out.push(')');
        } else if let Some(operand) = &term.operand {
            out.push_str(term.test.operator());
            self.value(out, operand);
        }
    }
}
