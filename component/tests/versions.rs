//! The version is written in the `Cargo.toml` at the root. What cannot take it from there carries a copy,
//! and each copy is held to it.

use std::{collections::BTreeSet, fs, path::Path};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Files, and what stands before every copy in them. Lock files follow their tools, so they are last.
const COPIES: [(&str, &str); 21] = [
    ("Cargo.toml", "onewindow = { path = \"component\", version = \""),
    ("Cargo.toml", "onewindow-host = { path = \"host-test/host\", version = \""),
    ("Cargo.toml", "onewindow-surface = { path = \"host-test/surface\", version = \""),
    ("wit/enforce.wit", "package onewindow:quota@"),
    ("wit/rules.wit", "package onewindow:quota@"),
    ("wit/types.wit", "package onewindow:quota@"),
    ("wit/worlds.wit", "package onewindow:quota@"),
    ("wit/enforce.wit", "@since(version = "),
    ("wit/rules.wit", "@since(version = "),
    ("wit/types.wit", "@since(version = "),
    ("wit/worlds.wit", "@since(version = "),
    ("component/src/guest/inspect.rs", "onewindow:quota/types@"),
    ("component/src/guest/quota.rs", "onewindow:quota/types@"),
    ("component/src/guest/quota.rs", "onewindow:quota/enforce@"),
    ("edge-examples/wasi-http/src/core.rs", "onewindow:quota/enforce@"),
    ("host-test/javascript/package.json", "\n  \"version\": \""),
    ("host-test/javascript/package-lock.json", "\"name\": \"onewindow\",\n      \"version\": \""),
    ("edge-examples/package-lock.json", "\"name\": \"onewindow\",\n      \"version\": \""),
    ("component/fuzz/Cargo.lock", "name = \"onewindow\"\nversion = \""),
    ("edge-examples/fastly/Cargo.lock", "name = \"onewindow\"\nversion = \""),
    ("edge-examples/wasi-http/Cargo.lock", "name = \"onewindow\"\nversion = \""),
];

#[test]
fn every_copy_is_the_version_of_the_workspace() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut wrong = BTreeSet::new();
    for (file, before) in COPIES {
        let text = fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        let copies: Vec<_> = text.split(before).skip(1).collect();
        assert!(!copies.is_empty(), "{file}: no version to be found; expected one after {before:?}");
        for rest in copies {
            let of_a_version = |char: char| char.is_ascii_alphanumeric() || ".-+".contains(char);
            let read: String = rest.chars().take_while(|char| of_a_version(*char)).collect();
            if read != VERSION {
                wrong.insert(format!("{file}: {before}{read}, expected {VERSION}"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.into_iter().collect::<Vec<_>>().join("\n"));
}

#[test]
fn the_changelog_begins_with_the_version() {
    let changelog = include_str!("../../CHANGELOG.md");
    let heading = changelog.lines().find_map(|line| line.strip_prefix("## ")).expect("a heading");
    let read = heading.split(' ').next();
    assert_eq!(read, Some(VERSION), "CHANGELOG.md, its first heading: read, expected");
}
