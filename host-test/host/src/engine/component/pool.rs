//! The instances of one component: those that wait for a request, and room for more.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Semaphore;
use wasmtime::{
    Engine, Store,
    component::{Component, Linker},
};

use super::{
    exports::{Quota, QuotaPre},
    options::ComponentOptions,
};

/// Idle instances that are kept for later requests. The memory of the others is freed after a peak of load.
pub(super) const MOST_IDLE: usize = 100;

/// The instances. Cheap to clone; clones share them.
#[derive(Clone)]
pub(super) struct Pool {
    inner: Arc<Inner>,
}

struct Inner {
    engine: Engine,
    pre: QuotaPre<()>,
    slots: Arc<Semaphore>,
    /// At most [`MOST_IDLE`] idle instances. The one that was used last is used first, because its memory is
    /// still in the caches.
    idle: Mutex<Vec<Instance>>,
    options: ComponentOptions,
}

/// An instance, and the store it lives in.
pub(super) struct Instance {
    pub(super) store: Store<()>,
    pub(super) quota: Quota,
    /// Including the current request.
    pub(super) requests_left: u32,
}

impl Pool {
    /// Compiles a component that exports the world `quota` and imports nothing.
    pub(super) fn load(binary: &[u8], options: ComponentOptions) -> wasmtime::Result<Self> {
        let engine = Engine::new(&options.config())?;
        let component = Component::from_binary(&engine, binary)?;
        // The linker is empty: a component that imports anything is refused here.
        let pre = QuotaPre::new(Linker::new(&engine).instantiate_pre(&component)?)?;
        let slots = usize::try_from(options.instances).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        let slots = Arc::new(Semaphore::new(slots));
        Ok(Self { inner: Arc::new(Inner { engine, pre, slots, idle: Mutex::default(), options }) })
    }

    /// Room for requests: one permit each.
    pub(super) fn slots(&self) -> &Arc<Semaphore> {
        &self.inner.slots
    }

    /// How the instances are run.
    pub(super) fn options(&self) -> &ComponentOptions {
        &self.inner.options
    }

    /// An idle or a new instance, with the fuel for a step.
    pub(super) fn instance(&self) -> wasmtime::Result<Instance> {
        let idle = self.idle().pop();
        if let Some(mut instance) = idle {
            instance.store.set_fuel(self.step_fuel())?;
            return Ok(instance);
        }
        let mut store = Store::new(&self.inner.engine, ());
        store.set_fuel(self.step_fuel())?;
        let quota = self.inner.pre.instantiate(&mut store)?;
        Ok(Instance { store, quota, requests_left: self.inner.options.requests_per_instance })
    }

    /// Keeps an instance whose request ended well and whose machine was dropped.
    pub(super) fn put_back(&self, mut instance: Instance) {
        instance.requests_left = instance.requests_left.saturating_sub(1);
        let mut idle = self.idle();
        if instance.requests_left > 0 && idle.len() < MOST_IDLE {
            idle.push(instance);
        }
    }

    /// The idle instances, the one that was used last at the end.
    pub(super) fn idle(&self) -> MutexGuard<'_, Vec<Instance>> {
        self.inner.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fuel for one step.
    pub(super) fn step_fuel(&self) -> u64 {
        self.inner.options.step_fuel
    }
}
