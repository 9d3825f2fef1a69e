//! The functions of the world `quota`, by their names in `wit/` and with the library's own types. For this
//! repository's measurements; no promise of stability, because wasmtime's types are in it.

use onewindow::{
    AcquireRequest, Amount, Hint, Limit, Subject,
    contract::{Reply, Step, VERSION},
};
use wasmtime::{
    AsContextMut, Result,
    component::{ComponentExportIndex, InstancePre, ResourceAny, TypedFunc},
};

/// The functions of the interface `enforce`.
const FUNCTIONS: [&str; 4] = ["acquire", "settle", "preview", "[method]machine.advance"];

/// A component that exports the world, ready to be instantiated.
pub struct QuotaPre<T: 'static> {
    component: InstancePre<T>,
    functions: [ComponentExportIndex; 4],
}

impl<T> QuotaPre<T> {
    /// Finds the functions.
    ///
    /// # Errors
    /// Where one is missing.
    pub fn new(component: InstancePre<T>) -> Result<Self> {
        let find = |within: Option<&ComponentExportIndex>, name: &str| {
            let found = component.component().get_export_index(within, name);
            found.ok_or_else(|| wasmtime::Error::msg(format!("it does not export {name}")))
        };
        let enforce = find(None, &format!("onewindow:quota/enforce@{VERSION}"))?;
        let [acquire, settle, preview, advance] = FUNCTIONS.map(|name| find(Some(&enforce), name));
        let functions = [acquire?, settle?, preview?, advance?];
        Ok(Self { component, functions })
    }

    /// An instance in `store`.
    ///
    /// # Errors
    /// Where there is no room for an instance, or a function has other types.
    pub fn instantiate(&self, mut store: impl AsContextMut<Data = T>) -> Result<Quota> {
        let instance = self.component.instantiate(&mut store)?;
        let [acquire, settle, preview, advance] = &self.functions;
        Ok(Quota {
            acquire: instance.get_typed_func(&mut store, acquire)?,
            settle: instance.get_typed_func(&mut store, settle)?,
            preview: instance.get_typed_func(&mut store, preview)?,
            advance: instance.get_typed_func(&mut store, advance)?,
        })
    }
}

/// The functions of an instance. Those that make a machine return the resource; the caller drops it.
pub struct Quota {
    acquire: TypedFunc<(Vec<AcquireRequest>, bool), (ResourceAny,)>,
    settle: TypedFunc<(String, String, Vec<Amount>), (ResourceAny,)>,
    preview: TypedFunc<(Subject, Vec<Limit>, Option<Hint>), (ResourceAny,)>,
    advance: TypedFunc<(ResourceAny, u64, Vec<Reply>), (Step,)>,
}

impl Quota {
    /// A machine that debits tokens.
    ///
    /// # Errors
    /// Where the instance traps.
    pub fn acquire(
        &self,
        store: impl AsContextMut,
        levels: Vec<AcquireRequest>,
        cascade: bool,
    ) -> Result<ResourceAny> {
        self.acquire.call(store, (levels, cascade)).map(|(machine,)| machine)
    }

    /// A machine that corrects a lease.
    ///
    /// # Errors
    /// As of `acquire`.
    pub fn settle(
        &self,
        store: impl AsContextMut,
        table: &str,
        lease: &str,
        actual: Vec<Amount>,
    ) -> Result<ResourceAny> {
        self.settle.call(store, (table.to_owned(), lease.to_owned(), actual)).map(|(machine,)| machine)
    }

    /// A machine that reads what is left.
    ///
    /// # Errors
    /// As of `acquire`.
    pub fn preview(
        &self,
        store: impl AsContextMut,
        subject: Subject,
        limits: Vec<Limit>,
        hint: Option<Hint>,
    ) -> Result<ResourceAny> {
        self.preview.call(store, (subject, limits, hint)).map(|(machine,)| machine)
    }

    /// One step of a machine.
    ///
    /// # Errors
    /// As of `acquire`.
    pub fn advance(
        &self,
        store: impl AsContextMut,
        machine: ResourceAny,
        now_ms: u64,
        replies: Vec<Reply>,
    ) -> Result<Step> {
        self.advance.call(store, (machine, now_ms, replies)).map(|(step,)| step)
    }
}
