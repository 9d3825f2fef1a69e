//! A conditional write as data, and its encoding as a DynamoDB request.
//!
//! The rules produce [`ConditionalWrite`]s; this file is the only one that spells an expression.
//! Names and values go through positional aliases, so no name is ever part of expression text.

use alloc::{borrow::Cow, string::String, sync::Arc, vec, vec::Vec};
use core::fmt;

use crate::{
    text::json::Writer,
    text::{decimal, push_integer},
    types::answer::{Call, Resend},
    types::error::Error,
};

/// What an attribute holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is documented at its field of `LimitState`, `Shard` or `Owner`")]
pub enum Field {
    // What each limit has: `b_{limit}_{name}`.
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
    // What an item has once.
    Pk,
    LastRefill,
    ValidUntil,
    Ttl,
    ShardCount,
    Disabled,
    Bypass,
    Cascade,
    ParentId,
    ParentGeneration,
    ParentIncarnation,
    EntityId,
    Resource,
    Gsi2Pk,
    Gsi2Sk,
    Gsi3Pk,
    Gsi3Sk,
    Gsi4Pk,
    Gsi4Sk,
}

impl Field {
    const OF_LIMITS: [Self; 12] = [
        Self::Tokens,
        Self::Capacity,
        Self::RefillAmount,
        Self::RefillPeriod,
        Self::Consumed,
        Self::ResetAfter,
        Self::WindowStart,
        Self::WindowApplied,
        Self::ConsumedMark,
        Self::GrantCount,
        Self::ToppedUp,
        Self::Soft,
    ];

    pub(crate) fn from_suffix(suffix: &str) -> Option<Self> {
        Self::OF_LIMITS.into_iter().find(|field| field.name() == suffix)
    }

    /// Its name as stored; a limit's field is the end of one.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tokens => "tk",
            Self::Capacity => "cp",
            Self::RefillAmount => "ra",
            Self::RefillPeriod => "rp",
            Self::Consumed => "tc",
            Self::ResetAfter => "rsa",
            Self::WindowStart => "ws",
            Self::WindowApplied => "wa",
            Self::ConsumedMark => "wtc",
            Self::GrantCount => "gc",
            Self::ToppedUp => "tu",
            Self::Soft => "soft",
            Self::Pk => "PK",
            Self::LastRefill => "rf",
            Self::ValidUntil => "vu",
            Self::Ttl => "ttl",
            Self::ShardCount => "shard_count",
            Self::Disabled => "disabled",
            Self::Bypass => "bypass",
            Self::Cascade => "cascade",
            Self::ParentId => "parent_id",
            Self::ParentGeneration => "pgen",
            Self::ParentIncarnation => "pinc",
            Self::EntityId => "entity_id",
            Self::Resource => "resource",
            Self::Gsi2Pk => "GSI2PK",
            Self::Gsi2Sk => "GSI2SK",
            Self::Gsi3Pk => "GSI3PK",
            Self::Gsi3Sk => "GSI3SK",
            Self::Gsi4Pk => "GSI4PK",
            Self::Gsi4Sk => "GSI4SK",
        }
    }

    /// The attribute that a limit has.
    pub(crate) const fn of(self, limit: &Arc<str>) -> Of<'_> {
        Of(Some(limit), self)
    }
}

/// An attribute that is spoken of: a limit's, or one that the item has once.
///
/// Expressions speak of dozens: it goes in registers, and only what is kept is made an [`Attribute`].
#[derive(Clone, Copy)]
pub(crate) struct Of<'a>(Option<&'a Arc<str>>, Field);

impl From<Field> for Of<'_> {
    fn from(field: Field) -> Self {
        Self(None, field)
    }
}

/// An attribute of an item.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Attribute {
    /// Whose it is; none: the item has it once.
    pub limit: Option<Arc<str>>,
    /// What it holds.
    pub field: Field,
}

impl Attribute {
    /// Its name as stored, in the parts it is put together from.
    pub(crate) fn parts(&self) -> [&str; 4] {
        match &self.limit {
            None => [self.field.name(), "", "", ""],
            Some(limit) => ["b_", limit, "_", self.field.name()],
        }
    }
}

impl From<Of<'_>> for Attribute {
    fn from(Of(limit, field): Of<'_>) -> Self {
        Self { limit: limit.cloned(), field }
    }
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts().into_iter().try_for_each(|part| f.write_str(part))
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
    /// `NULL`: there, and nothing.
    Null,
    /// Another attribute of the same item.
    Attribute(Attribute),
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

// What builds a term or a change is called dozens of times: one copy of each.
impl Term {
    #[inline(never)]
    fn bare(of: Of<'_>, test: Test) -> Self {
        Self { attribute: of.into(), test, operand: None }
    }

    #[inline(never)]
    fn number(of: Of<'_>, test: Test, number: i128) -> Self {
        Self { attribute: of.into(), test, operand: Some(Value::Number(number)) }
    }

    pub(crate) fn exists<'a>(of: impl Into<Of<'a>>) -> Self {
        Self::bare(of.into(), Test::Exists)
    }

    pub(crate) fn absent<'a>(of: impl Into<Of<'a>>) -> Self {
        Self::bare(of.into(), Test::Absent)
    }

    pub(crate) fn compare<'a>(of: impl Into<Of<'a>>, test: Test, number: impl Into<i128>) -> Self {
        Self::number(of.into(), test, number.into())
    }

    /// What is compared is not a number.
    #[inline(never)]
    pub(crate) fn with(of: Of<'_>, test: Test, value: Value) -> Self {
        Self { attribute: of.into(), test, operand: Some(value) }
    }

    /// The attribute is just as it was read: equal, or absent.
    #[inline(never)]
    pub(crate) fn is(of: Of<'_>, read: Option<Value>) -> Self {
        let test = if read.is_some() { Test::Equal } else { Test::Absent };
        Self { attribute: of.into(), test, operand: read }
    }

    #[inline(never)]
    pub(crate) fn as_read(of: Of<'_>, read: Option<i64>) -> Self {
        Self::is(of, read.map(|number| Value::Number(number.into())))
    }

    /// A clause: the attribute is absent, or compares like this.
    #[inline(never)]
    pub(crate) fn unless_absent(of: Of<'_>, test: Test, number: i64) -> Vec<Self> {
        vec![Self::bare(of, Test::Absent), Self::number(of, test, number.into())]
    }
}

/// One change of an item.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Change {
    /// What is changed.
    pub attribute: Attribute,
    /// How.
    pub verb: Verb,
    /// To what, or by how much; none for `Remove`.
    pub value: Option<Value>,
}

/// How an attribute is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// `SET attribute = value`
    Set,
    /// `SET attribute = if_not_exists(value, 0)`
    Snapshot,
    /// `ADD attribute value`
    Add,
    /// `REMOVE attribute`
    Remove,
}

impl Verb {
    const fn keyword(self) -> &'static str {
        match self {
            Self::Set | Self::Snapshot => "SET ",
            Self::Add => "ADD ",
            Self::Remove => "REMOVE ",
        }
    }
}

impl Change {
    #[inline(never)]
    fn number(of: Of<'_>, verb: Verb, number: i128) -> Self {
        Self { attribute: of.into(), verb, value: Some(Value::Number(number)) }
    }

    pub(crate) fn set<'a>(of: impl Into<Of<'a>>, number: impl Into<i128>) -> Self {
        Self::number(of.into(), Verb::Set, number.into())
    }

    pub(crate) fn add<'a>(of: impl Into<Of<'a>>, number: impl Into<i128>) -> Self {
        Self::number(of.into(), Verb::Add, number.into())
    }

    /// Set, or removed where there is nothing to set it to.
    #[inline(never)]
    pub(crate) fn to(of: Of<'_>, number: Option<i64>) -> Self {
        match number {
            Some(number) => Self::number(of, Verb::Set, number.into()),
            None => Self { attribute: of.into(), verb: Verb::Remove, value: None },
        }
    }

    /// What is set is not a number.
    #[inline(never)]
    pub(crate) fn with(of: Of<'_>, value: Value) -> Self {
        Self { attribute: of.into(), verb: Verb::Set, value: Some(value) }
    }

    pub(crate) fn snapshot(of: Of<'_>, source: Of<'_>) -> Self {
        Self { verb: Verb::Snapshot, ..Self::with(of, Value::Attribute(source.into())) }
    }
}

/// What a write does when its conditions hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// The whole item, `PK` and `SK` aside: what is set.
    Put(Vec<Change>),
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
        let (moved, lock, test) = match &self.action {
            Action::Put(_) => (true, Field::Pk, Test::Absent),
            Action::Update(changes) => {
                let moved = changes.iter().any(|change| change.attribute.field == Field::LastRefill);
                (moved, Field::LastRefill, Test::Equal)
            }
            Action::Check => return false,
        };
        let pinned = |clause: &Vec<Term>| matches!(clause.as_slice(), [term] if term.attribute.field == lock && term.test == test);
        moved && self.clauses.iter().any(pinned)
    }
}

/// What a second landing of these writes could do (F22). They land together or not at all.
fn resend(writes: &[ConditionalWrite]) -> Resend {
    let (mut adds, mut gives, mut puts, mut lands_once) = (false, false, false, false);
    for write in writes {
        lands_once |= write.lands_once();
        let Action::Update(changes) = &write.action else {
            puts = true;
            continue;
        };
        for change in changes.iter().filter(|change| change.verb == Verb::Add) {
            if change.attribute.field == Field::Tokens {
                adds = true;
                gives |= matches!(change.value, Some(Value::Number(number)) if number > 0);
            }
        }
    }
    if !adds && !puts {
        Resend::Idempotent
    } else if lands_once || !gives {
        // Where it lands once, a second landing is refused, and the sequence that hears of it takes
        // what it came for anew.
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
fn literal(json: &mut Writer, value: Option<&Value>) {
    json.object(|json| match value {
        Some(Value::Number(number)) => json.name("N").plain(|out| push_integer(out, *number)),
        Some(Value::Text(text)) => json.name("S").string(text),
        Some(Value::Boolean(value)) => json.name("BOOL").boolean(*value),
        // Only ever an operand, and operands that are attributes become names, not values.
        Some(Value::Null | Value::Attribute(_)) | None => json.name("NULL").boolean(true),
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
            Action::Put(changes) => json.name("Item").object(|json| {
                key(json, &write.pk, &write.sk);
                for Change { attribute, value, .. } in changes {
                    literal(json.joined(&attribute.parts()), value.as_ref());
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

    fn update(&mut self, out: &mut String, changes: &'w [Change]) {
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
