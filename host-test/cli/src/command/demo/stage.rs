//! How the story is told: to a person at a terminal at a person's pace, to a pipe at once, or as
//! JSON.

use std::{
    io::{IsTerminal, stdout},
    time::Duration,
};

use anstream::println;
use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Map, Value, json};

const TITLE: Style = AnsiColor::Cyan.on_default().bold();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const FAINT: Style = Style::new().dimmed();
const STRONG: Style = Style::new().bold();

/// What a line of facts tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Admitted,
    Rejected,
    Seen,
}

/// Where the story is told.
pub(super) struct Stage {
    json: bool,
    paced: bool,
    /// What is told twice is told of this chapter.
    chapter: String,
}

impl Stage {
    pub(super) fn new(json: bool, fast: bool) -> Self {
        Self { json, paced: !json && !fast && stdout().is_terminal(), chapter: String::new() }
    }

    /// Columns a drawing may take.
    pub(super) fn width() -> usize {
        80
    }

    pub(super) async fn chapter(&mut self, title: &str, says: &str) {
        self.chapter = title.to_owned();
        if self.json {
            return self.event("chapter", json!({ "title": title }));
        }
        println!("\n{TITLE}{title}{TITLE:#}");
        for line in wrap(says, Self::width()) {
            println!("{line}");
        }
        println!();
        self.pause(1400).await;
    }

    /// What happened: when, what, and what it cost.
    pub(super) async fn fact(&self, mark: Mark, when: &str, says: &str, cost: &str, event: Value) {
        if self.json {
            let kind = match mark {
                Mark::Admitted => "admitted",
                Mark::Rejected => "rejected",
                Mark::Seen => "seen",
            };
            return self.event(kind, event);
        }
        let (style, glyph) = match mark {
            Mark::Admitted => (GOOD, '✔'),
            Mark::Rejected => (BAD, '✘'),
            Mark::Seen => (STRONG, '·'),
        };
        println!("  {FAINT}{when:<12}{FAINT:#} {style}{glyph}{style:#} {says}");
        if !cost.is_empty() {
            println!("  {:12}   {FAINT}{cost}{FAINT:#}", "");
        }
        self.pause(700).await;
    }

    /// Lines of a drawing or a table.
    pub(super) async fn lines(&self, lines: &[String]) {
        if self.json {
            return;
        }
        for line in lines {
            println!("  {line}");
        }
        self.pause(1000).await;
    }

    pub(super) fn text(&self, says: &str) {
        if self.json {
            return;
        }
        for line in wrap(says, Self::width()) {
            println!("{line}");
        }
    }

    pub(super) fn event(&self, kind: &str, event: Value) {
        if !self.json {
            return;
        }
        let mut line =
            Map::from_iter([("event".to_owned(), json!(kind)), ("chapter".to_owned(), json!(self.chapter))]);
        if let Value::Object(fields) = event {
            line.extend(fields);
        }
        println!("{}", Value::Object(line));
    }

    /// A bar, where a person sees it; it leaves nothing behind.
    pub(super) fn progress(&self, length: u64, doing: &'static str) -> ProgressBar {
        let target = if self.json { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let style = ProgressStyle::with_template("  {msg} {bar:40} {pos}/{len}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        ProgressBar::with_draw_target(Some(length), target).with_style(style).with_message(doing)
    }

    async fn pause(&self, ms: u64) {
        if self.paced {
            tokio::time::sleep(Duration::from_millis(ms)).await;
        }
    }
}

/// Words in lines of at most `width` columns.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
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
        assert_eq!(wrap("one two  three\nfour", 9), ["one two", "three", "four"]);
    }
}
