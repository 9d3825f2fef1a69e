//! The component imports nothing: no clock, no network, no randomness. It is a property of the
//! file, and this is where it is held to it.

use std::{collections::BTreeMap, fs};

use wasmparser::{Parser, Payload};
use wasmtime::{
    Engine, Store,
    component::{Component, Linker},
};
use wit_component::WitPrinter;
use wit_parser::{Package, Resolve};

const FILE: &str = env!("ONEWINDOW_COMPONENT");
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The names of what a component asks for, at its top level: what nested components pass among
/// themselves is not an import of the file.
fn imports(bytes: &[u8]) -> Vec<String> {
    let mut depth = 0_u32;
    let mut found = Vec::new();
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.expect("a well-formed component") {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                found.extend(
                    section.into_iter().map(|import| import.expect("an import").name.name.to_owned()),
                );
            }
            _ => {}
        }
    }
    found
}

#[test]
fn the_built_component_imports_nothing() {
    let bytes = fs::read(FILE).expect("the build makes it");
    assert_eq!(imports(&bytes), Vec::<String>::new());
}

#[test]
fn the_check_sees_an_import_where_there_is_one() {
    let wat = r#"(component (import "wasi:clocks/wall-clock@0.2.0" (func)))"#;
    let bytes = wat::parse_str(wat).expect("a component with an import");
    assert_eq!(imports(&bytes), ["wasi:clocks/wall-clock@0.2.0"]);
}

#[test]
fn it_runs_where_nothing_is_offered() {
    let engine = Engine::default();
    let component = Component::from_file(&engine, FILE).expect("wasmtime takes it");
    let linker: Linker<()> = Linker::new(&engine);
    linker.instantiate(&mut Store::new(&engine, ()), &component).expect("an empty linker is enough");
}

#[test]
fn it_exports_the_contract_and_no_more() {
    let engine = Engine::default();
    let component = Component::from_file(&engine, FILE).expect("wasmtime takes it");
    let ty = component.component_type();
    let mut exports: Vec<_> = ty.exports(&engine).map(|(name, _)| name.to_owned()).collect();
    exports.sort();
    let expected = ["acquire", "cascade", "preview", "settle", "types", "window", "wire"];
    assert_eq!(exports, expected.map(|name| format!("onewindow:quota/{name}@{VERSION}")));
}

/// The contract as WIT text, by interface, without `@since`, which a component does not contain.
fn contract(resolve: &Resolve) -> BTreeMap<&str, String> {
    let of_ours = |(_, package): &(_, &Package)| package.name.namespace == "onewindow";
    let (_, package) = resolve.packages.iter().find(of_ours).expect("the package of the contract");
    assert_eq!(package.name.version.as_ref().map(ToString::to_string).as_deref(), Some(VERSION));
    let spell = |id| {
        let mut printer = WitPrinter::default();
        printer.emit_docs(false).print_interface(resolve, id).expect("it can be spelled");
        let lines = printer.output.to_string();
        lines.lines().filter(|line| !line.trim_start().starts_with("@since")).collect::<Vec<_>>().join("\n")
    };
    package.interfaces.iter().map(|(name, id)| (name.as_str(), spell(*id))).collect()
}

#[test]
fn its_contract_can_be_read_out_of_it() {
    let bytes = fs::read(FILE).expect("the build makes it");
    let component = wit_component::decode(&bytes).expect("a component");
    let mut folder = Resolve::default();
    folder.push_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/wit")).expect("the contract");
    let folder = contract(&folder);
    assert!(folder.values().all(|interface| interface.lines().count() > 1), "{folder:?}");
    assert_eq!(contract(component.resolve()), folder);
}

#[test]
fn it_is_no_larger_than_it_was() {
    // What it is today, to the next KiB: it may only shrink.
    const MOST_BYTES: u64 = 194 * 1024;
    let bytes = fs::metadata(FILE).expect("the build makes it").len();
    assert!(bytes <= MOST_BYTES, "{bytes} bytes, {MOST_BYTES} at most");
}
