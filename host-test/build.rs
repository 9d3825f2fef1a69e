//! Builds the core as a WebAssembly component, so that the host embeds what this checkout says.
//!
//! The nested build has a target folder of its own: cargo holds the lock of the outer one. A published
//! package has no checkout around it, and brings the component along: `release.sh` puts it in.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

const TARGET: &str = "wasm32-unknown-unknown";

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let path = match here.parent().filter(|folder| folder.join("wit/world.wit").is_file()) {
        Some(workspace) => build(workspace, &out),
        None => here.join("onewindow.wasm"),
    };
    assert!(path.is_file(), "{}: not in this package; host-test/release.sh puts it there", path.display());
    println!("cargo::rustc-env=ONEWINDOW_COMPONENT={}", path.display());
}

/// The component of the checkout at `workspace`.
fn build(workspace: &Path, out: &Path) -> PathBuf {
    for input in ["component/src", "component/Cargo.toml", "wit", "Cargo.toml", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={}", workspace.join(input).display());
    }
    let module = shrink(&build_module(workspace, &out.join("target")), out);
    let component = wit_component::ComponentEncoder::default()
        .validate(true)
        .module(&fs::read(&module).expect("the module was just built"))
        .and_then(|encoder| encoder.encode())
        .unwrap_or_else(|error| panic!("{} does not make a component: {error:#}", module.display()));
    let path = out.join("onewindow.wasm");
    fs::write(&path, without_names(component)).expect("OUT_DIR is writable");
    path
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

/// The module, an eighth smaller: what the compiler leaves undone, Binaryen does, within the target
/// features that the module says it was compiled for. Not left out where Binaryen is missing: the
/// component would differ from machine to machine.
fn shrink(module: &Path, out: &Path) -> PathBuf {
    let shrunk = out.join("module.wasm");
    let status = Command::new("wasm-opt")
        .args(["-Oz", "--strip-target-features", "--strip-producers", "--output"])
        .args([&shrunk, module])
        .status()
        .unwrap_or_else(|error| panic!("wasm-opt, of Debian's package binaryen, does not run: {error}"));
    assert!(status.success(), "wasm-opt failed on {}", module.display());
    shrunk
}

/// The component up to its last section that means something: the custom ones behind it name the parts
/// of the contract once more, for debuggers of components, in 4 KB.
fn without_names(mut component: Vec<u8>) -> Vec<u8> {
    let meant = wasmparser::Parser::new(0)
        .parse_all(&component)
        .map(|payload| payload.expect("the component was just validated"))
        .filter_map(|payload| payload.as_section().filter(|(id, _)| *id != 0))
        .map(|(_, range)| range.end)
        .max();
    component.truncate(meant.and_then(|end| end.try_into().ok()).unwrap_or(component.len()));
    component
}
