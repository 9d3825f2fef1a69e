//! One instance of the component, driven directly, to measure its fuel and its memory.

use onewindow::contract::Step;
use onewindow_host::engine::component::exports::Quota;
use wasmtime::{Result, Store};

use crate::cases::{Asked, Case, NOW_MS};

/// An instance, in its store.
pub(crate) struct Instance<T: 'static> {
    pub(crate) store: Store<T>,
    quota: Quota,
}

impl<T> Instance<T> {
    pub(crate) fn new(store: Store<T>, quota: Quota) -> Self {
        Self { store, quota }
    }

    /// Runs a case to its decision.
    pub(crate) fn decide(&mut self, asked: Asked, case: &Case) -> Result<()> {
        let Self { store, quota } = self;
        store.set_fuel(u64::MAX)?;
        let machine = match asked {
            Asked::Acquire(request) => quota.acquire(&mut *store, vec![request], false)?,
            Asked::Preview(subject, limits, hint) => {
                quota.preview(&mut *store, subject, limits, Some(hint))?
            }
        };
        let mut step = quota.advance(&mut *store, machine, NOW_MS, Vec::new())?;
        for reply in &case.replies {
            step = quota.advance(&mut *store, machine, NOW_MS, vec![reply.into()])?;
        }
        let done = matches!(step, Step::Done(_));
        assert!(done, "{} wants more", case.name);
        machine.resource_drop(store)
    }
}

/// A result of wasmtime's, whose errors are not those of `anyhow`.
pub(crate) fn anyhow_of<T>(result: Result<T>) -> anyhow::Result<T> {
    result.map_err(|error| anyhow::anyhow!("wasmtime: {error:#}"))
}
