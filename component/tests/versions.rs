//! The version of the crates is written in the `Cargo.toml` at the root, that of the contract in
//! `contract::VERSION`. What cannot take them from there carries a copy, and each copy is held to it.

use std::{collections::BTreeSet, fs, path::Path};

use onewindow::contract;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A file, and what stands before every copy in it.
type Copies = (&'static str, &'static str);

/// Copies of the crates' version. Lock files follow their tools, so they are last.
const OF_THE_CRATES: [Copies; 9] = [
    ("Cargo.toml", "onewindow = { path = \"component\", version = \""),
    ("Cargo.toml", "onewindow-host = { path = \"host-test/host\", version = \""),
    ("Cargo.toml", "onewindow-surface = { path = \"host-test/surface\", version = \""),
    ("host-test/javascript/package.json", "\n  \"version\": \""),
    ("host-test/javascript/package-lock.json", "\"name\": \"onewindow\",\n      \"version\": \""),
    ("edge-examples/package-lock.json", "\"name\": \"onewindow\",\n      \"version\": \""),
    ("component/fuzz/Cargo.lock", "name = \"onewindow\"\nversion = \""),
    ("edge-examples/fastly/Cargo.lock", "name = \"onewindow\"\nversion = \""),
    ("edge-examples/wasi-http/Cargo.lock", "name = \"onewindow\"\nversion = \""),
];

/// Copies of the contract's version.
const OF_THE_CONTRACT: [Copies; 9] = [
    ("wit/enforce.wit", "package onewindow:quota@"),
    ("wit/rules.wit", "package onewindow:quota@"),
    ("wit/types.wit", "package onewindow:quota@"),
    ("wit/worlds.wit", "package onewindow:quota@"),
    ("component/src/guest/inspect.rs", "onewindow:quota/types@"),
    ("component/src/guest/quota.rs", "onewindow:quota/types@"),
    ("component/src/guest/quota.rs", "onewindow:quota/enforce@"),
    ("edge-examples/wasi-http/src/core.rs", "onewindow:quota/types@"),
    ("edge-examples/wasi-http/src/core.rs", "onewindow:quota/enforce@"),
];

/// The versions in which parts of the contract appeared.
const SINCE: [Copies; 4] = [
    ("wit/enforce.wit", "@since(version = "),
    ("wit/rules.wit", "@since(version = "),
    ("wit/types.wit", "@since(version = "),
    ("wit/worlds.wit", "@since(version = "),
];

/// Every copy, with the place where it was read.
fn copies(of: &[Copies]) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    for (file, before) in of {
        let text = fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        let copies: Vec<_> = text.split(before).skip(1).collect();
        assert!(!copies.is_empty(), "{file}: no version to be found; expected one after {before:?}");
        for (nth, rest) in copies.into_iter().enumerate() {
            let of_a_version = |char: &char| char.is_ascii_alphanumeric() || ".-+".contains(*char);
            let read = rest.chars().take_while(of_a_version).collect();
            found.push((format!("{file}, number {nth} after {before:?}"), read));
        }
    }
    found
}

fn assert_each(of: &[Copies], expected: &str, is_fine: impl Fn(&str) -> bool) {
    let wrong = copies(of).into_iter().filter(|(_, read)| !is_fine(read));
    let wrong: BTreeSet<_> = wrong.map(|(at, read)| format!("{at}: {read}, expected {expected}")).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.into_iter().collect::<Vec<_>>().join("\n"));
}

#[test]
fn every_copy_is_the_version_of_the_workspace() {
    assert_each(&OF_THE_CRATES, VERSION, |read| read == VERSION);
}

#[test]
fn every_copy_is_the_version_of_the_contract() {
    assert_each(&OF_THE_CONTRACT, contract::VERSION, |read| read == contract::VERSION);
}

#[test]
fn no_part_of_the_contract_is_newer_than_the_contract() {
    let numbers = |version: &str| -> Option<Vec<u64>> {
        let numbers: Option<Vec<_>> = version.split('.').map(|part| part.parse().ok()).collect();
        numbers.filter(|numbers| numbers.len() == 3)
    };
    let most = numbers(contract::VERSION).expect("three numbers");
    let expected = format!("at most {}", contract::VERSION);
    assert_each(&SINCE, &expected, |read| numbers(read).is_some_and(|read| read <= most));
}

#[test]
fn the_changelog_begins_with_the_version() {
    let changelog = include_str!("../../CHANGELOG.md");
    let heading = changelog.lines().find_map(|line| line.strip_prefix("## ")).expect("a heading");
    let read = heading.split(' ').next();
    assert_eq!(read, Some(VERSION), "CHANGELOG.md, its first heading: read, expected");
}
