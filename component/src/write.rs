//! A conditional write as data, and its encoding as a DynamoDB request.
//!
//! The rules produce [`ConditionalWrite`]s; this file is the only one that spells an expression.
//! Names and values go through positional aliases, so no name is ever part of expression text.

use alloc::{borrow::Cow, string::String, sync::Arc, vec, vec::Vec};
use core::fmt;

use crate::{
    answer::{Call, Resend},
    error::Error,
    json::Writer,
    text::{decimal, push_integer},
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

impl Attribute {
    /// Its name as stored, in the parts it is put together from.
    pub(crate) fn parts(&self) -> [&str; 4] {
        match self {
            Self::Item(name) => [name, "", "", ""],
            Self::Limit(limit, field) => ["b_", limit, "_", field.suffix()],
        }
    }
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts().into_iter().try_for_each(|part| f.write_str(part))
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

/// The clauses of a write while they are put together.
pub(crate) trait Clauses {
    /// Adds a clause of one term.
    fn require(&mut self, term: Term);
}

impl Clauses for Vec<Vec<Term>> {
    // There are dozens of these: one copy, wherever it is called.
    #[inline(never)]
    fn require(&mut self, term: Term) {
        self.push(vec![term]);
    }
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
        let mut json = Writer::with_capacity(1024);
        body(&mut json, table, self, returned, wanted);
        Call { operation, body: json.finish(), resend: resend(core::slice::from_ref(self)) }
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
    let mut json = Writer::with_capacity(4096);
    json.object(|json| {
        json.name("TransactItems").array(|json| {
            for write in writes {
                let kind = match write.action {
                    Action::Put(_) => "Put",
                    Action::Update(_) => "Update",
                    Action::Check => "ConditionCheck",
                };
                json.object(|json| body(json.name(kind), table, write, None, true));
            }
        });
    });
    Call { operation: "TransactWriteItems", body: json.finish(), resend: resend(writes) }
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
        _ => Err(Error::invalid(&[&decimal(writes.len()), " writes, expected 1 to ", &decimal(MAX_WRITES)])),
    }
}

/// Reads whole items, at most 100 of them.
pub(crate) fn batch_read<K: AsRef<str>>(table: &str, keys: &[(String, K)], consistent: bool) -> Call {
    let mut json = Writer::with_capacity(2048);
    json.object(|json| {
        json.name("RequestItems").object(|json| {
            json.name(table).object(|json| {
                let each = |json: &mut Writer| {
                    keys.iter().for_each(|(pk, sk)| json.object(|json| key(json, pk, sk.as_ref())))
                };
                json.name("Keys").array(each);
                if consistent {
                    json.name("ConsistentRead").boolean(true);
                }
            });
        });
    });
    Call { operation: "BatchGetItem", body: json.finish(), resend: Resend::Idempotent }
}

/// The members of a key.
fn key(json: &mut Writer, pk: &str, sk: &str) {
    json.name("PK").object(|json| json.name("S").string(pk));
    json.name("SK").object(|json| json.name("S").string(sk));
}

/// An attribute's value, under its type tag.
fn literal(json: &mut Writer, value: &Value) {
    json.object(|json| match value {
        Value::Number(number) => json.name("N").plain(|out| push_integer(out, *number)),
        Value::Text(text) => json.name("S").string(text),
        Value::Boolean(value) => json.name("BOOL").boolean(*value),
        // Only ever an operand, and operands that are attributes become names, not values.
        Value::Attribute(_) => json.name("NULL").boolean(true),
    });
}

/// The body of `UpdateItem` or `PutItem`, or one item of a transaction.
fn body(
    json: &mut Writer,
    table: &str,
    write: &ConditionalWrite,
    returned: Option<&str>,
    failure_image: bool,
) {
    let mut aliases = Aliases { names: Vec::with_capacity(24), values: Vec::with_capacity(24) };
    json.object(|json| {
        json.name("TableName").string(table);
        match &write.action {
            Action::Put(assignments) => json.name("Item").object(|json| {
                key(json, &write.pk, &write.sk);
                for Assignment { attribute, value } in assignments {
                    literal(json.joined(&attribute.parts()), value);
                }
            }),
            Action::Update(_) | Action::Check => {
                json.name("Key").object(|json| key(json, &write.pk, &write.sk))
            }
        }
        if let Action::Update(changes) = &write.action {
            json.name("UpdateExpression").plain(|out| aliases.update(out, changes));
        }
        if !write.clauses.is_empty() {
            json.name("ConditionExpression").plain(|out| aliases.condition(out, &write.clauses));
        }
        aliases.members(json);
        if let Some(returned) = returned {
            json.name("ReturnValues").string(returned);
        }
        if failure_image {
            json.name("ReturnValuesOnConditionCheckFailure").string("ALL_OLD");
        }
    });
}

/// Spells expressions while it hands out aliases: `#a0` for a name, `:v0` for a value.
struct Aliases<'w> {
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
    /// What the aliases stand for.
    fn members(&self, json: &mut Writer) {
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
                    literal(json.name(&alias(":v", index)), value);
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

    fn update(&mut self, out: &mut String, changes: &'w [Change]) {
        type Belongs = fn(&Change) -> bool;
        let clauses: [(&str, Belongs); 3] = [
            ("SET ", |change| matches!(change, Change::Set(_) | Change::Snapshot { .. })),
            ("ADD ", |change| matches!(change, Change::Add(_))),
            ("REMOVE ", |change| matches!(change, Change::Remove(_))),
        ];
        let mut gap = "";
        for (keyword, belongs) in clauses {
            let mut separator = keyword;
            for change in changes.iter().filter(|change| belongs(change)) {
                out.push_str(core::mem::take(&mut gap));
                out.push_str(core::mem::replace(&mut separator, ", "));
                self.change(out, change);
            }
            if separator != keyword {
                gap = " ";
            }
        }
    }

    fn change(&mut self, out: &mut String, change: &'w Change) {
        match change {
            Change::Set(Assignment { attribute, value }) => {
                self.name(out, attribute);
                out.push_str(" = ");
                self.value(out, value);
            }
            Change::Snapshot { attribute, source } => {
                self.name(out, attribute);
                out.push_str(" = if_not_exists(");
                self.name(out, source);
                out.push_str(", ");
                self.value(out, &ZERO);
                out.push(')');
            }
            Change::Add(Assignment { attribute, value }) => {
                self.name(out, attribute);
                out.push(' ');
                self.value(out, value);
            }
            Change::Remove(attribute) => self.name(out, attribute),
        }
    }

    fn condition(&mut self, out: &mut String, clauses: &'w [Vec<Term>]) {
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
