//! `onewindow demo`, as a person and as a program would run it.

use std::{collections::BTreeSet, process::Command};

use serde_json::Value;

fn demo(args: &[&str]) -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_onewindow")).arg("demo").args(args).output().expect("it runs");
    let (told, complained) = (String::from_utf8(output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{complained}");
    told.expect("text")
}

#[test]
fn it_tells_the_whole_story_to_a_pipe() {
    let told = demo(&["--fast"]);
    for chapter in [
        "1  First use",
        "2  The steady state",
        "3  Load",
        "4  The end of the quota",
        "5  The moment of reset",
        "6  Two clients at the boundary",
        "What happened",
    ] {
        assert!(told.contains(chapter), "{chapter} is missing:\n{told}");
    }
    assert!(told.contains("a WebAssembly component"), "{told}");
    assert!(!told.contains('\u{1b}'), "a pipe has no colours:\n{told}");
    let widest = told.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{widest:?} columns");
}

#[test]
fn its_events_keep_the_promises() {
    let told = demo(&["--json", "--native"]);
    let events: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).expect("an event")).collect();
    let of = |kind: &'static str| events.iter().filter(move |event| event["event"] == kind);

    let windows: Vec<&Value> = of("window").collect();
    assert_eq!(windows.len(), 3);
    for window in &windows {
        assert!(window["admitted"].as_u64() <= window["capacity"].as_u64(), "{window}");
    }
    // The first window was used up to its last token, sharded and all.
    assert_eq!(windows[0]["admitted"], windows[0]["capacity"]);

    // One instant a window, whoever says it: openers may be milliseconds apart.
    let reported_reset_ms = events.iter().filter_map(|event| event["resets_at_ms"].as_u64());
    let instants: BTreeSet<u64> = reported_reset_ms.map(|ms| ms / 1000).collect();
    assert_eq!(instants.len(), 3, "{instants:?}");

    // What a join moves, it moves: nothing is made in the middle of a window.
    let load = of("seen").find(|event| event["chapter"] == "3  Load").expect("the load");
    let number = |name: &str| load[name].as_u64().expect("a number");
    assert_eq!(number("left"), number("left_before") - number("admitted"), "{load}");
    assert!(number("shards") >= 4, "{load}");

    let cost = |what: &str| {
        let line =
            of("cost").find(|event| event["what"] == what).unwrap_or_else(|| panic!("no {what}:\n{told}"));
        ["requests", "round_trips"].map(|name| line[name].as_u64().expect("a number"))
    };
    assert_eq!(cost("first use"), [2, 2]);
    assert_eq!(cost("steady state, each"), [1, 1]);
    assert_eq!(cost("rejected by a look at all shards"), [2, 2]);
    assert_eq!(cost("gathered from several shards"), [3, 3]);
    assert_eq!(cost("rejected from memory"), [0, 0]);
    assert_eq!(cost("opening a window"), [2, 2]);
    assert_eq!(cost("a pending reset"), [2, 2]);
}
