//! Decisions of the Python library that shares the table, on stored items: 150 of each kind. Ours are
//! equal, or the difference is named here with the stricter rule, and counted. A new difference fails.

mod acquiring;
mod items;
mod materialisations;
mod scenarios;
mod siblings;
mod writes;

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::Value as Json;

/// One case of a file.
pub(crate) struct Case {
    pub(crate) number: u64,
    pub(crate) input: Json,
    pub(crate) output: Json,
}

pub(crate) fn cases(function: &str) -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../component/tests/vectors/peer");
    let path = folder.join(format!("{function}.jsonl"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let case = |line: &str| {
        let mut case: Json = serde_json::from_str(line).expect("a case");
        Case {
            number: case["case"].as_u64().expect("a number"),
            input: case["input"].take(),
            output: case["output"].take(),
        }
    };
    let cases: Vec<Case> = text.lines().map(case).collect();
    assert_eq!(cases.len(), 150);
    cases
}

/// The differences found in the cases of a file.
#[derive(Default)]
pub(crate) struct Tally {
    differences: BTreeMap<&'static str, usize>,
    unexplained: Vec<String>,
}

impl Tally {
    /// Compares ours with the peer's. `reason` explains a difference, from the input.
    pub(crate) fn compare<T: PartialEq + std::fmt::Debug>(
        &mut self,
        case: &Case,
        ours: &T,
        theirs: &T,
        reason: Option<&'static str>,
    ) {
        match reason {
            _ if ours == theirs => {}
            Some(reason) => *self.differences.entry(reason).or_default() += 1,
            None => self.unexplained.push(format!(
                "case {}\n  ours   {ours:?}\n  theirs {theirs:?}\n  input  {}",
                case.number, case.input
            )),
        }
    }

    /// Asserts that the differences are these, each as often as this.
    #[track_caller]
    pub(crate) fn expect(self, differences: &[(&'static str, usize)]) {
        let shown: Vec<&str> = self.unexplained.iter().take(4).map(String::as_str).collect();
        assert!(shown.is_empty(), "{} unexplained:\n{}", self.unexplained.len(), shown.join("\n"));
        assert_eq!(self.differences, differences.iter().copied().collect());
    }
}
