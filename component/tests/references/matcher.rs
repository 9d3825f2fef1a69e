//! What a line cites. Strict: a number that merely looks like a citation is none.

use std::ops::Range;

/// The letters of the lists: rules, calendar rules, invariants, field cases, invariants of a cascade.
const LETTERS: [char; 5] = ['R', 'C', 'I', 'F', 'K'];

/// What a line of text cites: `R8`, `I5`, `F22`, `section 7`, `6.8`.
pub(crate) fn of_text(line: &str) -> Vec<String> {
    let traces = traces(line);
    let mut found: Vec<String> = Vec::new();
    for (at, first) in line.char_indices() {
        let (before, rest) = line.split_at(at);
        let is_inside = before.ends_with(|char: char| char.is_alphanumeric() || "_.#$\\{&-".contains(char));
        if first == '§' || (!is_inside && matches!(first, 's' | 'S')) {
            let named = ["sections ", "section ", "Sections ", "Section ", "§"];
            found.extend(named.iter().find_map(|name| Some(section(rest.strip_prefix(name)?)?.0)));
        } else if !is_inside && LETTERS.contains(&first) {
            let end = rest.find(|char: char| !char.is_alphanumeric() && char != '_').unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            let is_fraction = after.strip_prefix('.').is_some_and(starts_with_digit);
            if is_numbered(word) && !is_fraction && !traces.iter().any(|trace| trace.contains(&at)) {
                found.push(word.to_owned());
            }
        } else if !is_inside && first == '6' {
            found.extend(bare_section(before, rest, found.last()));
        }
    }
    found
}

/// A number of section 6 without the word: in brackets, in quotes, or at the head of a comment.
fn bare_section(before: &str, rest: &str, last: Option<&String>) -> Option<String> {
    let (number, after) = section(rest)?;
    let opens = ["(", "[", "\"", "---- ", "//! ", "/// "].iter().any(|open| before.ends_with(open));
    let continues = before.ends_with(", ") && last.is_some_and(|last| last.starts_with("6."));
    let closes = after.starts_with([')', ']', '"', ':', ',']) || after.starts_with(" ----");
    (number.starts_with("6.") && (opens || continues) && closes).then_some(number)
}

/// What a function is named after: `r7_f24_…`, `section_6_8_…`.
pub(crate) fn of_name(line: &str) -> Vec<String> {
    let Some((before, name)) = line.split_once("fn ") else { return Vec::new() };
    if !before.is_empty() && !before.ends_with([' ', '(']) {
        return Vec::new();
    }
    let parts: Vec<&str> = name.split(|char: char| !char.is_alphanumeric()).collect();
    if let ["section", chapter, part, ..] = parts.as_slice() {
        let number = if starts_with_digit(part) { [*chapter, part].join(".") } else { (*chapter).to_owned() };
        return section(&number).into_iter().map(|(number, _)| number).collect();
    }
    let upper = parts.iter().map(|part| part.to_uppercase());
    upper.take_while(|part| part.starts_with(['R', 'F']) && is_numbered(part)).collect()
}

/// A letter of one of the lists, and a number without a leading zero.
pub(crate) fn is_numbered(word: &str) -> bool {
    let Some(digits) = word.strip_prefix(LETTERS) else { return false };
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
    is_number && (1..=3).contains(&digits.len())
}

/// The section that a text begins with (`section 7`, `6.8`, `6.2a`), and what follows.
pub(crate) fn section(text: &str) -> Option<(String, &str)> {
    let number = |text: &str| text.find(|char: char| !char.is_ascii_digit()).unwrap_or(text.len());
    let (chapter, rest) = text.split_at(number(text));
    if !(1..=2).contains(&chapter.len()) {
        return None;
    }
    let Some(after) = rest.strip_prefix('.').filter(|after| starts_with_digit(after)) else {
        return Some((format!("section {chapter}"), rest));
    };
    let (part, rest) = after.split_at(number(after));
    let end = usize::from(rest.starts_with(['a', 'b']));
    let (letter, rest) = rest.split_at(end);
    Some((format!("{chapter}.{part}{letter}"), rest))
}

fn starts_with_digit(text: &str) -> bool {
    text.starts_with(|char: char| char.is_ascii_digit())
}

/// Where events of the model stand (`S0.0 L0 F0 R1`): some are spelled as a rule is.
fn traces(line: &str) -> Vec<Range<usize>> {
    let is_event = |word: &str| {
        let mut rest = word.chars();
        let begins = rest.next().is_some_and(|char| char.is_ascii_alphabetic());
        let ends = word.len() > 1 && rest.all(|char| char.is_ascii_digit() || char == '.');
        begins && (word == "T" || ends)
    };
    let mut traces = Vec::new();
    // Where the run began, where it ends so far, and whether any of it can only be an event.
    let mut run: Option<(usize, usize, bool)> = None;
    let mut at = 0;
    for word in line.split(' ').chain([""]) {
        let bare = word.trim_matches(|char: char| !char.is_alphanumeric());
        let end = at + word.len();
        if is_event(bare) {
            let (start, _, certain) = run.unwrap_or((at, end, false));
            run = Some((start, end, certain || !is_numbered(bare)));
        } else if let Some((start, end, true)) = run.take() {
            traces.push(start..end);
        }
        at = end + 1;
    }
    traces
}

#[test]
fn citations_are_found() {
    for (line, cited) in [
        ("/// The gates (R99), I77 and F123; C5", "R99 I77 F123 C5"),
        ("//! Settle (section 6.99), §12 and Sections 3.", "6.99 section 12 section 3"),
        ("R1 to R15, a rule's `R4`: R7/R8.", "R1 R15 R4 R7 R8"),
        ("| K2 or neither | `S0.0 L0 F0` | R9 |", "K2 R9"),
        ("// ---- 6.77: rounds ----", "6.77"),
        ("// ---- 6.10 ----", "6.10"),
        ("//! 6.7: reading without writing", "6.7"),
        ("joining (6.5, 6.6), [6.9], \"6.8\" and \"6.2a: short\"", "6.5 6.6 6.9 6.8 6.2a"),
    ] {
        assert_eq!(of_text(line).join(" "), cited, "{line}");
    }
    for (line, cited) in [
        ("async fn r7_f24_a_shard_0() {", "R7 F24"),
        ("    pub(super) async fn f99_waits(world: World) {", "F99"),
        ("fn section_6_10_a_stream()", "6.10"),
        ("fn section_6_2a_a_short_shard()", "6.2a"),
        ("fn section_7_a_chain()", "section 7"),
    ] {
        assert_eq!(of_name(line).join(" "), cited, "{line}");
    }
}

#[test]
fn what_looks_like_a_citation_is_none() {
    for line in [
        "0xF1, #F1F1F1, IR1, R1a, R_1, R1_A, x.F2, F2.5, F0, \\u{F1}, utF8, -F1, I1000",
        "(\"lock\", \"storm-old\", \"O1 P0.250 S1.0 T R1 P0.250 P1.250 L1 F0 L1 F1 F2 L0\")",
        "width * 6.6 + 14; 6.10 ms, v6.1, RFC 9110, 7.6.1, | 6.5 µs |, 16.2, section seven",
    ] {
        assert_eq!(of_text(line), [""; 0], "{line}");
    }
    for line in ["let r1_x = f1_x;", "fn from_r1_x()", "fn i128_of()", "fn r1000_x()", "defn r1_x"] {
        assert_eq!(of_name(line), [""; 0], "{line}");
    }
}
