//! Prints the demo: for a person at a terminal with pauses, for a pipe at once, or as JSON.

use std::{
    io::{IsTerminal, stderr, stdout},
    time::Duration,
};

use anstream::{eprint, println};
use anstyle::{AnsiColor, Style};
use serde_json::{Map, Value, json};

const TITLE: Style = AnsiColor::Cyan.on_default().bold();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const FAINT: Style = Style::new().dimmed();
const STRONG: Style = Style::new().bold();

/// The narrowest and the widest output, in columns.
const NARROWEST: usize = 40;
const WIDEST: usize = 80;

/// What a fact reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Admitted,
    Rejected,
    Seen,
}

/// Where the demo is printed.
pub(super) struct Output {
    json: bool,
    paced: bool,
    width: usize,
    /// The title of the current scene.
    scene: String,
}

impl Output {
    pub(super) fn new(json: bool, fast: bool) -> Self {
        let paced = !json && !fast && stdout().is_terminal();
        Self { json, paced, width: width(), scene: String::new() }
    }

    /// Columns for a drawing or a table, without its indentation.
    pub(super) fn columns(&self) -> usize {
        self.width - 2
    }

    pub(super) async fn scene(&mut self, title: &str, text: &str) {
        self.scene = title.to_owned();
        if self.json {
            return self.event("scene", json!({}));
        }
        println!("\n{TITLE}{title}{TITLE:#}");
        self.text(text);
        println!();
        self.pause(1400).await;
    }

    /// What happened: when, what, and what it cost.
    pub(super) async fn fact(&self, mark: Mark, when: &str, text: &str, cost: &str, event: Value) {
        let (style, glyph, kind) = match mark {
            Mark::Admitted => (GOOD, '✔', "admitted"),
            Mark::Rejected => (BAD, '✘', "rejected"),
            Mark::Seen => (STRONG, '·', "seen"),
        };
        if self.json {
            return self.event(kind, event);
        }
        // In a narrow terminal the text continues below the time.
        let (when, indent) =
            if self.width < WIDEST { (when.to_owned(), 4) } else { (format!("{when:<12}"), 17) };
        let first = self.width - (when.chars().count() + 5);
        let mut lines = wrap(text, first, self.width - indent).into_iter();
        println!("  {FAINT}{when}{FAINT:#} {style}{glyph}{style:#} {}", lines.next().unwrap_or_default());
        for line in lines {
            println!("{:indent$}{line}", "");
        }
        for line in wrap(cost, self.width - indent, self.width - indent) {
            println!("{:indent$}{FAINT}{line}{FAINT:#}", "");
        }
        self.pause(700).await;
    }

    /// Lines of a drawing or a table. One that is too long continues on the next line.
    pub(super) async fn lines(&self, lines: &[String]) {
        if self.json {
            return;
        }
        for line in lines {
            if line.chars().count() <= self.columns() {
                println!("{}", format!("  {line}").trim_end());
                continue;
            }
            for (number, part) in wrap(line, self.columns(), self.columns() - 2).iter().enumerate() {
                println!("{:indent$}{part}", "", indent = if number == 0 { 2 } else { 4 });
            }
        }
        self.pause(1000).await;
    }

    pub(super) fn text(&self, text: &str) {
        if self.json {
            return;
        }
        for line in wrap(text, self.width, self.width) {
            println!("{line}");
        }
    }

    pub(super) fn event(&self, kind: &str, event: Value) {
        if !self.json {
            return;
        }
        let mut line =
            Map::from_iter([("event".to_owned(), json!(kind)), ("scene".to_owned(), json!(self.scene))]);
        if let Value::Object(fields) = event {
            line.extend(fields);
        }
        println!("{}", Value::Object(line));
    }

    /// Shows the progress of something long on a terminal, and erases it at the end.
    pub(super) fn progress(&self, done: u64) {
        if !self.json && stderr().is_terminal() && done.is_multiple_of(50) {
            eprint!("\r  {done} requests");
        }
    }

    pub(super) fn end_progress(&self) {
        if !self.json && stderr().is_terminal() {
            eprint!("\r{:20}\r", "");
        }
    }

    async fn pause(&self, ms: u64) {
        if self.paced {
            tokio::time::sleep(Duration::from_millis(ms)).await;
        }
    }
}

/// `COLUMNS`, else the terminal's, else the widest.
fn width() -> usize {
    let named = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    named.or_else(terminal).unwrap_or(WIDEST).clamp(NARROWEST, WIDEST)
}

/// The words in lines: the first of at most `first` columns, the others of at most `rest`.
fn wrap(text: &str, first: usize, rest: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let width = if lines.len() < 2 { first } else { rest };
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_whole_and_lines_short() {
        assert_eq!(wrap("one two  three\nfour", 9, 9), ["one two", "three", "four"]);
        assert_eq!(wrap("one two three four", 3, 9), ["one", "two three", "four"]);
        assert_eq!(wrap("one two three four", 9, 5), ["one two", "three", "four"]);
        assert!(wrap("", 9, 9).is_empty());
    }
}
