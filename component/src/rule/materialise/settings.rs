//! What a materialisation depends on besides the item.

use crate::types::limit::Limit;

/// What a materialisation and a debit depend on besides the item.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// The configuration.
    pub limits: &'a [Limit],
    /// Whether it is stamped where an item differs (R15).
    pub authoritative: bool,
    /// Whether items carry no `ttl`.
    pub permanent: bool,
    /// The parent that the items must debit as well (section 7); none: they debit nobody else.
    pub parent: Option<&'a str>,
    /// The clock reading of the step, epoch ms.
    pub now_ms: i64,
}

impl Settings<'_> {
    /// The configured limit of that name.
    #[must_use]
    pub fn limit(&self, name: &str) -> Option<&Limit> {
        self.limits.iter().find(|limit| limit.name == name)
    }
}
