//! What each feature compiles, as the README's table says.

use std::{collections::BTreeSet, process::Command};

const README: &str = include_str!("../README.md");

/// The names and versions of what is compiled with these features, on Linux.
fn crates(features: &str) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "--package", "onewindow-host", "--edges", "normal"])
        .args(["--no-dedupe", "--prefix", "none", "--target", "x86_64-unknown-linux-gnu"])
        .args(["--no-default-features", "--features", features])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).expect("names are text");
    tree.lines().filter(|line| !line.is_empty()).map(ToOwned::to_owned).collect()
}

/// The cells of a feature's row: its crates, and how many it adds to what.
fn row(feature: &str) -> [&'static str; 2] {
    let row = README.lines().find(|line| line.starts_with(&format!("| {feature} ")));
    let cells: Vec<_> = row.expect("the feature has a row").split('|').map(str::trim).collect();
    [cells[3], cells[4]]
}

#[test]
fn the_readme_counts_the_crates_of_each_feature() {
    let none = crates("").len();
    assert_eq!(row("none"), [none.to_string(), String::new()]);
    let native = crates("native").len();
    assert_eq!(row("`native`"), [native.to_string(), format!("{} to none", native - none)]);
    for feature in ["component", "embedded", "refill"] {
        let count = crates(feature).len();
        let expected = [count.to_string(), format!("{} to `native`", count - native)];
        assert_eq!(row(&format!("`{feature}`")), expected, "{feature}");
    }
}

#[test]
fn a_user_of_the_library_compiles_no_more_than_is_used() {
    let servers = ["axum", "clap", "indicatif", "libsqlite3-sys", "rusqlite", "wasmtime"];
    for (features, more) in [("native", &[][..]), ("", &["reqwest"])] {
        let names: BTreeSet<_> =
            crates(features).iter().filter_map(|line| Some(line.split(' ').next()?.to_owned())).collect();
        assert!(names.contains("onewindow"), "{names:?}");
        for name in servers.iter().chain(more) {
            assert!(!names.contains(*name), "{features:?} compiles {name}");
        }
    }
}
