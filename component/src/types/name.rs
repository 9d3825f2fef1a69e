//! The forms of names.

use super::error::Error;
use crate::text::{decimal, quoted};

/// Checks a limit's name: 1 to 64 characters, `[A-Za-z][A-Za-z0-9_.\-]*`, never `wcu`.
pub(crate) fn check_limit_name(name: &str) -> Result<(), Error> {
    check_name("limit name", name, 64, is_letter, "_.-", "[A-Za-z][A-Za-z0-9_.-]*")?;
    if name == "wcu" {
        return Err(Error::invalid(&["limit name \"wcu\" is taken by the table's own write budget"]));
    }
    Ok(())
}

pub(super) fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic()
}

pub(super) fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

pub(super) fn check_name(
    what: &str,
    name: &str,
    longest: usize,
    first: fn(u8) -> bool,
    others: &str,
    form: &str,
) -> Result<(), Error> {
    let legal = name.len() <= longest
        && name.bytes().next().is_some_and(first)
        && name.bytes().all(|byte| is_alphanumeric(byte) || others.as_bytes().contains(&byte));
    if legal {
        return Ok(());
    }
    let longest = decimal(longest);
    Err(Error::invalid(&[what, " ", &quoted(name), " is not 1 to ", &longest, " characters of ", form]))
}
