//! One decision again and again, for a profiler to look at:
//!
//! ```sh
//! cargo build --release -p onewindow-perf --example decide
//! valgrind --tool=callgrind "$CARGO_TARGET_DIR/release/examples/decide" native "steady state" 1000
//! ```

#[path = "../../benches/cases/mod.rs"]
mod cases;

use onewindow_host::{
    Engine,
    engine::{Component, ComponentOptions},
};
use wasmtime::{Result, bail, error::Context as _};

use cases::Kept;

fn main() -> Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [by, name, goes] = arguments.as_slice() else { bail!("expected: native|component|kept CASE GOES") };
    let case = cases::all().into_iter().find(|case| case.name == name).context("there is no such case")?;
    let goes = 0..goes.parse::<u32>()?;
    match by.as_str() {
        "native" => goes.for_each(|_| case.decide(case.asked(), &Engine::native())),
        "component" => {
            let engine = Engine::component()?;
            goes.for_each(|_| case.decide(case.asked(), &engine));
        }
        "kept" => {
            let (store, quota) = Component::embedded(ComponentOptions::default())?.instantiate()?;
            let mut kept = Kept::new(store, quota);
            for _ in goes {
                kept.decide(case.asked(), &case)?;
            }
        }
        _ => bail!("there is no engine {by}"),
    }
    Ok(())
}
