//! A conditional write as data, and its encoding as a DynamoDB request.
//!
//! The rules produce [`ConditionalWrite`]s; this file is the only one that spells an expression.
//! Names and values go through positional aliases, so no name is ever part of expression text.

use alloc::{
    borrow::Cow,
    format,
    string::{String, ToString},
    sync::Arc,
    vec::Vec,
};
use core::fmt::{self, Write as _};

use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::{
    answer::{Call, Resend},
    error::Error,
};

/// A limit's attribute: `b_{limit}_{suffix}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is documented at its field of `LimitState`")]
pub enum Field {
    Tokens,
    Capacity,
    RefillAmount,
    RefillPeriod,
    Consumed,
    ResetAfter,
    WindowStart,
    WindowApplied,
    ConsumedMark,
    GrantCount,
    ToppedUp,
    Soft,
}

impl Field {
    const ALL: [(Self, &'static str); 12] = [
        (Self::Tokens, "tk"),
        (Self::Capacity, "cp"),
        (Self::RefillAmount, "ra"),
        (Self::RefillPeriod, "rp"),
        (Self::Consumed, "tc"),
        (Self::ResetAfter, "rsa"),
        (Self::WindowStart, "ws"),
        (Self::WindowApplied, "wa"),
        (Self::ConsumedMark, "wtc"),
        (Self::GrantCount, "gc"),
        (Self::ToppedUp, "tu"),
        (Self::Soft, "soft"),
    ];

    pub(crate) fn from_suffix(suffix: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, other)| *other == suffix).map(|(field, _)| *field)
    }

    /// The suffix as stored.
    #[must_use]
    pub fn suffix(self) -> &'static str {
        Self::ALL.iter().find(|(field, _)| *field == self).map_or("", |(_, suffix)| suffix)
    }
}

/// An attribute of an item.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Attribute {
    /// One that the item has once.
    Item(Cow<'static, str>),
    /// One that each limit has.
    Limit(Arc<str>, Field),
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Item(name) => f.write_str(name),
            Self::Limit(limit, field) => {
                f.write_str("b_")?;
                f.write_str(limit)?;
                f.write_str("_")?;
                f.write_str(field.suffix())
            }
        }
    }
}

impl From<&'static str> for Attribute {
    fn from(name: &'static str) -> Self {
        Self::Item(Cow::Borrowed(name))
    }
}

/// A value in a write.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// A whole number.
    Number(i128),
    /// A string.
    Text(String),
    /// A boolean.
    Boolean(bool),
    /// Another attribute of the same item.
    Attribute(Attribute),
}

impl From<i128> for Value {
    fn from(number: i128) -> Self {
        Self::Number(number)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(number.into())
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

/// How an attribute is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Test {
    Exists,
    Absent,
    Equal,
    NotEqual,
    Less,
    AtMost,
    More,
    AtLeast,
}

impl Test {
    const fn operator(self) -> &'static str {
        match self {
            Self::Exists | Self::Absent => "",
            Self::Equal => " = ",
            Self::NotEqual => " <> ",
            Self::Less => " < ",
            Self::AtMost => " <= ",
            Self::More => " > ",
            Self::AtLeast => " >= ",
        }
    }
}

/// One comparison of a stored attribute.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Term {
    /// What is compared.
    pub attribute: Attribute,
    /// How.
    pub test: Test,
    /// With what; none for `Exists` and `Absent`.
    pub operand: Option<Value>,
}

impl Term {
    pub(crate) fn exists(attribute: impl Into<Attribute>) -> Self {
        Self { attribute: attribute.into(), test: Test::Exists, operand: None }
    }

    pub(crate) fn absent(attribute: impl Into<Attribute>) -> Self {
        Self { attribute: attribute.into(), test: Test::Absent, operand: None }
    }

    pub(crate) fn compare(attribute: impl Into<Attribute>, test: Test, operand: impl Into<Value>) -> Self {
        Self { attribute: attribute.into(), test, operand: Some(operand.into()) }
    }

    /// The attribute is just as it was read: equal, or absent.
    pub(crate) fn as_read(attribute: impl Into<Attribute>, read: Option<impl Into<Value>>) -> Self {
        match read {
            Some(value) => Self::compare(attribute, Test::Equal, value),
            None => Self::absent(attribute),
        }
    }
}

/// An attribute and what it is set to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Assignment {
    /// The attribute.
    pub attribute: Attribute,
    /// Its value.
    pub value: Value,
}

impl Assignment {
    pub(crate) fn new(attribute: impl Into<Attribute>, value: impl Into<Value>) -> Self {
        Self { attribute: attribute.into(), value: value.into() }
    }
}

/// One change of an update.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// `SET attribute = value`
    Set(Assignment),
    /// `SET attribute = if_not_exists(source, 0)`
    Snapshot {
        /// What is set.
        attribute: Attribute,
        /// What it is copied from.
        source: Attribute,
    },
    /// `ADD attribute value`
    Add(Assignment),
    /// `REMOVE attribute`
    Remove(Attribute),
}

impl Change {
    pub(crate) fn set(attribute: impl Into<Attribute>, value: impl Into<Value>) -> Self {
        Self::Set(Assignment::new(attribute, value))
    }

    pub(crate) fn add(attribute: impl Into<Attribute>, value: impl Into<Value>) -> Self {
        Self::Add(Assignment::new(attribute, value))
    }

    pub(crate) fn remove(attribute: impl Into<Attribute>) -> Self {
        Self::Remove(attribute.into())
    }
}

/// What a write does when its conditions hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// The whole item, `PK` and `SK` aside.
    Put(Vec<Assignment>),
    /// Single attributes.
    Update(Vec<Change>),
    /// Nothing: the conditions are the point.
    Check,
}

/// One write that lands only if every clause holds; a clause holds if any of its terms does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ConditionalWrite {
    /// Partition key.
    pub pk: String,
    /// Sort key.
    pub sk: Cow<'static, str>,
    /// What it does.
    pub action: Action,
    /// When.
    pub clauses: Vec<Vec<Term>>,
}

/// Which images a single update answers with.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Images {
    /// The new one on success, the old one on failure.
    Both,
    /// None: nobody looks at the reply.
    Neither,
}

impl ConditionalWrite {
    /// The write as a request of its own.
    pub(crate) fn call(&self, table: &str, images: Images) -> Call {
        let wanted = images == Images::Both;
        let (operation, returned) = match &self.action {
            Action::Update(_) => ("UpdateItem", wanted.then_some("ALL_NEW")),
            Action::Put(_) => ("PutItem", None),
            Action::Check => return transaction(table, core::slice::from_ref(self)),
        };
        let body = Encoder::default().operation(table, self, returned, wanted);
        Call { operation, body: to_json(&body), resend: resend(core::slice::from_ref(self)) }
    }

    /// Whether its own conditions keep it from landing twice: a put where nothing was, or an
    /// update that moves the lock it was read under.
    fn lands_once(&self) -> bool {
        let rf = Attribute::from("rf");
        match &self.action {
            Action::Put(_) => self.clauses.iter().any(|clause| *clause == [Term::absent("PK")]),
            Action::Update(changes) => {
                let moved =
                    changes.iter().any(|change| matches!(change, Change::Set(set) if set.attribute == rf));
                let pinned = |clause: &Vec<Term>| matches!(clause.as_slice(), [term] if term.attribute == rf && term.test == Test::Equal);
                moved && self.clauses.iter().any(pinned)
            }
            Action::Check => false,
        }
    }

    /// What it adds to the balances, one by one.
    fn additions(&self) -> impl Iterator<Item = &Value> {
        let changes = match &self.action {
            Action::Update(changes) => changes.as_slice(),
            _ => &[],
        };
        changes.iter().filter_map(|change| match change {
            Change::Add(Assignment { attribute: Attribute::Limit(_, Field::Tokens), value }) => Some(value),
            _ => None,
        })
    }
}

/// What a second landing of these writes could do (F22). They land together or not at all.
fn resend(writes: &[ConditionalWrite]) -> Resend {
    let additions = || writes.iter().flat_map(ConditionalWrite::additions);
    if additions().next().is_none() && writes.iter().all(|write| matches!(write.action, Action::Update(_))) {
        return Resend::Idempotent;
    }
    // A second landing is refused, and the sequence that hears of it takes what it came for anew.
    if writes.iter().any(ConditionalWrite::lands_once) {
        return Resend::MayDebitTwice;
    }
    if additions().all(|value| matches!(value, Value::Number(number) if *number <= 0)) {
        Resend::MayDebitTwice
    } else {
        Resend::Never
    }
}

/// Several writes that land together or not at all.
pub(crate) fn transaction(table: &str, writes: &[ConditionalWrite]) -> Call {
    #[derive(Serialize)]
    enum Item<'w> {
        Put(Operation<'w>),
        Update(Operation<'w>),
        ConditionCheck(Operation<'w>),
    }
    #[derive(Serialize)]
    #[serde(rename_all = "PascalCase")]
    struct Transaction<'w> {
        transact_items: Vec<Item<'w>>,
    }
    let item = |write| {
        let operation = Encoder::default().operation(table, write, None, true);
        match write.action {
            Action::Put(_) => Item::Put(operation),
            Action::Update(_) => Item::Update(operation),
            Action::Check => Item::ConditionCheck(operation),
        }
    };
    let body = Transaction { transact_items: writes.iter().map(item).collect() };
    Call { operation: "TransactWriteItems", body: to_json(&body), resend: resend(writes) }
}

/// Writes that a transaction may hold at most.
const MAX_WRITES: usize = 100;

/// One write as a request of its own; several, or a mere check, as a transaction.
///
/// # Errors
/// `invalid-request` where there is no write, or more than 100.
pub fn encode(table: &str, writes: &[ConditionalWrite]) -> Result<Call, Error> {
    match writes {
        [write] => Ok(write.call(table, Images::Both)),
        writes if (1..=MAX_WRITES).contains(&writes.len()) => Ok(transaction(table, writes)),
        _ => Err(Error::invalid(format!(
            "{} writes, expected 1 to {MAX_WRITES}; nothing was written",
            writes.len()
        ))),
    }
}

/// Reads whole items, at most 100 of them.
pub(crate) fn batch_read<K: AsRef<str>>(table: &str, keys: &[(String, K)], consistent: bool) -> Call {
    #[derive(Serialize)]
    #[serde(rename_all = "PascalCase")]
    struct Read<'w> {
        request_items: OneTable<'w>,
    }
    struct OneTable<'w>(&'w str, Keys<'w>);
    impl Serialize for OneTable<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut map = serializer.serialize_map(Some(1))?;
            map.serialize_entry(self.0, &self.1)?;
            map.end()
        }
    }
    #[derive(Serialize)]
    #[serde(rename_all = "PascalCase")]
    struct Keys<'w> {
        keys: Vec<Key<'w>>,
        #[serde(skip_serializing_if = "core::ops::Not::not")]
        consistent_read: bool,
    }
    let keys = keys.iter().map(|(pk, sk)| Key { pk: Text(pk), sk: Text(sk.as_ref()) }).collect();
    let body = Read { request_items: OneTable(table, Keys { keys, consistent_read: consistent }) };
    Call { operation: "BatchGetItem", body: to_json(&body), resend: Resend::Idempotent }
}

fn to_json(body: &impl Serialize) -> String {
    // Serialising these structures into memory cannot fail; an empty body is refused by any table.
    serde_json::to_string(body).unwrap_or_default()
}

/// `{"S": text}`
struct Text<'w>(&'w str);

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("S", self.0)?;
        map.end()
    }
}

#[derive(Serialize)]
struct Key<'w> {
    #[serde(rename = "PK")]
    pk: Text<'w>,
    #[serde(rename = "SK")]
    sk: Text<'w>,
}

/// An item as the table spells it.
struct Item<'w> {
    key: Key<'w>,
    assignments: &'w [Assignment],
}

impl Serialize for Item<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("PK", &self.key.pk)?;
        map.serialize_entry("SK", &self.key.sk)?;
        for Assignment { attribute, value } in self.assignments {
            map.serialize_entry(&Displayed(attribute), &Literal(value))?;
        }
        map.end()
    }
}

struct Displayed<'w>(&'w Attribute);

impl Serialize for Displayed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self.0)
    }
}

struct Literal<'w>(&'w Value);

impl Serialize for Literal<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        match self.0 {
            Value::Number(number) => map.serialize_entry("N", &number.to_string())?,
            Value::Text(text) => map.serialize_entry("S", text)?,
            Value::Boolean(value) => map.serialize_entry("BOOL", value)?,
            // Only ever an operand, and operands that are attributes become names, not values.
            Value::Attribute(_) => map.serialize_entry("NULL", &true)?,
        }
        map.end()
    }
}

/// `{"#a0": …}` or `{":v0": …}`
struct Aliases<'w, T>(&'static str, Vec<&'w T>);

impl<'w, T: PartialEq> Aliases<'w, T> {
    /// The number of the alias for `wanted`, made if there is none yet.
    fn of(&mut self, wanted: &'w T) -> usize {
        if let Some(index) = self.1.iter().position(|other| *other == wanted) {
            return index;
        }
        self.1.push(wanted);
        self.1.len().saturating_sub(1)
    }
}

impl<T> Aliases<'_, T> {
    fn is_empty(&self) -> bool {
        self.1.is_empty()
    }

    fn entries<S: Serializer, E: Serialize>(
        &self,
        serializer: S,
        entry: fn(&T) -> E,
    ) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.1.len()))?;
        for (index, item) in self.1.iter().enumerate() {
            map.serialize_entry(&format_args!("{}{index}", self.0).to_string(), &entry(item))?;
        }
        map.end()
    }
}

impl Serialize for Aliases<'_, Attribute> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.entries(serializer, ToString::to_string)
    }
}

impl Serialize for Aliases<'_, Value> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.1.len()))?;
        for (index, value) in self.1.iter().enumerate() {
            map.serialize_entry(&format!("{}{index}", self.0), &Literal(value))?;
        }
        map.end()
    }
}

/// The members of `UpdateItem`, `PutItem` and of each item of a transaction.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Operation<'w> {
    table_name: &'w str,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<Key<'w>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<Item<'w>>,
    #[serde(skip_serializing_if = "String::is_empty")]
    update_expression: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    condition_expression: String,
    #[serde(skip_serializing_if = "Aliases::is_empty")]
    expression_attribute_names: Aliases<'w, Attribute>,
    #[serde(skip_serializing_if = "Aliases::is_empty")]
    expression_attribute_values: Aliases<'w, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    return_values: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    return_values_on_condition_check_failure: Option<&'static str>,
}

/// Spells expressions while it hands out aliases.
struct Encoder<'w> {
    names: Aliases<'w, Attribute>,
    values: Aliases<'w, Value>,
}

impl Default for Encoder<'_> {
    fn default() -> Self {
        Self { names: Aliases("#a", Vec::with_capacity(24)), values: Aliases(":v", Vec::with_capacity(24)) }
    }
}

/// Zero, for `if_not_exists`.
static ZERO: Value = Value::Number(0);

impl<'w> Encoder<'w> {
    fn operation(
        mut self,
        table: &'w str,
        write: &'w ConditionalWrite,
        returned: Option<&'static str>,
        failure_image: bool,
    ) -> Operation<'w> {
        let key = Key { pk: Text(&write.pk), sk: Text(&write.sk) };
        let (key, item, update_expression) = match &write.action {
            Action::Put(assignments) => (None, Some(Item { key, assignments }), String::new()),
            Action::Update(changes) => (Some(key), None, self.update(changes)),
            Action::Check => (Some(key), None, String::new()),
        };
        let condition_expression = self.condition(&write.clauses);
        Operation {
            table_name: table,
            key,
            item,
            update_expression,
            condition_expression,
            expression_attribute_names: self.names,
            expression_attribute_values: self.values,
            return_values: returned,
            return_values_on_condition_check_failure: failure_image.then_some("ALL_OLD"),
        }
    }

    fn name(&mut self, out: &mut String, attribute: &'w Attribute) {
        let index = self.names.of(attribute);
        // Writing into a string cannot fail.
        let _ = write!(out, "#a{index}");
    }

    fn value(&mut self, out: &mut String, value: &'w Value) {
        if let Value::Attribute(attribute) = value {
            return self.name(out, attribute);
        }
        let index = self.values.of(value);
        let _ = write!(out, ":v{index}");
    }

    fn update(&mut self, changes: &'w [Change]) -> String {
        let mut out = String::with_capacity(256);
        type Belongs = fn(&Change) -> bool;
        let clauses: [(&str, Belongs); 3] = [
            ("SET ", |change| matches!(change, Change::Set(_) | Change::Snapshot { .. })),
            ("ADD ", |change| matches!(change, Change::Add(_))),
            ("REMOVE ", |change| matches!(change, Change::Remove(_))),
        ];
        for (keyword, belongs) in clauses {
            let mut separator = keyword;
            for change in changes.iter().filter(|change| belongs(change)) {
                if separator == keyword && !out.is_empty() {
                    out.push(' ');
                }
                out.push_str(separator);
                separator = ", ";
                match change {
                    Change::Set(Assignment { attribute, value }) => {
                        self.name(&mut out, attribute);
                        out.push_str(" = ");
                        self.value(&mut out, value);
                    }
                    Change::Snapshot { attribute, source } => {
                        self.name(&mut out, attribute);
                        out.push_str(" = if_not_exists(");
                        self.name(&mut out, source);
                        out.push_str(", ");
                        self.value(&mut out, &ZERO);
                        out.push(')');
                    }
                    Change::Add(Assignment { attribute, value }) => {
                        self.name(&mut out, attribute);
                        out.push(' ');
                        self.value(&mut out, value);
                    }
                    Change::Remove(attribute) => self.name(&mut out, attribute),
                }
            }
        }
        out
    }

    fn condition(&mut self, clauses: &'w [Vec<Term>]) -> String {
        let mut out = String::with_capacity(512);
        for clause in clauses {
            if !out.is_empty() {
                out.push_str(" AND ");
            }
            let (open, close) = if clause.len() > 1 { ("(", ")") } else { ("", "") };
            out.push_str(open);
            for (index, term) in clause.iter().enumerate() {
                if index > 0 {
                    out.push_str(" OR ");
                }
                self.term(&mut out, term);
            }
            out.push_str(close);
        }
        out
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
