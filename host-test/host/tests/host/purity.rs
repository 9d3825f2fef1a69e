//! The components import nothing: no clock, no network, no randomness. It is a property of the files, and
//! this is where they are held to it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use onewindow::contract::VERSION;
use wasmparser::{Parser, Payload};
use wasmtime::{
    Engine, Store,
    component::{Component, Linker},
};
use wit_component::WitPrinter;
use wit_parser::{Package, Resolve};

/// A world's component, and its interfaces.
struct World {
    file: &'static str,
    interfaces: [&'static str; 2],
    /// What the file is today, to the next KiB: it may only shrink.
    most_bytes: u64,
}

const WORLDS: [World; 2] = [
    World { file: env!("ONEWINDOW_QUOTA"), interfaces: ["enforce", "types"], most_bytes: 160 * 1024 },
    World { file: env!("ONEWINDOW_INSPECT"), interfaces: ["rules", "types"], most_bytes: 87 * 1024 },
];

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
fn the_built_components_import_nothing() {
    for World { file, .. } in WORLDS {
        let bytes = fs::read(file).expect("the build makes it");
        assert_eq!(imports(&bytes), Vec::<String>::new(), "{file}");
    }
}

#[test]
fn the_check_sees_an_import_where_there_is_one() {
    let wat = r#"(component (import "wasi:clocks/wall-clock@0.2.0" (func)))"#;
    let bytes = wat::parse_str(wat).expect("a component with an import");
    assert_eq!(imports(&bytes), ["wasi:clocks/wall-clock@0.2.0"]);
}

#[test]
fn they_run_where_nothing_is_offered() {
    let engine = Engine::default();
    for World { file, .. } in WORLDS {
        let component = Component::from_file(&engine, file).expect("wasmtime takes it");
        let linker: Linker<()> = Linker::new(&engine);
        linker.instantiate(&mut Store::new(&engine, ()), &component).expect("an empty linker is enough");
    }
}

#[test]
fn they_export_their_world_and_no_more() {
    let engine = Engine::default();
    for World { file, interfaces, .. } in WORLDS {
        let component = Component::from_file(&engine, file).expect("wasmtime takes it");
        let ty = component.component_type();
        let mut exports: Vec<_> = ty.exports(&engine).map(|(name, _)| name.to_owned()).collect();
        exports.sort();
        assert_eq!(exports, interfaces.map(|name| format!("onewindow:quota/{name}@{VERSION}")));
    }
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
fn their_contract_can_be_read_out_of_them() {
    let mut folder = Resolve::default();
    folder.push_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/wit")).expect("the contract");
    let folder = contract(&folder);
    let mut found = BTreeSet::new();
    for World { file, interfaces, .. } in WORLDS {
        let bytes = fs::read(file).expect("the build makes it");
        let component = wit_component::decode(&bytes).expect("a component");
        let exported = contract(component.resolve());
        assert_eq!(exported.keys().copied().collect::<Vec<_>>(), interfaces);
        for (name, interface) in exported {
            assert!(interface.lines().count() > 1, "{interface}");
            assert_eq!(interface, folder[name], "{name} in {file}");
            found.extend(interfaces);
        }
    }
    assert_eq!(found, folder.keys().copied().collect());
}

#[test]
fn they_are_no_larger_than_they_were() {
    for World { file, most_bytes, .. } in WORLDS {
        let bytes = fs::metadata(file).expect("the build makes it").len();
        assert!(bytes <= most_bytes, "{file}: {bytes} bytes, {most_bytes} at most");
    }
}
