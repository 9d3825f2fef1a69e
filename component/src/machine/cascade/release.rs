//! After a level has refused: credits what the other levels were debited.

use alloc::vec::Vec;

use crate::{
    machine::settle::Settle,
    types::{
        answer::{Call, Reply, Step},
        lease::Lease,
        limit::Amount,
    },
};

/// Settlements under way, each with the number of its calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Releases(Vec<(Settle, usize)>);

impl Releases {
    pub(super) fn of(table: &str, leases: &[Lease]) -> Self {
        Self(leases.iter().map(|lease| (release(table, lease), 0)).collect())
    }

    /// The number of calls under way.
    pub(super) fn calls(&self) -> usize {
        self.0.iter().map(|(_, calls)| calls).sum()
    }

    /// The next calls. None: all that can be credited is credited. What cannot be credited stays debited,
    /// so nobody gets more than there is.
    pub(super) fn advance(&mut self, now_ms: u64, replies: &[Reply]) -> Vec<Call> {
        let mut rest = replies;
        let mut calls = Vec::new();
        let mut open = Vec::new();
        for (mut settle, own) in core::mem::take(&mut self.0) {
            let (mine, others) = rest.split_at_checked(own).unwrap_or((rest, &[]));
            rest = others;
            if let Step::Perform(more) = settle.advance(now_ms, mine) {
                open.push((settle, more.len()));
                calls.extend(more);
            }
        }
        self.0 = open;
        calls
    }
}

/// A settlement that credits the whole lease.
fn release(table: &str, lease: &Lease) -> Settle {
    let mut nothing: Vec<Amount> = Vec::new();
    for limit in lease.parts.iter().flat_map(|part| &part.limits) {
        if nothing.iter().all(|amount| amount.limit != limit.name) {
            nothing.push(Amount::new(&limit.name, 0));
        }
    }
    Settle::new(table, &lease.encode(), nothing)
}
