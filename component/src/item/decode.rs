//! DynamoDB JSON to a [`Shard`].

use alloc::{borrow::Cow, string::String, sync::Arc, vec::Vec};

use super::{LimitState, Owner, Shard, number::parse_whole};
use crate::{
    error::Error,
    json::{Parsed, Reader},
    key::META_SK,
    limit::MAX_SECONDS,
    text::{clip, contains, quoted, split_last},
    write::{Attribute, Field},
};

/// An attribute's value, borrowed from the reply where it can be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Raw<'a> {
    /// A number, as spelled.
    Number(Cow<'a, str>),
    Text(Cow<'a, str>),
    Boolean(bool),
    /// A type we have no use for, by its tag.
    Other(Cow<'a, str>),
}

/// An item as the table sends it: a flat list, in the table's order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Attributes<'a>(pub(crate) Vec<(Cow<'a, str>, Raw<'a>)>);

impl<'a> Raw<'a> {
    /// An attribute's value: an object with one type tag.
    fn read(json: &mut Reader<'a>) -> Parsed<Self> {
        json.object()?;
        let Some(tag) = json.name()? else { return Ok(Self::Other(Cow::Borrowed("nothing"))) };
        let raw = match &*tag {
            "N" => Self::Number(json.string()?),
            "S" => Self::Text(json.string()?),
            "BOOL" => Self::Boolean(json.boolean()?),
            _ => {
                json.skip()?;
                Self::Other(tag)
            }
        };
        while json.name()?.is_some() {
            json.skip()?;
        }
        Ok(raw)
    }
}

impl<'a> Attributes<'a> {
    /// An item: an object of attributes.
    pub(crate) fn read(json: &mut Reader<'a>) -> Parsed<Self> {
        let mut attributes = Vec::with_capacity(48);
        json.object()?;
        while let Some(name) = json.name()? {
            attributes.push((name, Raw::read(json)?));
        }
        Ok(Self(attributes))
    }
}

impl Raw<'_> {
    /// What was read, for a message.
    fn describe(&self) -> String {
        match self {
            Self::Number(text) => ["the number ", &clip(text)].concat(),
            Self::Text(text) => ["the string ", &quoted(text)].concat(),
            Self::Boolean(value) => (if *value { "true" } else { "false" }).into(),
            Self::Other(tag) => ["a value of type ", &clip(tag)].concat(),
        }
    }

    fn whole(&self, attribute: &str) -> Result<i128, Error> {
        let number = match self {
            Self::Number(text) => parse_whole(text),
            _ => None,
        };
        number
            .ok_or_else(|| Error::corrupt(attribute, &self.describe(), "a whole number of at most 38 digits"))
    }

    pub(crate) fn narrow<T: TryFrom<i128>>(&self, attribute: &str, expected: &str) -> Result<T, Error> {
        T::try_from(self.whole(attribute)?).map_err(|_| Error::corrupt(attribute, &self.describe(), expected))
    }

    /// An instant in ms. Bounded so that adding a window to one never overflows.
    fn instant(&self, attribute: &str) -> Result<i64, Error> {
        const FARTHEST_MS: u64 = 1 << 60;
        let instant: i64 = self.narrow(attribute, "an instant in milliseconds")?;
        if instant.unsigned_abs() > FARTHEST_MS {
            return Err(Error::corrupt(attribute, &self.describe(), "an instant in milliseconds"));
        }
        Ok(instant)
    }

    pub(crate) fn text(&self, attribute: &str) -> Result<&str, Error> {
        match self {
            Self::Text(text) => Ok(text),
            _ => Err(Error::corrupt(attribute, &self.describe(), "a string")),
        }
    }

    pub(crate) fn boolean(&self, attribute: &str) -> Result<bool, Error> {
        match self {
            Self::Boolean(value) => Ok(*value),
            _ => Err(Error::corrupt(attribute, &self.describe(), "true or false")),
        }
    }
}

/// A limit while its attributes come in, in whatever order.
struct Partial {
    state: LimitState,
    has_tokens: bool,
    has_capacity: bool,
}

impl Attributes<'_> {
    pub(crate) fn get(&self, name: &str) -> Option<&Raw<'_>> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, raw)| raw)
    }

    /// The buckets among some items.
    pub(crate) fn shards(items: &[Self]) -> Result<Vec<Shard>, Error> {
        items.iter().filter(|item| !item.is_entity_record()).map(Attributes::shard).collect()
    }

    /// Whether this is the entity's own record rather than a bucket.
    pub(crate) fn is_entity_record(&self) -> bool {
        matches!(self.get("SK"), Some(Raw::Text(text)) if text == META_SK)
    }

    /// Reads the owner stamps off an entity's record.
    pub(crate) fn owner(&self) -> Result<Owner, Error> {
        Ok(Owner {
            cascade: self.get("cascade").map(|raw| raw.boolean("cascade")).transpose()?,
            parent_id: self.get("parent_id").map(|raw| raw.text("parent_id").map(Into::into)).transpose()?,
            parent_generation: self.get("pgen").map(|raw| raw.whole("pgen")).transpose()?,
            parent_incarnation: self.get("pinc").map(|raw| raw.text("pinc").map(Into::into)).transpose()?,
        })
    }

    /// Reads a bucket item.
    ///
    /// # Errors
    /// `corrupt-item` names the attribute, what it reads and what was expected.
    pub(crate) fn shard(&self) -> Result<Shard, Error> {
        let mut shard = Shard { shard_count: 1, ..Shard::default() };
        let mut last_refill = None;
        let mut partials: Vec<Partial> = Vec::new();
        for (name, raw) in &self.0 {
            let attribute: &str = name;
            match &**name {
                "PK" => {
                    shard.pk = raw.text(attribute)?.into();
                    shard.id = shard_of(&shard.pk).ok_or_else(|| {
                        Error::corrupt(
                            attribute,
                            &raw.describe(),
                            "a bucket's key, ending in its shard's number",
                        )
                    })?;
                }
                "rf" => last_refill = Some(raw.instant(attribute)?),
                "vu" => shard.valid_until_ms = Some(raw.instant(attribute)?),
                "ttl" => shard.ttl_seconds = Some(raw.instant(attribute)?),
                "shard_count" => {
                    let count: i128 = raw.whole(attribute)?;
                    let expected = "a shard count of at most 2^31";
                    shard.shard_count = u32::try_from(count.max(1))
                        .ok()
                        .filter(|count| i32::try_from(*count).is_ok())
                        .ok_or_else(|| Error::corrupt(attribute, &raw.describe(), expected))?;
                }
                "disabled" => shard.disabled = raw.boolean(attribute)?,
                "cascade" => shard.cascade = raw.boolean(attribute)?,
                "parent_id" => shard.parent_id = Some(raw.text(attribute)?.into()),
                "bypass" => shard.bypass_until_ms = Some(raw.instant(attribute)?),
                "sched" | "rsched" => shard.scheduled |= raw.text(attribute)? != "-",
                _ => read_limit_attribute(name, raw, &mut partials, &mut shard.scheduled)?,
            }
        }
        if shard.pk.is_empty() {
            return Err(Error::corrupt("PK", "nothing", "a bucket's key, ending in its shard's number"));
        }
        shard.last_refill_ms = last_refill
            .ok_or_else(|| Error::corrupt("rf", "nothing", "the instant of the last materialisation"))?;
        for Partial { state, has_tokens, has_capacity } in partials {
            if !has_tokens {
                // Leftovers of a removed limit (a stray `ws`): not a limit.
                continue;
            }
            if !has_capacity {
                let attribute = Attribute::from(Field::Capacity.of(&state.name)).parts().concat();
                return Err(Error::corrupt(&attribute, "nothing", "the capacity beside the balance"));
            }
            if &*state.name == "wcu" {
                shard.wcu = Some(state);
            } else {
                let place = shard.limits.partition_point(|other| other.name < state.name);
                shard.limits.insert(place, state);
            }
        }
        Ok(shard)
    }
}

/// The slot at the end of a bucket's key.
fn shard_of(pk: &str) -> Option<u32> {
    let (head, tail) = split_last(pk, b'#')?;
    let digits = tail.bytes().all(|byte| byte.is_ascii_digit());
    u32::try_from(tail.parse::<i64>().ok().filter(|_| digits && contains(head, "/BUCKET#"))?).ok()
}

fn read_limit_attribute(
    name: &str,
    raw: &Raw<'_>,
    partials: &mut Vec<Partial>,
    scheduled: &mut bool,
) -> Result<(), Error> {
    // The limit may hold `_` itself: the field is what follows the last one.
    let Some((limit, field)) = name.strip_prefix("b_").and_then(|rest| split_last(rest, b'_')) else {
        return Ok(());
    };
    if matches!(field, "sched" | "rsched") {
        *scheduled |= raw.text(name)? != "-";
        return Ok(());
    }
    let Some(field) = Field::from_suffix(field) else { return Ok(()) };
    let index = match partials.iter().position(|partial| &*partial.state.name == limit) {
        Some(index) => index,
        None => {
            let state = LimitState { name: Arc::from(limit), ..LimitState::default() };
            partials.push(Partial { state, has_tokens: false, has_capacity: false });
            partials.len().saturating_sub(1)
        }
    };
    let Some(Partial { state, has_tokens, has_capacity }) = partials.get_mut(index) else {
        return Ok(());
    };
    match field {
        Field::Tokens => {
            state.tokens_milli = raw.whole(name)?;
            *has_tokens = true;
        }
        Field::Capacity => {
            state.capacity_milli = raw.whole(name)?;
            *has_capacity = true;
            if state.capacity_milli < 0 {
                return Err(Error::corrupt(name, &raw.describe(), "a capacity of at least 0"));
            }
        }
        Field::RefillAmount => state.refill_amount_milli = raw.whole(name)?.max(0),
        Field::RefillPeriod => {
            let expected = "a period of at least 1 ms";
            state.refill_period_ms = raw.narrow(name, expected)?;
            if state.refill_period_ms < 1 {
                return Err(Error::corrupt(name, &raw.describe(), expected));
            }
        }
        Field::Consumed => state.consumed_milli = Some(raw.whole(name)?),
        Field::ResetAfter => {
            let expected = "a window of 1 to 10^9 seconds";
            let length: u64 = raw.narrow(name, expected)?;
            if !(1..=MAX_SECONDS).contains(&length) {
                return Err(Error::corrupt(name, &raw.describe(), expected));
            }
            state.reset_after_seconds = i64::try_from(length).ok();
        }
        Field::WindowStart => {
            let start = raw.instant(name)?;
            if start < 0 {
                return Err(Error::corrupt(name, &raw.describe(), "a start of at least 0"));
            }
            state.window_start_ms = Some(start);
        }
        Field::WindowApplied => state.window_applied_ms = Some(raw.instant(name)?),
        Field::ConsumedMark => state.consumed_mark_milli = Some(raw.whole(name)?),
        Field::GrantCount => {
            state.grant_count = Some(raw.narrow(name, "a grant count of at most 2^63")?);
        }
        Field::ToppedUp => state.topped_up_milli = Some(raw.whole(name)?),
        Field::Soft => state.soft_until_ms = Some(raw.instant(name)?),
        _ => {}
    }
    Ok(())
}
