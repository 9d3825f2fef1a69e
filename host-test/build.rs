//! Builds the core as a WebAssembly component, so that the host embeds what this checkout says.
//!
//! The nested build has a target folder of its own: cargo holds the lock of the outer one.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

const TARGET: &str = "wasm32-unknown-unknown";

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let workspace = here.parent().expect("the workspace is the folder above");
    for input in ["component/src", "component/Cargo.toml", "wit", "Cargo.toml", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={}", workspace.join(input).display());
    }
    let module = shrink(&build_module(workspace, &out.join("target")), &out);
    let component = wit_component::ComponentEncoder::default()
        .validate(true)
        .module(&fs::read(&module).expect("the module was just built"))
        .and_then(|encoder| encoder.encode())
        .unwrap_or_else(|error| panic!("{} does not make a component: {error:#}", module.display()));
    let path = out.join("onewindow.wasm");
    fs::write(&path, component).expect("OUT_DIR is writable");
    println!("cargo::rustc-env=ONEWINDOW_COMPONENT={}", path.display());
}

fn build_module(workspace: &Path, target_dir: &Path) -> PathBuf {
    let mut cargo = Command::new(env::var_os("CARGO").expect("cargo sets CARGO"));
    cargo
        .current_dir(workspace)
        .args(["rustc", "--package=onewindow", "--lib", "--crate-type=cdylib"])
        .args(["--features=component", "--profile=component"])
        .arg(format!("--target={TARGET}"))
        .arg("--target-dir")
        .arg(target_dir);
    // What the outer build is checked or instrumented with is not for the component.
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let outer =
            ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"];
        if outer.contains(&name.as_str()) || name.starts_with("CARGO_PROFILE_") {
            cargo.env_remove(name);
        }
    }
    let status = cargo.status().expect("cargo runs");
    assert!(
        status.success(),
        "building the component failed; where the target is missing: rustup target add {TARGET}"
    );
    target_dir.join(TARGET).join("component").join("onewindow.wasm")
}

/// The module, an eighth smaller: what the compiler leaves undone, Binaryen does. Not left out where
/// it is missing: the component would differ from machine to machine.
fn shrink(module: &Path, out: &Path) -> PathBuf {
    let shrunk = out.join("module.wasm");
    let status = Command::new("wasm-opt")
        .args(["-Oz", "--enable-bulk-memory", "--enable-sign-ext", "--enable-mutable-globals"])
        .args(["--enable-nontrapping-float-to-int", "--enable-multivalue", "--enable-reference-types"])
        .arg("--output")
        .args([&shrunk, module])
        .status()
        .unwrap_or_else(|error| panic!("wasm-opt, of Debian's package binaryen, does not run: {error}"));
    assert!(status.success(), "wasm-opt failed on {}", module.display());
    shrunk
}
