//! Builds the core of this checkout as a WebAssembly component, for the host to embed.
//!
//! The nested build has a target folder of its own. A published package has no checkout around it, and brings
//! the components along: `release.sh` puts them in.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use super::module::{self, World};

/// Makes the component of a world, and passes its path to the compiler in an environment variable.
pub(crate) fn provide(world: World, variable: &str) {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let file = format!("onewindow-{}.wasm", world.name);
    let path = match here.ancestors().nth(2).filter(|folder| folder.join("wit/worlds.wit").is_file()) {
        Some(workspace) => {
            let path = out.join(&file);
            build(world, workspace, &out, &path).unwrap_or_else(|error| panic!("{error}"));
            path
        }
        None => here.join(&file),
    };
    assert!(path.is_file(), "{}: not in this package; host-test/release.sh puts it there", path.display());
    println!("cargo::rustc-env={variable}={}", path.display());
}

/// The component of the checkout at `workspace`, at `path`.
fn build(world: World, workspace: &Path, out: &Path, path: &Path) -> Result<(), String> {
    for input in ["component/src", "component/Cargo.toml", "wit", "Cargo.toml", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={}", workspace.join(input).display());
    }
    let shrunk = out.join("module.wasm");
    module::shrink(&module::compile(world, workspace, &out.join("target"))?, &shrunk, false)?;
    let component = wit_component::ComponentEncoder::default()
        .validate(true)
        .module(&fs::read(&shrunk).expect("the module was just written"))
        .and_then(|encoder| encoder.encode())
        .map_err(|error| format!("{} does not make a component: {error:#}", shrunk.display()))?;
    fs::write(path, without_names(component)).expect("OUT_DIR is writable");
    Ok(())
}

/// The component without the custom sections at its end: they hold 4 KB of names for debuggers.
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
