//! Condition expressions: the part of DynamoDB's language that our requests use.

use std::collections::BTreeMap;

use super::item::{Item, Value};

/// A condition, with its aliases resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Every part holds; true where there is none.
    All(Vec<Condition>),
    /// Some part holds.
    Any(Vec<Condition>),
    /// The attribute is there.
    Exists(String),
    /// The attribute is not there.
    Absent(String),
    /// A comparison.
    Compare(Operand, Comparison, Operand),
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// An attribute of the item.
    Attribute(String),
    /// A value of the request.
    Value(Value),
}

/// How two operands are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    More,
    /// `>=`
    AtLeast,
}

impl Condition {
    /// Whether it holds on an item; none: there is no item, which has no attribute either.
    #[must_use]
    pub fn holds(&self, item: Option<&Item>) -> bool {
        match self {
            Self::All(parts) => parts.iter().all(|part| part.holds(item)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(item)),
            Self::Exists(name) => item.is_some_and(|item| item.contains_key(name)),
            Self::Absent(name) => item.is_none_or(|item| !item.contains_key(name)),
            Self::Compare(left, comparison, right) => {
                let value = |operand: &Operand| match operand {
                    Operand::Attribute(name) => item.and_then(|item| item.get(name)).cloned(),
                    Operand::Value(value) => Some(value.clone()),
                };
                comparison.holds(value(left).as_ref(), value(right).as_ref())
            }
        }
    }

    /// The attributes it names.
    #[must_use]
    pub fn attributes(&self) -> Vec<&str> {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().flat_map(Self::attributes).collect(),
            Self::Exists(name) | Self::Absent(name) => vec![name],
            Self::Compare(left, _, right) => [left, right]
                .into_iter()
                .filter_map(|operand| match operand {
                    Operand::Attribute(name) => Some(name.as_str()),
                    Operand::Value(_) => None,
                })
                .collect(),
        }
    }
}

impl Comparison {
    /// An attribute that is missing, or of another type, is unequal to everything and neither
    /// less nor more.
    fn holds(self, left: Option<&Value>, right: Option<&Value>) -> bool {
        let (Some(left), Some(right)) = (left, right) else { return self == Self::NotEqual };
        let order = match (left, right) {
            (Value::Number(left), Value::Number(right)) => left.cmp(right),
            (Value::Text(left), Value::Text(right)) => left.as_bytes().cmp(right.as_bytes()),
            (Value::Boolean(left), Value::Boolean(right)) => {
                return match self {
                    Self::Equal => left == right,
                    Self::NotEqual => left != right,
                    _ => false,
                };
            }
            (Value::Null, Value::Null) => return self == Self::Equal,
            _ => return self == Self::NotEqual,
        };
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::AtMost => order.is_le(),
            Self::More => order.is_gt(),
            Self::AtLeast => order.is_ge(),
        }
    }
}

/// What aliases stand for.
#[derive(Debug, Default)]
pub struct Aliases {
    /// `#a0` and so on.
    pub names: BTreeMap<String, String>,
    /// `:v0` and so on.
    pub values: BTreeMap<String, Value>,
}

impl Aliases {
    /// An attribute's name.
    ///
    /// # Errors
    /// Says which alias is not defined.
    pub fn name(&self, alias: &str) -> Result<String, String> {
        self.names.get(alias).cloned().ok_or_else(|| format!("{alias:?} is no attribute name's alias"))
    }

    /// A value.
    ///
    /// # Errors
    /// Says which alias is not defined.
    pub fn value(&self, alias: &str) -> Result<Value, String> {
        self.values.get(alias).cloned().ok_or_else(|| format!("{alias:?} is no value's alias"))
    }

    fn operand(&self, alias: &str) -> Result<Operand, String> {
        if alias.starts_with(':') {
            return Ok(Operand::Value(self.value(alias)?));
        }
        Ok(Operand::Attribute(self.name(alias)?))
    }
}

/// Words and punctuation of an expression.
#[must_use]
pub fn tokens(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '(' | ')' | ',' => 1,
            '<' | '>' if rest[1..].starts_with(['=', '>']) => 2,
            '<' | '>' | '=' => 1,
            _ => rest.find([' ', '(', ')', ',', '=', '<', '>']).unwrap_or(rest.len()),
        };
        found.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    found
}

/// Reads a condition expression.
///
/// # Errors
/// Says what was read and what was expected.
pub fn parse(text: &str, aliases: &Aliases) -> Result<Condition, String> {
    let tokens = tokens(text);
    let mut rest = tokens.as_slice();
    let condition = any(&mut rest, aliases)?;
    if rest.is_empty() { Ok(condition) } else { Err(format!("{:?} after the end of a condition", rest[0])) }
}

fn any(rest: &mut &[&str], aliases: &Aliases) -> Result<Condition, String> {
    let mut parts = vec![all(rest, aliases)?];
    while take_if(rest, "OR") {
        parts.push(all(rest, aliases)?);
    }
    Ok(if parts.len() == 1 { parts.remove(0) } else { Condition::Any(parts) })
}

fn all(rest: &mut &[&str], aliases: &Aliases) -> Result<Condition, String> {
    let mut parts = vec![part(rest, aliases)?];
    while take_if(rest, "AND") {
        parts.push(part(rest, aliases)?);
    }
    Ok(if parts.len() == 1 { parts.remove(0) } else { Condition::All(parts) })
}

fn part(rest: &mut &[&str], aliases: &Aliases) -> Result<Condition, String> {
    let token = take(rest)?;
    if token == "(" {
        let inner = any(rest, aliases)?;
        expect(rest, ")")?;
        return Ok(inner);
    }
    if matches!(token, "attribute_exists" | "attribute_not_exists") {
        expect(rest, "(")?;
        let name = aliases.name(take(rest)?)?;
        expect(rest, ")")?;
        return Ok(if token == "attribute_exists" {
            Condition::Exists(name)
        } else {
            Condition::Absent(name)
        });
    }
    let left = aliases.operand(token)?;
    let comparison = match take(rest)? {
        "=" => Comparison::Equal,
        "<>" => Comparison::NotEqual,
        "<" => Comparison::Less,
        "<=" => Comparison::AtMost,
        ">" => Comparison::More,
        ">=" => Comparison::AtLeast,
        other => return Err(format!("{other:?} where a comparison was expected")),
    };
    Ok(Condition::Compare(left, comparison, aliases.operand(take(rest)?)?))
}

pub(super) fn take<'a>(rest: &mut &[&'a str]) -> Result<&'a str, String> {
    let (first, others) = rest.split_first().ok_or("an expression that ends too early")?;
    *rest = others;
    Ok(first)
}

pub(super) fn take_if(rest: &mut &[&str], wanted: &str) -> bool {
    let found = rest.first() == Some(&wanted);
    if found {
        *rest = &rest[1..];
    }
    found
}

pub(super) fn expect(rest: &mut &[&str], wanted: &str) -> Result<(), String> {
    let found = take(rest)?;
    if found == wanted { Ok(()) } else { Err(format!("{found:?} where {wanted:?} was expected")) }
}
