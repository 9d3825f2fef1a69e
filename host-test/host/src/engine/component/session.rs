//! One machine in one instance.

use std::{marker::PhantomData, mem};

use onewindow::{Error, ErrorCode, Reply, Step, contract::Decided};
use wasmtime::{Store, component::ResourceAny};

use super::{
    exports::Quota,
    pool::{Instance, Pool},
};
use crate::engine::machine::Machine;

/// A machine of the component, and its instance.
pub(super) struct Session<D> {
    pool: Pool,
    state: State,
    decides: PhantomData<fn() -> D>,
}

enum State {
    Running(Box<Instance>, ResourceAny),
    /// It trapped, or there was no instance. Nothing of it is used again.
    Broken(Fault),
}

impl State {
    fn gone() -> Self {
        Self::Broken(Fault(String::new()))
    }
}

/// What went wrong, for a person.
#[derive(Clone)]
struct Fault(String);

impl Fault {
    fn new(error: &wasmtime::Error) -> Self {
        Self(format!("the component failed: {}", error.root_cause()))
    }
}

impl From<Fault> for Error {
    fn from(Fault(message): Fault) -> Self {
        Self { code: ErrorCode::Other, message }
    }
}

impl<D> Session<D> {
    pub(super) fn begin(
        pool: &Pool,
        construct: impl FnOnce(&mut Store<()>, &Quota) -> wasmtime::Result<ResourceAny>,
    ) -> Self {
        let begun = pool.instance().and_then(|mut instance| {
            let machine = construct(&mut instance.store, &instance.quota)?;
            Ok(State::Running(Box::new(instance), machine))
        });
        let state = begun.unwrap_or_else(|error| State::Broken(Fault::new(&error)));
        Self { pool: pool.clone(), state, decides: PhantomData }
    }

    /// Runs one step. After a fault the instance is discarded.
    fn step<S>(
        &mut self,
        take: impl FnOnce(&mut Instance, ResourceAny) -> wasmtime::Result<S>,
    ) -> Result<S, Fault> {
        // Only an instance whose step ended well is put back, so no other is used again.
        let (mut instance, machine) = match mem::replace(&mut self.state, State::gone()) {
            State::Running(instance, machine) => (instance, machine),
            State::Broken(fault) => {
                self.state = State::Broken(fault.clone());
                return Err(fault);
            }
        };
        let fuelled = instance.store.set_fuel(self.pool.step_fuel());
        let taken = fuelled.and_then(|()| take(&mut instance, machine)).map_err(|error| Fault::new(&error));
        self.state = match &taken {
            Ok(_) => State::Running(instance, machine),
            Err(fault) => State::Broken(fault.clone()),
        };
        taken
    }
}

/// At its end, or where the caller dropped the request, the machine is dropped and the instance is kept.
impl<D> Drop for Session<D> {
    fn drop(&mut self) {
        if let State::Running(mut instance, machine) = mem::replace(&mut self.state, State::gone()) {
            let dropped = instance.store.set_fuel(self.pool.step_fuel());
            if dropped.and_then(|()| machine.resource_drop(&mut instance.store)).is_ok() {
                self.pool.put_back(*instance);
            }
        }
    }
}

impl<D: Decided> Machine<D> for Session<D> {
    fn advance(&mut self, now_ms: u64, replies: &[Reply]) -> Step<D> {
        let replies = replies.iter().map(Into::into).collect();
        let stepped = self
            .step(|Instance { store, quota, .. }, machine| quota.advance(store, machine, now_ms, replies));
        match stepped {
            Ok(step) => step.into_library(),
            Err(fault) => Step::Done(D::failed(fault.into())),
        }
    }
}
