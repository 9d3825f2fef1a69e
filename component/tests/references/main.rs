//! Every rule, invariant, field case and section that the repository cites stands on its page, and each rule
//! is cited by its home and by a test.
//!
//! The pages are `component/PROTOCOL.md` (`R1`, `I1`, `K1`, `section 7`, `6.8`) and `FIELD-CASES.md` (`F1`).

mod matcher;
mod pages;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

const PROTOCOL: &str = "component/PROTOCOL.md";
const FIELD_CASES: &str = "component/tests/FIELD-CASES.md";

/// Rules that stand on the page and are not implemented: they have no home and no test.
const NOT_YET: [&str; 2] = ["R16", "R17"];

/// What is searched. Lock files, pictures and recorded vectors end otherwise.
const TEXTS: [&str; 9] = ["rs", "wit", "ts", "tsx", "mjs", "md", "py", "sh", "toml"];

/// Files that are not searched, and why.
const SKIPPED: [(&str, &str); 2] = [
    ("component/tests/references/matcher.rs", "its samples are wrong on purpose"),
    ("host-test/perf/README.md", "figures: 6.10 is a time there"),
];

/// How `FIELD-CASES.md` shortens paths.
const FOLDERS: [(&str, &str); 3] = [
    ("rules/", "component/tests/rules/"),
    ("e2e/", "host-test/host/tests/host/e2e/"),
    ("cases/", "host-test/verify/conformance/src/cases/"),
];

/// A number that a line cites: `R8`, `I5`, `F22`, `section 7`, `6.8`.
struct Citation {
    file: String,
    line: usize,
    number: String,
    /// Whether a function is named after it.
    is_name: bool,
}

static CITATIONS: LazyLock<Vec<Citation>> = LazyLock::new(|| {
    let mut found = Vec::new();
    for file in files() {
        // A file that was deleted may still be listed.
        let Ok(text) = fs::read_to_string(root().join(&file)) else { continue };
        for (line, content) in (1..).zip(text.lines()) {
            let names = matcher::of_name(content).into_iter().map(|number| (number, true));
            for (number, is_name) in
                matcher::of_text(content).into_iter().map(|number| (number, false)).chain(names)
            {
                found.push(Citation { file: file.clone(), line, number, is_name });
            }
        }
    }
    found
});

#[test]
fn every_citation_stands_on_its_page() {
    let anchors = pages::anchors(&read(PROTOCOL), &read(FIELD_CASES));
    // The page itself reserves the numbers of calendar rules, which it does not hold yet.
    let is_reserved = |cited: &Citation| cited.file == PROTOCOL && cited.number.starts_with('C');
    let lost = CITATIONS.iter().filter(|cited| !anchors.contains(&cited.number) && !is_reserved(cited));
    fail(
        lost.map(|Citation { file, line, number, .. }| format!("{file}:{line}: {number} stands on no page")),
    );
}

#[test]
fn every_rule_is_cited_by_its_home_and_by_a_test() {
    let homes = pages::homes(&read("component/src/lib.rs"));
    let anchors = pages::anchors(&read(PROTOCOL), "");
    let mut wrong = Vec::new();
    for rule in anchors.iter().filter(|anchor| anchor.starts_with('R') && !NOT_YET.contains(&anchor.as_str()))
    {
        let cited: Vec<_> = CITATIONS.iter().filter(|cited| cited.number == *rule).collect();
        match homes.get(rule) {
            None => wrong.push(format!("{rule} has no home in the table of component/src/lib.rs")),
            Some(modules) => {
                let is_home = |file: &str| modules.iter().any(|module| pages::is_of(file, module));
                if !cited.iter().any(|cited| is_home(&cited.file)) {
                    wrong.push(format!("{rule} is not cited by its home, {}", modules.join(", ")));
                }
            }
        }
        if !cited.iter().any(|cited| cited.is_name && cited.file.starts_with("component/tests/")) {
            wrong.push(format!("no test of component/tests is named after {rule}"));
        }
    }
    fail(wrong);
}

#[test]
fn every_field_case_says_where_it_is_tested() {
    let mut wrong = Vec::new();
    for row in pages::rows(&read(FIELD_CASES)) {
        let [case, .., tested] = row.as_slice() else { continue };
        if !matcher::is_numbered(case) {
            continue;
        }
        let citing = CITATIONS.iter().filter(|cited| cited.number == *case && !cited.file.ends_with(".md"));
        let citing: BTreeSet<&str> = citing.map(|cited| cited.file.as_str()).collect();
        if tested == "not yet" {
            wrong.extend(citing.iter().map(|file| format!("{case} is marked not yet, and {file} cites it")));
            continue;
        }
        for short in tested.split_whitespace().map(|file| file.trim_matches('`')) {
            let whole = FOLDERS.iter().find_map(|(from, to)| Some([to, short.strip_prefix(from)?].concat()));
            let file = whole.unwrap_or_else(|| short.to_owned());
            if !citing.contains(file.as_str()) {
                wrong.push(format!("{case}: {file} does not cite it"));
            }
        }
    }
    fail(wrong);
}

#[test]
fn what_is_not_searched_is_there() {
    for (file, why) in SKIPPED {
        assert!(root().join(file).is_file(), "{file} is gone, so that nothing needs to skip it ({why})");
    }
}

fn fail(wrong: impl IntoIterator<Item = String>) {
    let wrong: Vec<_> = wrong.into_iter().collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Every text of the checkout: what git tracks, and what is new and not ignored.
fn files() -> Vec<String> {
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let listed =
        Command::new("git").current_dir(root()).args(arguments).output().expect("git lists the files");
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let names = String::from_utf8(listed.stdout).expect("names in UTF-8");
    let is_text =
        |name: &&str| Path::new(name).extension().is_some_and(|end| TEXTS.iter().any(|text| end == *text));
    let is_skipped = |name: &str| SKIPPED.iter().any(|(file, _)| *file == name);
    names.split('\0').filter(is_text).filter(|name| !is_skipped(name)).map(ToOwned::to_owned).collect()
}
