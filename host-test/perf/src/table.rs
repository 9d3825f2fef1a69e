//! Markdown tables and figures, as the README shows them.

use std::{fmt::Display, time::Duration};

/// A table in Markdown: the first column says what, the others hold figures, set to the right.
pub(crate) struct Table {
    lines: Vec<String>,
}

impl Table {
    pub(crate) fn new<T: Display>(headers: impl IntoIterator<Item = T>) -> Self {
        let mut table = Self { lines: Vec::new() };
        let columns = table.push(headers);
        table.lines.push(format!("| --- |{}", " ---: |".repeat(columns.saturating_sub(1))));
        table
    }

    pub(crate) fn row<T: Display>(&mut self, cells: impl IntoIterator<Item = T>) -> &mut Self {
        self.push(cells);
        self
    }

    pub(crate) fn print(&self) {
        println!("{}\n", self.lines.join("\n"));
    }

    /// How many cells it were.
    fn push<T: Display>(&mut self, cells: impl IntoIterator<Item = T>) -> usize {
        let cells: Vec<String> = cells.into_iter().map(|cell| format!(" {cell} |")).collect();
        self.lines.push(format!("|{}", cells.concat()));
        cells.len()
    }
}

/// A duration in the unit that suits it, in three digits: `870 ns`, `1.24 ms`.
pub(crate) fn time(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    let (unit, name) = match seconds {
        ..1e-6 => (1e-9, "ns"),
        ..1e-3 => (1e-6, "µs"),
        ..1.0 => (1e-3, "ms"),
        _ => (1.0, "s"),
    };
    format!("{} {name}", digits(seconds / unit))
}

/// A figure in three digits, or whole where it has more: `0.87`, `12.4`, `1240`.
pub(crate) fn digits(figure: f64) -> String {
    let decimals = match figure.abs() {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{figure:.decimals$}")
}
