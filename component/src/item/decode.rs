//! DynamoDB JSON to a [`Shard`].

use alloc::{sync::Arc, vec::Vec};

use super::{
    attributes::{Attributes, FARTHEST_MS, Raw},
    field::{Attribute, Field},
    shard::{LimitState, Owner, Shard},
};
use crate::{
    text::{
        contains,
        json::{Malformed, Reader},
        split_last,
    },
    types::{
        error::{Corrupt, Error},
        limit::MAX_SECONDS,
    },
};

/// Reads a stored item: a JSON object of attributes, as in the `Item` of a reply.
///
/// # Errors
/// `corrupt-item` names the attribute; `invalid-request` where the text is not an item at all.
pub fn decode_item(item: &str) -> Result<Shard, Error> {
    let attributes = Reader::read(item, Attributes::read)
        .map_err(|Malformed| Error::invalid(&["not an item in DynamoDB JSON"]))?;
    Ok(attributes.shard()?)
}

/// A limit while its attributes come in, in whatever order.
struct Partial {
    state: LimitState,
    has_tokens: bool,
    has_capacity: bool,
}

impl Attributes<'_> {
    /// The buckets among some items.
    pub(crate) fn shards(items: &[Self]) -> Result<Vec<Shard>, Corrupt> {
        let mut shards = Vec::new();
        for item in items.iter().filter(|item| !item.is_entity_record()) {
            shards.push(item.shard()?);
        }
        Ok(shards)
    }

    /// Reads the owner stamps from an entity's record.
    pub(crate) fn owner(&self) -> Result<Owner, Corrupt> {
        Ok(Owner {
            cascade: self.get("cascade").map(|raw| raw.boolean("cascade")).transpose()?,
            parent_id: self.get("parent_id").map_or(Ok(None), |raw| raw.text_or_null("parent_id"))?,
            parent_generation: self.get("pgen").map(|raw| raw.whole("pgen")).transpose()?,
            parent_incarnation: self.get("pinc").map(|raw| raw.text("pinc").map(Into::into)).transpose()?,
        })
    }

    /// Reads a bucket item.
    ///
    /// # Errors
    /// `corrupt-item` names the attribute, what it reads and what was expected.
    pub(crate) fn shard(&self) -> Result<Shard, Corrupt> {
        let mut shard = Shard { shard_count: 1, ..Shard::default() };
        let mut last_refill = None;
        let mut partials: Vec<Partial> = Vec::new();
        for (name, raw) in &self.0 {
            let instant = match &**name {
                "rf" => &mut last_refill,
                "vu" => &mut shard.valid_until_ms,
                "ttl" => &mut shard.ttl_seconds,
                "bypass" => &mut shard.bypass_until_ms,
                _ => {
                    shard.read_other(name, raw, &mut partials)?;
                    continue;
                }
            };
            *instant = Some(raw.instant(name)?);
        }
        if shard.pk.is_empty() {
            return Err(Corrupt::new("PK", "nothing", "a bucket's key, ending in its shard's number"));
        }
        shard.last_refill_ms = last_refill
            .ok_or_else(|| Corrupt::new("rf", "nothing", "the instant of the last materialisation"))?;
        for Partial { state, has_tokens, has_capacity } in partials {
            if !has_tokens {
                // Leftovers of a removed limit (a stray `ws`): not a limit.
                continue;
            }
            if !has_capacity {
                let attribute = Attribute::from(Field::Capacity.of(&state.name)).parts().concat();
                return Err(Corrupt::new(&attribute, "nothing", "the capacity beside the balance"));
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

impl Shard {
    /// Reads what is not an instant.
    fn read_other(&mut self, name: &str, raw: &Raw<'_>, partials: &mut Vec<Partial>) -> Result<(), Corrupt> {
        match name {
            "PK" => {
                self.pk = raw.text(name)?.into();
                let expected = "a bucket's key, ending in its shard's number";
                self.id = shard_of(&self.pk).ok_or_else(|| raw.corrupt(name, expected))?;
            }
            "shard_count" => {
                let count = u32::try_from(raw.whole(name)?.max(1)).ok();
                let count = count.filter(|count| *count <= i32::MAX.unsigned_abs());
                let expected = "a shard count of at most 2^31";
                self.shard_count = count.ok_or_else(|| raw.corrupt(name, expected))?;
            }
            "disabled" => self.disabled = raw.boolean(name)?,
            "cascade" => self.cascade = raw.boolean(name)?,
            "parent_id" => self.parent_id = raw.text_or_null(name)?,
            _ => {
                // The limit may hold `_` itself: the field is what follows the last one.
                let (limit, field) = match name.as_bytes() {
                    [b'b', b'_', ..] => split_last(name, b'_').unwrap_or_default(),
                    _ => ("", name),
                };
                if matches!(field, "sched" | "rsched") {
                    self.scheduled |= raw.text(name)? != "-";
                } else if let (Some(limit), Some(field)) = (limit.get(2..), Field::from_suffix(field)) {
                    let index = Partial::place(limit, partials);
                    partials.get_mut(index).map_or(Ok(()), |partial| partial.read(name, field, raw))?;
                }
            }
        }
        Ok(())
    }
}

impl Partial {
    /// The limit's place in the list; it is added where it is new.
    fn place(limit: &str, partials: &mut Vec<Self>) -> usize {
        let known = partials.iter().position(|partial| &*partial.state.name == limit);
        let index = known.unwrap_or(partials.len());
        if known.is_none() {
            let state = LimitState { name: Arc::from(limit), ..LimitState::default() };
            partials.push(Self { state, has_tokens: false, has_capacity: false });
        }
        index
    }

    fn read(&mut self, name: &str, field: Field, raw: &Raw<'_>) -> Result<(), Corrupt> {
        let state = &mut self.state;
        let (place, bounds, expected) = match field {
            Field::WindowApplied => {
                (&mut state.window_applied_ms, [-FARTHEST_MS, FARTHEST_MS], "an instant in milliseconds")
            }
            Field::Soft => {
                (&mut state.soft_until_ms, [-FARTHEST_MS, FARTHEST_MS], "an instant in milliseconds")
            }
            Field::WindowStart => {
                (&mut state.window_start_ms, [0, FARTHEST_MS], "an instant in milliseconds of at least 0")
            }
            Field::GrantCount => {
                (&mut state.grant_count, [i64::MIN, i64::MAX], "a grant count of at most 2^63")
            }
            Field::ResetAfter => (
                &mut state.reset_after_seconds,
                [1, MAX_SECONDS.cast_signed()],
                "a window of 1 to 10^9 seconds",
            ),
            Field::RefillPeriod => {
                state.refill_period_ms = raw.within(name, [1, i64::MAX], "a period of at least 1 ms")?;
                return Ok(());
            }
            _ => return self.read_balance(name, field, raw),
        };
        *place = Some(raw.within(name, bounds, expected)?);
        Ok(())
    }

    /// Reads what may have more than 64 bits.
    fn read_balance(&mut self, name: &str, field: Field, raw: &Raw<'_>) -> Result<(), Corrupt> {
        let (state, number) = (&mut self.state, raw.whole(name)?);
        match field {
            Field::Tokens => (state.tokens_milli, self.has_tokens) = (number, true),
            Field::Capacity if number < 0 => return Err(raw.corrupt(name, "a capacity of at least 0")),
            Field::Capacity => (state.capacity_milli, self.has_capacity) = (number, true),
            Field::RefillAmount => state.refill_amount_milli = number.max(0),
            Field::Consumed => state.consumed_milli = Some(number),
            Field::ConsumedMark => state.consumed_mark_milli = Some(number),
            Field::ToppedUp => state.topped_up_milli = Some(number),
            _ => {}
        }
        Ok(())
    }
}
