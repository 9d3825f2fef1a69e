//! The core as a WebAssembly component in wasmtime.
//!
//! Every request has an instance to itself, so a trap affects that request only. An instance whose request
//! ended well is used again, because the core keeps nothing between requests. A component imports nothing,
//! so it reaches nothing outside. The fuel of each step is limited, so it cannot hang its host.

pub mod exports;
mod session;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_util::future::BoxFuture;
use onewindow::{
    AcquireRequest, Amount, CascadeDecision, Decision, Hint, Limit, Outcome, Settlement, Step, Subject,
};
use tokio::sync::Semaphore;
use wasmtime::{
    Cache, CacheConfig, Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store,
    component::{self, Linker},
};

use super::machine::{Core, Machine, PreviewDecision, Slot};
use exports::{Quota, QuotaPre};
use session::Session;

/// The component that was built with this crate.
pub const BINARY: &[u8] = include_bytes!(env!("ONEWINDOW_QUOTA"));

/// The component of the world `inspect`: the rules as pure functions, for tests and tools.
#[cfg(feature = "inspect")]
pub const INSPECT: &[u8] = include_bytes!(env!("ONEWINDOW_INSPECT"));

/// Core instances that one component consists of: its module, and small helpers of the canonical ABI.
const CORE_INSTANCES: u32 = 4;

/// Idle instances that are kept for later requests. The memory of the others is freed after a peak of load.
const MOST_IDLE: usize = 100;

/// How a [`Component`] is run.
#[derive(Clone, Debug)]
pub struct ComponentOptions {
    /// Requests in progress at the same time, each in an instance of its own; further requests wait. Each
    /// instance reserves 4 GiB of address space (512 of them 2 TiB) but no memory, so that compiled code needs
    /// no bounds checks. Where address space is short (`ulimit -v`, more than 32,000 instances), loading fails.
    pub instances: u32,
    /// Requests that one instance serves, one after the other, before its memory is wiped. Until then it keeps
    /// the memory of its largest request. Use 1 for a component that is not trusted to keep no state; 0 counts
    /// as 1.
    pub requests_per_instance: u32,
    /// Memory one instance may use, bytes.
    pub memory_limit_bytes: usize,
    /// Fuel for one step, about one unit for each instruction. The core's own steps take about
    /// 100 thousand, and 4 million where they read 32 shards.
    pub step_fuel: u64,
    /// Whether compiled code is kept on disk, in wasmtime's own cache, and loaded from there.
    pub cache: bool,
}

impl Default for ComponentOptions {
    fn default() -> Self {
        Self {
            instances: 512,
            requests_per_instance: 1000,
            memory_limit_bytes: 16 << 20,
            step_fuel: 500_000_000,
            cache: true,
        }
    }
}

impl ComponentOptions {
    /// These options as wasmtime's `Config`, for compiling ahead of time and for measurements.
    #[must_use]
    pub fn config(&self) -> Config {
        let mut pool = PoolingAllocationConfig::new();
        pool.total_component_instances(self.instances)
            .total_core_instances(self.instances.saturating_mul(CORE_INSTANCES))
            .max_core_instances_per_component(CORE_INSTANCES)
            .total_memories(self.instances)
            .max_memories_per_component(1)
            .max_memory_size(self.memory_limit_bytes)
            .total_tables(self.instances.saturating_mul(CORE_INSTANCES))
            .max_tables_per_component(CORE_INSTANCES);
        let mut config = Config::new();
        config
            .wasm_component_model(true)
            .consume_fuel(true)
            // All that 32 bits can address, so that no access needs a check.
            .memory_reservation(1 << 32)
            .allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
        if self.cache {
            match Cache::new(CacheConfig::new()) {
                Ok(cache) => {
                    config.cache(Some(cache));
                }
                Err(error) => tracing::debug!(%error, "no cache for compiled code"),
            }
        }
        config
    }
}

/// A component ready to run. Cheap to clone.
#[derive(Clone)]
pub struct Component {
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
struct Instance {
    store: Store<()>,
    quota: Quota,
    /// Including the current request.
    requests_left: u32,
}

/// Why a component cannot be run: it is not valid, imports something, or does not export the world
/// `quota`.
#[derive(Debug, thiserror::Error)]
#[error("the component cannot be loaded: {0:#}")]
pub struct ComponentError(wasmtime::Error);

impl Component {
    /// The component that was built with this crate.
    ///
    /// # Errors
    /// Where this machine cannot compile or pool it.
    pub fn embedded(options: ComponentOptions) -> Result<Self, ComponentError> {
        Self::from_binary(BINARY, options)
    }

    /// Any component that exports the world `quota` and imports nothing.
    ///
    /// # Errors
    /// Where it is something else.
    pub fn from_binary(binary: &[u8], options: ComponentOptions) -> Result<Self, ComponentError> {
        Self::load(binary, options).map_err(ComponentError)
    }

    fn load(binary: &[u8], options: ComponentOptions) -> wasmtime::Result<Self> {
        let engine = Engine::new(&options.config())?;
        let component = component::Component::from_binary(&engine, binary)?;
        // The linker is empty: a component that imports anything is refused here.
        let pre = QuotaPre::new(Linker::new(&engine).instantiate_pre(&component)?)?;
        let slots = usize::try_from(options.instances).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        let slots = Arc::new(Semaphore::new(slots));
        Ok(Self { inner: Arc::new(Inner { engine, pre, slots, idle: Mutex::default(), options }) })
    }

    /// An instance, which may have served requests, and its store, for measurements. It counts as one of
    /// `instances` as long as it lives, and is not used again.
    ///
    /// # Errors
    /// Where every instance is in use.
    pub fn instantiate(&self) -> wasmtime::Result<(Store<()>, Quota)> {
        self.instance().map(|Instance { store, quota, .. }| (store, quota))
    }

    /// An idle or a new instance, with the fuel for a step.
    fn instance(&self) -> wasmtime::Result<Instance> {
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
    fn give_back(&self, mut instance: Instance) {
        instance.requests_left = instance.requests_left.saturating_sub(1);
        let mut idle = self.idle();
        if instance.requests_left > 0 && idle.len() < MOST_IDLE {
            idle.push(instance);
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Instance>> {
        self.inner.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn step_fuel(&self) -> u64 {
        self.inner.options.step_fuel
    }
}

impl Core for Component {
    fn name(&self) -> &'static str {
        "component"
    }

    fn slot(&self) -> Option<BoxFuture<'_, Slot>> {
        // It fails only where the semaphore is closed, and it never is.
        Some(Box::pin(async { Slot::holding(Arc::clone(&self.inner.slots).acquire_owned().await.ok()) }))
    }

    fn acquire(&self, mut request: AcquireRequest) -> Box<dyn Machine<Decision>> {
        // Whether a remembered rejection still holds is asked of `reject` alone.
        request.hint.iter_mut().for_each(|hint| hint.rejections.clear());
        Box::new(Session::begin(self, |store, quota| quota.acquire(store, vec![request], false)))
    }

    fn cascade(&self, levels: Vec<AcquireRequest>) -> Box<dyn Machine<CascadeDecision>> {
        Box::new(Session::begin(self, |store, quota| quota.acquire(store, levels, true)))
    }

    fn settle(&self, table: &str, lease: &str, actual: Vec<Amount>) -> Box<dyn Machine<Settlement>> {
        Box::new(Session::begin(self, |store, quota| quota.settle(store, table, lease, actual)))
    }

    fn preview(
        &self,
        subject: Subject,
        limits: Vec<Limit>,
        hint: Option<&Hint>,
    ) -> Box<dyn Machine<PreviewDecision>> {
        let hint = hint.cloned();
        Box::new(Session::begin(self, |store, quota| quota.preview(store, subject, limits, hint)))
    }

    /// Where the component fails or has no room, nothing is rejected, and the request goes to the table.
    fn reject(&self, request: &AcquireRequest, hint: &Hint, now_ms: u64) -> Option<Decision> {
        let _room = self.inner.slots.try_acquire().ok()?;
        let request = AcquireRequest { hint: Some(hint.clone()), ..request.clone() };
        let mut machine: Session<Decision> =
            Session::begin(self, |store, quota| quota.acquire(store, vec![request], false));
        match machine.advance(now_ms, &[]) {
            Step::Done(decision) => Some(decision).filter(|decision| is_rejection(&decision.outcome)),
            Step::Perform(_) => None,
        }
    }
}

const fn is_rejection(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Rejected { .. })
}

impl fmt::Debug for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Component").field("options", &self.inner.options).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use onewindow::{ErrorCode, KnownRejection, LimitStatus, Reply};

    use super::*;

    fn component(options: ComponentOptions) -> Component {
        Component::embedded(options).unwrap()
    }

    fn request() -> AcquireRequest {
        AcquireRequest {
            subject: Subject::new("limits", "default", "user-1", "gpt-4"),
            consume: vec![Amount::new("session", 1)],
            limits: vec![Limit::session("session", 100, 18_000)],
            ..AcquireRequest::default()
        }
    }

    /// The requests that the idle instances may still serve.
    fn left(component: &Component) -> Vec<u32> {
        component.idle().iter().map(|instance| instance.requests_left).collect()
    }

    #[test]
    fn what_ended_well_serves_again_and_what_is_under_way_does_not() {
        let component =
            component(ComponentOptions { requests_per_instance: 3, ..ComponentOptions::default() });
        let mut first = component.acquire(request());
        assert!(matches!(first.advance(1, &[]), Step::Perform(_)));
        let second = component.acquire(request());
        assert!(left(&component).is_empty());
        drop((first, second));
        assert_eq!(left(&component), [2, 2]);
        drop(component.acquire(request()));
        assert_eq!(left(&component), [2, 1]);
        drop(component.acquire(request()));
        assert_eq!(left(&component), [2]);
    }

    #[test]
    fn a_remembered_rejection_needs_room_and_gives_it_back() {
        let component = component(ComponentOptions { instances: 1, ..ComponentOptions::default() });
        let under_way = component.acquire(request());
        assert_eq!(component.reject(&request(), &Hint::default(), 1), None);
        drop(under_way);
        assert_eq!(component.reject(&request(), &Hint::default(), 1), None);
        assert_eq!(left(&component), [998]);
        let _slot = component.inner.slots.try_acquire().unwrap();
        assert_eq!(component.reject(&request(), &Hint::default(), 1), None);
        assert_eq!(left(&component), [998], "it was not asked");
    }

    #[test]
    fn a_remembered_rejection_brings_no_hint_and_refuses_replies_to_no_calls() {
        let status =
            LimitStatus { name: "session".into(), capacity: 100, available: 0, resets_at_ms: Some(9) };
        let rejections = vec![KnownRejection { status, above_milli: 0, until_ms: 9 }];
        let key = request().subject.hint_key();
        let hint = Hint { key, shard_count: 4, rejections };
        let component = component(ComponentOptions::default());
        let decision = component.reject(&request(), &hint, 1).unwrap();
        assert_eq!(
            (decision.outcome, decision.hint),
            (Outcome::Rejected { retry_after_ms: 8 }, Hint::default())
        );
        let request = AcquireRequest { hint: Some(hint), ..request() };
        let mut machine: Session<Decision> =
            Session::begin(&component, |store, quota| quota.acquire(store, vec![request], false));
        let Step::Done(decision) = machine.advance(1, &[Reply::Failed("gone".into())]) else { panic!() };
        assert!(matches!(&decision.outcome, Outcome::Failed(error) if error.code == ErrorCode::Other));
    }

    #[test]
    fn what_failed_serves_nobody_and_neither_does_what_may_serve_one() {
        let starved = component(ComponentOptions { step_fuel: 20_000, ..ComponentOptions::default() });
        let mut machine = starved.acquire(request());
        assert!(matches!(machine.advance(1, &[]), Step::Done(_)));
        drop(machine);
        assert!(left(&starved).is_empty());
        for requests_per_instance in [0, 1] {
            let once = component(ComponentOptions { requests_per_instance, ..ComponentOptions::default() });
            drop(once.acquire(request()));
            assert!(left(&once).is_empty());
        }
    }

    #[test]
    fn after_a_storm_some_are_kept() {
        let component = component(ComponentOptions::default());
        let storm: Vec<_> = (0..MOST_IDLE + 10).map(|_| component.acquire(request())).collect();
        drop(storm);
        assert_eq!(component.idle().len(), MOST_IDLE);
    }
}
