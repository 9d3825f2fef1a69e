//! A decision without the network: the times that criterion measured (`cargo bench -p onewindow-perf`), the
//! allocations, and the instructions.

use std::{fs, path::Path, time::Duration};

use anyhow::Context;
use onewindow_host::{
    Engine,
    engine::{Component, ComponentOptions},
};
use serde::Deserialize;

use crate::{
    allocations,
    arguments::Arguments,
    cases,
    instance::{Instance, anyhow_of},
    table::{Table, digits, time},
};

/// The aims for a steady-state decision, native and in wasmtime.
const AIMS: [Duration; 2] = [Duration::from_micros(2), Duration::from_micros(6)];

#[derive(Deserialize)]
struct Estimates {
    median: Estimate,
}

#[derive(Deserialize)]
struct Estimate {
    /// Nanoseconds.
    point_estimate: f64,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    println!("## A decision\n");
    let mut table = Table::new([
        "decision",
        "native",
        "in wasmtime",
        "× native",
        "with a fresh instance",
        "allocations",
        "bytes allocated",
        "wasm instructions",
    ]);
    let (store, quota) = anyhow_of(Component::embedded(ComponentOptions::default())?.instantiate())?;
    let mut instance = Instance::new(store, quota);
    let mut steady = None;
    for case in cases::all() {
        let median = |by| median(&arguments.criterion, case.name, by);
        let [native, component, fresh] = [median("native")?, median("component")?, median("fresh")?];
        let asked = case.asked();
        let ((), allocated) = allocations::of(|| case.decide(asked, &Engine::native()));
        anyhow_of(instance.decide(case.asked(), &case))?;
        // Each decision starts with all the fuel there is.
        let burned = u64::MAX - anyhow_of(instance.store.get_fuel())?;
        table.row([
            case.name.to_owned(),
            time(native),
            time(component),
            digits(component.as_secs_f64() / native.as_secs_f64()),
            time(fresh),
            allocated.times.to_string(),
            allocated.bytes.to_string(),
            burned.to_string(),
        ]);
        steady.get_or_insert([native, component]);
    }
    let aim = |place: usize| format!("at most {}", time(AIMS[place]));
    table.row(["*aim, steady state*", &aim(0), &aim(1), "", "", "", "", ""]);
    table.print();
    let verdict = |(measured, aim)| if measured <= aim { "met" } else { "missed" };
    let [native, component] = steady.context("there is no case")?;
    println!(
        "The aims: native {}, in wasmtime {}.\n",
        verdict((native, AIMS[0])),
        verdict((component, AIMS[1]))
    );
    Ok(())
}

/// The last result of criterion.
fn median(criterion: &Path, case: &str, by: &str) -> anyhow::Result<Duration> {
    let path = criterion.join(case).join(by).join("new/estimates.json");
    let text = fs::read_to_string(&path)
        .with_context(|| format!("{}: run `cargo bench -p onewindow-perf` first", path.display()))?;
    let Estimates { median } = serde_json::from_str(&text).with_context(|| path.display().to_string())?;
    Ok(Duration::from_secs_f64(median.point_estimate * 1e-9))
}
