//! `onewindow demo`, as a person and as a program would run it.

use std::{collections::BTreeSet, process::Command};

use serde_json::Value;

/// What it prints on 80 columns. After a change that is meant: `UPDATE=1 cargo test -p onewindow-cli --test demo`.
const EXPECTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/demo.txt");

fn demo(columns: usize, args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_onewindow"));
    let output =
        command.arg("demo").args(args).env("COLUMNS", columns.to_string()).output().expect("it runs");
    let (printed, errors) = (String::from_utf8(output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{errors}");
    printed.expect("text")
}

fn widest(printed: &str) -> usize {
    printed.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

#[test]
fn it_prints_the_same_as_ever_to_a_pipe() {
    let printed = demo(80, &[]);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(EXPECTED, &printed).expect("the file is writable");
    }
    let expected = std::fs::read_to_string(EXPECTED).expect("the file is there");
    assert_eq!(printed, expected);
    assert!(printed.contains("a WebAssembly component"), "{printed}");
    assert!(!printed.contains('\u{1b}'), "a pipe has no colours:\n{printed}");
    assert!(widest(&printed) <= 80, "{} columns", widest(&printed));
}

#[test]
fn it_folds_at_40_columns_and_loses_no_word() {
    let wide = std::fs::read_to_string(EXPECTED).expect("the file is there");
    let narrow = demo(40, &["--native"]);
    assert!(widest(&narrow) <= 40, "{} columns:\n{narrow}", widest(&narrow));
    assert_eq!(narrow, demo(20, &["--native"]), "40 columns are the least");
    // Of what is no table and no drawing, every word is there, in the same order.
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let mut narrow = words(&narrow).into_iter();
    let sentences = wide.lines().filter(|line| !line.is_empty() && !line.starts_with("  "));
    for word in
        sentences.flat_map(words).filter(|word| !["a", "WebAssembly", "component;"].contains(&&**word))
    {
        assert!(narrow.any(|there| there == word), "{word:?} is missing");
    }
}

#[test]
fn its_events_keep_the_promises() {
    let printed = demo(80, &["--json", "--native"]);
    let events: Vec<Value> =
        printed.lines().map(|line| serde_json::from_str(line).expect("an event")).collect();
    let of = |kind: &'static str| events.iter().filter(move |event| event["event"] == kind);

    let windows: Vec<&Value> = of("window").collect();
    assert_eq!(windows.len(), 3);
    for window in &windows {
        assert!(window["admitted"].as_u64() <= window["capacity"].as_u64(), "{window}");
    }
    // The first window was used up to its last token, sharded and all.
    assert_eq!(windows[0]["admitted"], windows[0]["capacity"]);

    // Each window has one reported instant, but openers may be milliseconds apart.
    let reported_reset_ms = events.iter().filter_map(|event| event["resets_at_ms"].as_u64());
    let instants: BTreeSet<u64> = reported_reset_ms.map(|ms| ms / 1000).collect();
    assert_eq!(instants.len(), 3, "{instants:?}");

    // A join moves tokens and creates none in the middle of a window.
    let load = of("seen").find(|event| event["scene"] == "3  Load").expect("the load");
    let number = |name: &str| load[name].as_u64().expect("a number");
    assert_eq!(number("left"), number("left_before") - number("admitted"), "{load}");
    assert!(number("shards") >= 4, "{load}");

    let cost = |kind: &str| {
        let row =
            of("cost").find(|event| event["kind"] == kind).unwrap_or_else(|| panic!("no {kind}:\n{printed}"));
        ["requests", "round_trips"].map(|name| row[name].as_u64().expect("a number"))
    };
    assert_eq!(cost("first use"), [2, 2]);
    assert_eq!(cost("steady state, each"), [1, 1]);
    assert_eq!(cost("the count doubles, a shard joins"), [5, 5]);
    assert_eq!(cost("rejected by a survey of all shards"), [2, 2]);
    assert_eq!(cost("gathered from several shards"), [3, 3]);
    assert_eq!(cost("rejected from memory"), [0, 0]);
    assert_eq!(cost("opening a window"), [2, 2]);
    assert_eq!(cost("a pending reset"), [2, 2]);
}
