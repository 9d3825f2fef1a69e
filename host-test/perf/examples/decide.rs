//! One decision again and again, for a profiler to look at:
//!
//! ```sh
//! cargo build --release -p onewindow-perf --example decide
//! valgrind --tool=callgrind "$CARGO_TARGET_DIR/release/examples/decide" native "steady state" 1000
//! ```

#[path = "../benches/cases/mod.rs"]
mod cases;

use anyhow::{Context as _, Result, bail};
use onewindow_host::Engine;

fn main() -> Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [by, name, goes] = arguments.as_slice() else { bail!("expected: native|component CASE GOES") };
    let case = cases::all().into_iter().find(|case| case.name == name).context("there is no such case")?;
    let engine = match by.as_str() {
        "native" => Engine::native(),
        "component" => Engine::component()?,
        _ => bail!("there is no engine {by}"),
    };
    for _ in 0..goes.parse::<u32>()? {
        case.decide(case.asked(), &engine);
    }
    Ok(())
}
