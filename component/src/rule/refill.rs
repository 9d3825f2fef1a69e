//! The change-stream consumer's refill (section 6.10): drips and pending resets, written from an image that
//! the table sent. It never opens a window and never propagates one.

use crate::{
    item::{LimitState, Owner, Shard, decode_item},
    rule::materialise::{Materialisation, Settings},
    rule::window::{Window, length_ms},
    types::answer::Call,
    types::error::Error,
    types::limit::instant_ms,
    types::subject::Subject,
    write::{ConditionalWrite, Images},
};

/// The call that refills an item of `table` after one record of its change stream; none where there
/// is nothing to do. `old` and `new` are the record's images, DynamoDB JSON as in an `Item`; `old` is
/// absent where the item is new. The call may be sent for any record, in any order, any number of
/// times: its condition fails where the item is no longer as `new`.
///
/// # Errors
/// `corrupt-item` and `invalid-request` where an image is not a bucket's, `unsupported` where the item
/// carries a schedule, `overflow` where a number leaves its range.
pub fn call(table: &str, old: Option<&str>, new: &str, now_ms: u64) -> Result<Option<Call>, Error> {
    let old = old.map(decode_item).transpose()?;
    let write = write(old.as_ref(), &decode_item(new)?, instant_ms(now_ms)?)?;
    Ok(write.map(|write| write.call(table, Images::Neither)))
}

/// The write that refills `new`; none where there is nothing to do.
///
/// `old` is the record's image from before the change, absent where the item is new. A
/// record in which nothing was consumed needs no refill, or each refill would cause the next.
///
/// # Errors
/// `unsupported` where the item carries a schedule, `overflow` where a number leaves its range.
pub fn write(old: Option<&Shard>, new: &Shard, now_ms: i64) -> Result<Option<ConditionalWrite>, Error> {
    if !has_consumed(old, new) || new.limits.iter().any(|limit| is_overtaken(limit, new, now_ms)) {
        return Ok(None);
    }
    let settings = Settings { limits: &[], authoritative: false, permanent: false, parent: None, now_ms };
    let mut materialisation = Materialisation::of(new, &settings)?;
    materialisation.leave_ended();
    if !materialisation.raises() {
        return Ok(None);
    }
    // The stream's consumer leaves `ttl` alone (6.10).
    materialisation.ttl_seconds = new.ttl_seconds;
    let is_expired = new.valid_until_ms.is_some_and(|until| until <= now_ms);
    let boundary = materialisation.valid_until_ms.filter(|end| is_expired && *end > now_ms);
    materialisation.valid_until_ms = boundary.or(new.valid_until_ms);
    Ok(Some(materialisation.write(&Subject::default(), &Owner::default(), &[])))
}

fn has_consumed(old: Option<&Shard>, new: &Shard) -> bool {
    let grew = |limit: &LimitState| {
        let before = old.and_then(|old| old.limit(&limit.name)).and_then(|limit| limit.consumed_milli);
        limit.consumed_milli.unwrap_or(0) > before.unwrap_or(0)
    };
    new.limits.iter().any(grew)
}

/// A reset that is pending for a window which has ended meanwhile: the next use resets the balance
/// again, whatever a refill did to it.
fn is_overtaken(limit: &LimitState, shard: &Shard, now_ms: i64) -> bool {
    let Some(seconds) = limit.reset_after_seconds else { return false };
    let window = Window::of(limit, length_ms(seconds), shard.last_refill_ms, now_ms);
    matches!(window, Window::Ended { .. }) && !limit.is_applied(shard.last_refill_ms)
}
