//! Builds the component, and composes it with the core.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, ensure};
use wac_graph::{CompositionGraph, EncodeOptions, plug, types::Package};

const TARGET: &str = "wasm32-wasip2";

/// Builds the component beside this tool.
pub(crate) fn build() -> anyhow::Result<Vec<u8>> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("this crate is in a project")?;
    // A folder of its own: the tool may itself run under a cargo that holds the outer one.
    let target_dir = env::var_os("CARGO_TARGET_DIR").map_or_else(|| project.join("target"), PathBuf::from);
    let target_dir = target_dir.join("wasi-http");
    let status = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .current_dir(project)
        .args(["build", "--package=onewindow-wasi-http", "--profile=component"])
        .args(["--target", TARGET, "--target-dir"])
        .arg(&target_dir)
        .status()
        .context("cargo cannot be run")?;
    ensure!(
        status.success(),
        "the component does not build; is the target there? rustup target add {TARGET}"
    );
    let file = target_dir.join(TARGET).join("component/onewindow_wasi_http.wasm");
    fs::read(&file).with_context(|| format!("{} cannot be read", file.display()))
}

/// Connects the component's imports of `onewindow:quota` to the core's exports. The core is part of the
/// composition unchanged, byte for byte.
pub(crate) fn compose(shell: &[u8], core: Vec<u8>) -> anyhow::Result<Vec<u8>> {
    let mut graph = CompositionGraph::new();
    let shell = Package::from_bytes("onewindow:wasi-http", None, shell, graph.types_mut())?;
    let core = Package::from_bytes("onewindow:core", None, core, graph.types_mut())?;
    let (shell, core) = (graph.register_package(shell)?, graph.register_package(core)?);
    plug(&mut graph, vec![core], shell)?;
    Ok(graph.encode(EncodeOptions::default())?)
}
