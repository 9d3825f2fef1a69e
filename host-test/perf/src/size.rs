//! What the component weighs, and where its bytes come from: by part of the file, by home in the source,
//! and by what a host could do without.

use std::{
    collections::BTreeMap,
    env, fs,
    io::Write as _,
    ops::Range,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Error, Result, ensure};
use flate2::{Compression, write::GzEncoder};
use onewindow_host::engine::component::{BINARY, INSPECT};
use wasmparser::{KnownCustom, Name, Parser, Payload};

use crate::table::Table;

// How the host's build makes it.
#[path = "../../host/build/module.rs"]
mod module;

/// The aims: bytes, and bytes compressed.
const AIM: (usize, usize) = (100_000, 40_000);

/// The operations, by the functions that make a machine for them, and what stands beside them.
const FUNCTIONS: [&str; 5] = ["settle", "preview", "configure", "find-namespace", "classify"];

/// Of what a group of functions is named after, what it is for.
const HOMES: [(&str, &str); 6] = [
    ("contract", "the contract's exports: values taken from and given to the host"),
    ("guest", "the same, where they are shared"),
    ("core", "the language's library: formatting, parsing, sorting"),
    ("alloc", "the same: strings, vectors, shared pointers"),
    ("compiler_builtins", "arithmetic in 128 bits"),
    ("rlsf", "the allocator"),
];

pub(crate) fn run() -> Result<()> {
    let folder = env::temp_dir().join(format!("onewindow-size-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let printed = print(&folder);
    fs::remove_dir_all(&folder)?;
    printed
}

fn print(folder: &Path) -> Result<()> {
    let module = build()?;
    let named = optimise(&module, folder, true)?;
    whole("the component `quota`", BINARY)?;
    whole("the component `inspect`", INSPECT)?;
    homes(&named)?;
    features(&module, folder)
}

/// The module that the component is made of, with the names of its functions.
fn build() -> Result<PathBuf> {
    let target_dir = env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    module::compile(module::QUOTA, Path::new("."), &target_dir.join("size")).map_err(Error::msg)
}

/// As the build of the host does; with the names still there, where they are asked for.
fn optimise(module: &Path, folder: &Path, names: bool) -> Result<Vec<u8>> {
    let optimised = folder.join("optimised.wasm");
    module::shrink(module, &optimised, names).map_err(Error::msg)?;
    Ok(fs::read(optimised)?)
}

fn gzip(bytes: &[u8]) -> Result<usize> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?.len())
}

fn kilobytes(bytes: usize) -> String {
    format!("{:.1}", bytes as f64 / 1000.0)
}

/// The file, and what it is made of.
fn whole(name: &'static str, component: &[u8]) -> Result<()> {
    let mut table = Table::new([name, "KB", "KB gzip"]);
    let mut row = |name: &str, bytes: &[u8]| -> Result<()> {
        table.row([name.to_owned(), kilobytes(bytes.len()), kilobytes(gzip(bytes)?)]);
        Ok(())
    };
    row("all of it", component)?;
    let mut modules = Vec::new();
    let mut rest = Vec::new();
    let (mut last, end) = (0, u64::try_from(component.len())?);
    for payload in Parser::new(0).parse_all(component) {
        if let Payload::ModuleSection { unchecked_range, .. } = payload? {
            rest.extend_from_slice(slice(component, last..unchecked_range.start)?);
            last = unchecked_range.end;
            modules.push(slice(component, unchecked_range)?);
        }
    }
    rest.extend_from_slice(slice(component, last..end)?);
    let module = modules.first().context("a component without a module")?;
    for payload in Parser::new(0).parse_all(module) {
        match payload? {
            Payload::CodeSectionStart { unchecked_range, .. } => {
                row("its code", slice(module, unchecked_range)?)?
            }
            Payload::DataSection(section) => row("its constants", slice(module, section.range())?)?,
            _ => {}
        }
    }
    row("the contract's types, and how they are passed", &rest)?;
    table.row(["the aim".to_owned(), kilobytes(AIM.0), kilobytes(AIM.1)]);
    table.print();
    Ok(())
}

fn slice(bytes: &[u8], range: Range<u64>) -> Result<&[u8]> {
    let range = usize::try_from(range.start)?..usize::try_from(range.end)?;
    bytes.get(range).context("a section beyond the end of the file")
}

/// The code, by the source it comes from.
fn homes(module: &[u8]) -> Result<()> {
    let mut names = BTreeMap::new();
    let mut sizes = Vec::new();
    let mut imported = 0_u32;
    for payload in Parser::new(0).parse_all(module) {
        match payload? {
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    imported += u32::from(matches!(import?.ty, wasmparser::TypeRef::Func(_)));
                }
            }
            Payload::CodeSectionEntry(body) => {
                let range = body.range();
                sizes.push(usize::try_from(range.end - range.start)?);
            }
            Payload::CustomSection(section) => {
                if let KnownCustom::Name(section) = section.as_known() {
                    for name in section {
                        if let Name::Function(map) = name? {
                            for naming in map {
                                let naming = naming?;
                                names.insert(naming.index, naming.name);
                            }
                        }
                    }
                }
            }
            _ => {}
        }
    }
    let mut homes = BTreeMap::<String, usize>::new();
    for (index, size) in (imported..).zip(&sizes) {
        *homes.entry(home(names.get(&index).copied().unwrap_or_default())).or_default() += size;
    }
    let mut homes: Vec<_> = homes.into_iter().collect();
    homes.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
    let mut table = Table::new(["code by its home", "KB", ""]);
    for (name, size) in homes.iter().filter(|(_, size)| *size >= 500) {
        let note = HOMES.iter().find(|(home, _)| home == name).map_or("", |(_, note)| note);
        table.row([format!("`{name}`"), kilobytes(*size), note.to_owned()]);
    }
    table.print();
    Ok(())
}

/// The module of ours, or the crate, that a function comes from; what is inlined counts where it ended up.
fn home(name: &str) -> String {
    if name.contains("onewindow:quota/") || name.starts_with("cabi_") {
        return "contract".to_owned();
    }
    let name = format!("{:#}", rustc_demangle::demangle(name));
    if let Some(position) = name.find("onewindow::") {
        let rest = &name[position + "onewindow::".len()..];
        return rest
            .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
            .next()
            .unwrap_or_default()
            .to_owned();
    }
    for package in ["rlsf", "compiler_builtins", "wit_bindgen", "alloc", "core", "std"] {
        if name.contains(&format!("{package}::")) {
            return package.to_owned();
        }
    }
    "compiler_builtins".to_owned()
}

/// What the module would weigh without a function. What only its machine runs counts with `advance`, which
/// stays.
fn features(module: &Path, folder: &Path) -> Result<()> {
    let bytes = fs::read(module)?;
    let mut exports = Vec::new();
    for payload in Parser::new(0).parse_all(&bytes) {
        if let Payload::ExportSection(section) = payload? {
            for export in section {
                exports.push(export?.name.to_owned());
            }
        }
    }
    let without = |left_out: &[&str]| -> Result<(usize, usize)> {
        let stays = |export: &&String| !left_out.iter().any(|name| export.ends_with(&format!("#{name}")));
        let roots: Vec<_> = exports
            .iter()
            .filter(stays)
            .map(|export| serde_json::json!({ "name": export, "export": export, "root": true }))
            .collect();
        let graph = folder.join("exports.json");
        fs::write(&graph, serde_json::to_vec(&roots)?)?;
        let less = folder.join("less.wasm");
        let output = Command::new("wasm-metadce")
            .arg("--graph-file")
            .args([graph.as_path(), module, Path::new("--output"), &less])
            .output()
            .context("Binaryen does not run")?;
        ensure!(output.status.success(), "wasm-metadce: {}", String::from_utf8_lossy(&output.stderr));
        let bytes = optimise(&less, folder, false)?;
        Ok((bytes.len(), gzip(&bytes)?))
    };
    let (all, all_gzip) = without(&[])?;
    let mut table = Table::new(["the module without", "KB less", "KB less, gzip"]);
    let mut row = |name: String, left_out: &[&str]| -> Result<()> {
        let (less, less_gzip) = without(left_out)?;
        table.row([name, kilobytes(all - less), kilobytes(all_gzip - less_gzip)]);
        Ok(())
    };
    for function in FUNCTIONS {
        row(format!("`{function}`"), &[function])?;
    }
    row("all but `acquire`".to_owned(), &FUNCTIONS)?;
    table.print();
    Ok(())
}
