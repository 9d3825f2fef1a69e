//! The core as a WebAssembly component in wasmtime.
//!
//! Every request has an instance to itself, so a trap affects that request only. An instance whose request
//! ended well is used again, because the core keeps nothing between requests. A component imports nothing,
//! so it reaches nothing outside. The fuel of each step is limited, so it cannot hang its host.

#[doc(hidden)]
pub mod exports;
mod options;
mod pool;
mod session;

pub use options::ComponentOptions;

use std::{fmt, sync::Arc};

use futures_util::future::BoxFuture;
use onewindow::{
    AcquireRequest, Amount, CascadeDecision, Decision, Hint, Limit, Outcome, Settlement, Step, Subject,
};
use wasmtime::Store;

use super::machine::{Core, Machine, PreviewDecision, Slot};
use exports::Quota;
use pool::{Instance, Pool};
use session::Session;

/// The component that was built with this crate.
pub const BINARY: &[u8] = include_bytes!(env!("ONEWINDOW_QUOTA"));

/// The component of the world `inspect`: the rules as pure functions, for tests and tools.
#[cfg(feature = "inspect")]
pub const INSPECT: &[u8] = include_bytes!(env!("ONEWINDOW_INSPECT"));

/// A component ready to run. Cheap to clone.
#[derive(Clone)]
pub struct Component {
    pool: Pool,
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
        let pool = Pool::load(binary, options).map_err(ComponentError)?;
        Ok(Self { pool })
    }

    /// An instance, which may have served requests, and its store, for this repository's measurements. It
    /// counts as one of `instances` as long as it lives, and is not used again. No promise of stability: a
    /// new wasmtime changes it.
    ///
    /// # Errors
    /// Where every instance is in use.
    #[doc(hidden)]
    pub fn instantiate(&self) -> wasmtime::Result<(Store<()>, Quota)> {
        self.pool.instance().map(|Instance { store, quota, .. }| (store, quota))
    }
}

impl Core for Component {
    fn name(&self) -> &'static str {
        "component"
    }

    fn slot(&self) -> Option<BoxFuture<'_, Slot>> {
        // It fails only where the semaphore is closed, and it never is.
        Some(Box::pin(async { Slot::holding(Arc::clone(self.pool.slots()).acquire_owned().await.ok()) }))
    }

    fn acquire(&self, mut request: AcquireRequest) -> Box<dyn Machine<Decision>> {
        // Whether a remembered rejection still holds is asked of `reject` alone.
        request.hint.iter_mut().for_each(|hint| hint.rejections.clear());
        Box::new(Session::begin(&self.pool, |store, quota| quota.acquire(store, vec![request], false)))
    }

    fn cascade(&self, levels: Vec<AcquireRequest>) -> Box<dyn Machine<CascadeDecision>> {
        Box::new(Session::begin(&self.pool, |store, quota| quota.acquire(store, levels, true)))
    }

    fn settle(&self, table: &str, lease: &str, actual: Vec<Amount>) -> Box<dyn Machine<Settlement>> {
        Box::new(Session::begin(&self.pool, |store, quota| quota.settle(store, table, lease, actual)))
    }

    fn preview(
        &self,
        subject: Subject,
        limits: Vec<Limit>,
        hint: Option<&Hint>,
    ) -> Box<dyn Machine<PreviewDecision>> {
        let hint = hint.cloned();
        Box::new(Session::begin(&self.pool, |store, quota| quota.preview(store, subject, limits, hint)))
    }

    /// Where the component fails or has no room, nothing is rejected, and the request goes to the table.
    fn reject(&self, request: &AcquireRequest, hint: &Hint, now_ms: u64) -> Option<Decision> {
        let _room = self.pool.slots().try_acquire().ok()?;
        let request = AcquireRequest { hint: Some(hint.clone()), ..request.clone() };
        let mut machine: Session<Decision> =
            Session::begin(&self.pool, |store, quota| quota.acquire(store, vec![request], false));
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
        f.debug_struct("Component").field("options", self.pool.options()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use onewindow::{ErrorCode, KnownRejection, LimitStatus, Reply};

    use super::{pool::MOST_IDLE, *};

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
        component.pool.idle().iter().map(|instance| instance.requests_left).collect()
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
        let _slot = component.pool.slots().try_acquire().unwrap();
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
            Session::begin(&component.pool, |store, quota| quota.acquire(store, vec![request], false));
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
        assert_eq!(component.pool.idle().len(), MOST_IDLE);
    }
}
