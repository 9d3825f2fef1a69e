//! What can be cited: headings and rows of the pages, and the table of homes at the top of the core.

use std::collections::{BTreeMap, BTreeSet};

use crate::matcher::{is_numbered, of_text, section};

/// Rules and sections are headings; invariants and field cases are rows of a table.
pub(crate) fn anchors(protocol: &str, field_cases: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for heading in protocol.lines().filter_map(|line| line.strip_prefix('#')) {
        let title = heading.trim_start_matches('#').trim_start();
        let first = title.split([' ', '.']).next().unwrap_or_default();
        found.extend(Some(first.to_owned()).filter(|first| first.starts_with('R') && is_numbered(first)));
        found.extend(section(title).map(|(number, _)| number));
    }
    for row in [protocol, field_cases].into_iter().flat_map(rows) {
        found.extend(
            row.into_iter().next().filter(|cell| cell.starts_with(['I', 'K', 'F']) && is_numbered(cell)),
        );
    }
    found
}

/// The rows of every table, their cells trimmed.
pub(crate) fn rows(page: &str) -> Vec<Vec<String>> {
    let row = |line: &str| {
        let inner = line.strip_prefix('|')?.trim_end().strip_suffix('|')?.replace("\\|", "/");
        Some(inner.split('|').map(|cell| cell.trim().to_owned()).collect())
    };
    page.lines().filter_map(row).collect()
}

/// The table at the top of the core: each rule, and the modules that hold it.
pub(crate) fn homes(lib: &str) -> BTreeMap<String, Vec<String>> {
    let table: Vec<&str> = lib.lines().filter_map(|line| line.strip_prefix("//! ")).collect();
    let mut homes = BTreeMap::new();
    for row in rows(&table.join("\n")) {
        let [rules, modules] = row.as_slice() else { continue };
        let paths = modules.split('`').skip(1).step_by(2);
        let names: Vec<String> =
            paths.filter_map(|path| Some(path.rsplit("::").next()?.to_owned())).collect();
        for rule in of_text(rules) {
            assert_eq!(homes.insert(rule.clone(), names.clone()), None, "{rule} has two homes");
        }
    }
    homes
}

/// Whether a file is that module of the core, or lies in its folder.
pub(crate) fn is_of(file: &str, module: &str) -> bool {
    let path = file.strip_prefix("component/src/").and_then(|path| path.strip_suffix(".rs"));
    path.is_some_and(|path| path.split('/').any(|part| part == module))
}

#[test]
fn anchors_are_headings_and_rows() {
    let protocol = "## 6. Operations\n### R1. Open\n### 6.1 Fast\n#### 6.2a Short\n| I1 | one |\n| R3 | a row |\n| 6.3 | x |\nR2 is in no heading";
    let found = anchors(protocol, "| F1 | F2 |");
    let expected = ["6.1", "6.2a", "F1", "I1", "R1", "section 6"];
    assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}

#[test]
fn homes_are_read_off_the_table() {
    let lib = "//! | rule | module |\n//! | R1 open, R3 pending | [`window`] |\n//! | R8 | `rule::grant`, [`join`](x) |";
    let found = homes(lib);
    assert_eq!(found["R3"], ["window"]);
    assert_eq!(found["R8"], ["grant", "join"]);
    assert!(is_of("component/src/rule/grant.rs", "grant"));
    assert!(is_of("component/src/machine/acquire/short.rs", "acquire"));
    assert!(!is_of("component/tests/rules/window.rs", "window"));
}
