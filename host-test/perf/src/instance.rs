//! One instance of the component, driven directly, to measure its fuel and its memory.

use onewindow_host::engine::component::bindings::{
    Quota,
    exports::onewindow::quota::{preview::PreviewStep, types},
};
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
        let mut store = store;
        let (machine, done) = match asked {
            Asked::Acquire(request) => {
                let acquisition = quota.onewindow_quota_acquire().acquisition();
                let machine = acquisition.call_constructor(&mut store, &request.into())?;
                let mut step = acquisition.call_advance(&mut store, machine, NOW_MS, &[])?;
                for reply in &case.replies {
                    step = acquisition.call_advance(&mut store, machine, NOW_MS, &[reply.into()])?;
                }
                (machine, matches!(step, types::Step::Done(_)))
            }
            Asked::Preview(subject, limits, hint) => {
                let previewing = quota.onewindow_quota_preview().previewing();
                let limits: Vec<_> = limits.into_iter().map(Into::into).collect();
                let machine =
                    previewing.call_constructor(&mut store, &subject.into(), &limits, Some(&hint.into()))?;
                let mut step = previewing.call_advance(&mut store, machine, NOW_MS, &[])?;
                for reply in &case.replies {
                    step = previewing.call_advance(&mut store, machine, NOW_MS, &[reply.into()])?;
                }
                (machine, matches!(step, PreviewStep::Done(_)))
            }
        };
        assert!(done, "{} wants more", case.name);
        machine.resource_drop(store)
    }
}

/// A result of wasmtime's, whose errors are not those of `anyhow`.
pub(crate) fn anyhow_of<T>(result: Result<T>) -> anyhow::Result<T> {
    result.map_err(|error| anyhow::anyhow!("wasmtime: {error:#}"))
}
