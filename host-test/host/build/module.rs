//! The core as the module that the component is made of: compiled for size, then shrunk. The measure of its
//! size (`host-test/perf`) makes it by the same two commands.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

const TARGET: &str = "wasm32-unknown-unknown";

/// A world of `wit/`, and the feature of the core that exports it.
#[derive(Clone, Copy)]
pub(crate) struct World {
    #[allow(dead_code, reason = "the measure of its size writes no file of that name")]
    pub(crate) name: &'static str,
    feature: &'static str,
}

/// What a host needs to enforce limits.
pub(crate) const QUOTA: World = World { name: "quota", feature: "component" };

/// The pure functions.
#[allow(dead_code, reason = "not every build makes it")]
pub(crate) const INSPECT: World = World { name: "inspect", feature: "inspect" };

/// Compiles the core of the checkout at `workspace`, with the names of its functions. `target_dir` is not the
/// one of a build that is under way: cargo holds its lock.
///
/// # Errors
/// Where cargo does not run, or the core does not compile.
pub(crate) fn compile(world: World, workspace: &Path, target_dir: &Path) -> Result<PathBuf, String> {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .current_dir(workspace)
        .args(["rustc", "--quiet", "--package=onewindow", "--lib", "--crate-type=cdylib"])
        .args(["--features", world.feature, "--profile=component", "--target", TARGET, "--target-dir"])
        .arg(target_dir);
    // The wrappers and flags of the outer build (checks, instrumentation) are not for the component.
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let outer =
            ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"];
        if outer.contains(&name.as_str()) || name.starts_with("CARGO_PROFILE_") {
            cargo.env_remove(name);
        }
    }
    run(&mut cargo).map_err(|error| {
        format!("{error}\nthe core does not compile; where the target is missing: rustup target add {TARGET}")
    })?;
    Ok(target_dir.join(TARGET).join("component/onewindow.wasm"))
}

/// Writes the module to `to` after Binaryen's optimisations, which make it an eighth smaller and use only the
/// target features that the module was compiled for. Binaryen is required: without it the component would
/// differ from machine to machine.
///
/// # Errors
/// Where Binaryen does not run, or refuses the module.
pub(crate) fn shrink(module: &Path, to: &Path, names: bool) -> Result<(), String> {
    let mut binaryen = Command::new("wasm-opt");
    binaryen.args(["-Oz", "--strip-target-features", "--strip-producers"]);
    binaryen.args(names.then_some("-g")).arg("--output").args([to, module]);
    run(&mut binaryen).map_err(|error| format!("{error}\nwasm-opt is of Debian's package binaryen"))
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)))
}
