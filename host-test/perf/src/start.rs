//! From bytes to an instance that decides, with the settings of the host's engine, and its memory. The start of
//! workerd is measured with the other runtimes.

use std::{
    fs,
    time::{Duration, Instant},
};

use anyhow::Context;
use onewindow_host::engine::{
    Component as Host, ComponentOptions,
    component::{BINARY, bindings::QuotaPre},
};
use wasmtime::{
    Engine, ResourceLimiter, Store,
    component::{Component, Linker},
};

use crate::{
    cases::{self, Case},
    instance::{Instance, anyhow_of},
    table::{Table, time},
};

/// The aim for instantiating.
const AIM: Duration = Duration::from_micros(10);
/// Instances alive at the same time, where their memory is measured.
const ALIVE: usize = 256;

pub(crate) fn run() -> anyhow::Result<()> {
    println!("## Start\n");
    let options = ComponentOptions { cache: false, ..ComponentOptions::default() };
    let engine = anyhow_of(Engine::new(&options.config()))?;
    let compiled = anyhow_of(Component::new(&engine, BINARY))?;
    let code = anyhow_of(compiled.serialize())?;
    let cases = cases::all();
    let steady = cases.first().context("there is no case")?;

    let mut table = Table::new(["step", "median", "99 %", "aim"]);
    let mut row = |step: String, times: Vec<Duration>, aim: Option<Duration>| {
        let [median, slow] = quantiles(times);
        let aim = aim.map_or(String::new(), |aim| {
            format!("{}: {}", time(aim), if median <= aim { "met" } else { "missed" })
        });
        table.row([step, time(median), time(slow), aim]);
    };
    row(
        format!("compile the component ({})", kib(BINARY.len())),
        timed(10, || anyhow_of(Component::new(&engine, BINARY)))?,
        None,
    );
    row(
        format!("deserialise precompiled code ({})", kib(code.len())),
        // SAFETY: this engine has just serialised it.
        timed(1000, || anyhow_of(unsafe { Component::deserialize(&engine, &code) }))?,
        None,
    );
    let cached = ComponentOptions::default();
    // The first leaves the code in wasmtime's cache.
    drop(Host::embedded(cached.clone())?);
    row(
        "the host's engine and its pool, code from the cache".into(),
        timed(20, || Ok(Host::embedded(cached.clone())?))?,
        None,
    );
    let host = Host::embedded(options.clone())?;
    row(
        "instantiate (pooled), its store included".into(),
        timed(20_000, || anyhow_of(host.instantiate()))?,
        Some(AIM),
    );
    row("… and drop it".into(), timed(20_000, || anyhow_of(host.instantiate()).map(drop))?, None);
    let decide = || {
        let (store, quota) = anyhow_of(host.instantiate())?;
        anyhow_of(Instance::new(store, quota).decide(steady.asked(), steady))
    };
    row("instantiate, decide once (steady state), drop".into(), timed(20_000, decide)?, None);
    table.print();

    memory(&engine, &compiled, options.step_fuel, &cases)
}

/// The memory of instances: linear, and the part of it that is resident.
fn memory(engine: &Engine, compiled: &Component, fuel: u64, cases: &[Case]) -> anyhow::Result<()> {
    let linker = Linker::new(engine);
    let pre = anyhow_of(linker.instantiate_pre(compiled).and_then(QuotaPre::new))?;
    let instantiate = || {
        let mut store = Store::new(engine, Grown(0));
        store.limiter(|grown| grown);
        store.set_fuel(fuel)?;
        let quota = pre.instantiate(&mut store)?;
        Ok(Instance::new(store, quota))
    };
    let mut table = Table::new(["memory of one instance", "linear", "resident"]);
    let mut row = |after: &str, case: Option<&Case>| {
        let mut alive = Vec::with_capacity(ALIVE);
        let before = resident_bytes()?;
        for _ in 0..ALIVE {
            let mut instance = anyhow_of(instantiate())?;
            if let Some(case) = case {
                anyhow_of(instance.decide(case.asked(), case))?;
            }
            alive.push(instance);
        }
        let resident = resident_bytes()?.saturating_sub(before) / ALIVE;
        let linear = alive.first().map_or(0, |instance| instance.store.data().0);
        table.row([after.to_owned(), kib(linear), kib(resident)]);
        anyhow::Ok(())
    };
    // The first instances allocate the pool's tables, which later ones reuse.
    row("freshly instantiated", None)?;
    for case in cases {
        row(&format!("after one decision: {}", case.name), Some(case))?;
    }
    table.print();
    Ok(())
}

/// The size of the linear memory, bytes.
struct Grown(usize);

impl ResourceLimiter for Grown {
    fn memory_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        self.0 = desired;
        Ok(true)
    }

    fn table_growing(&mut self, _: usize, _: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(true)
    }
}

/// Pages of this process that are in memory.
fn resident_bytes() -> anyhow::Result<usize> {
    const PAGE_BYTES: usize = 4096;
    let text = fs::read_to_string("/proc/self/statm")?;
    let pages: usize = text.split(' ').nth(1).context("statm has another form")?.parse()?;
    Ok(pages * PAGE_BYTES)
}

/// The time of each of `goes` calls. Their results are dropped outside of it.
fn timed<T>(goes: usize, mut work: impl FnMut() -> anyhow::Result<T>) -> anyhow::Result<Vec<Duration>> {
    let mut times = Vec::with_capacity(goes);
    for _ in 0..goes {
        let began = Instant::now();
        let made = work();
        times.push(began.elapsed());
        drop(made?);
    }
    Ok(times)
}

/// The median and the 99th percentile.
fn quantiles(mut times: Vec<Duration>) -> [Duration; 2] {
    times.sort_unstable();
    [50, 99].map(|percent| times[(times.len() - 1) * percent / 100])
}

fn kib(bytes: usize) -> String {
    format!("{} KiB", bytes.div_ceil(1024))
}
