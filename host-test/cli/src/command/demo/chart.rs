//! The shards' windows as a chart: one row for each shard, time from left to right.

use std::collections::BTreeMap;

/// What a shard has of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Progress {
    /// The window was propagated to it; its balance is not reset yet.
    Pending,
    /// Its balance is of this window.
    Applied,
}

/// Every window that a preview showed on a shard.
#[derive(Debug, Default)]
pub(super) struct Chart {
    /// By shard and start: the end, and the shard's progress. Instants in ms.
    windows: BTreeMap<(u32, u64), (u64, Progress)>,
}

/// Columns before the bars.
const MARGIN: usize = 9;

impl Chart {
    pub(super) fn add(&mut self, shard: u32, start_ms: u64, end_ms: u64, progress: Progress) {
        let entry = self.windows.entry((shard, start_ms)).or_insert((end_ms, progress));
        entry.1 = entry.1.max(progress);
    }

    /// The ends of the windows, earliest first. Openers milliseconds apart make ends milliseconds
    /// apart; a drawing of hours shows them as one.
    fn ends_ms(&self) -> Vec<u64> {
        let mut ends: Vec<u64> = self.windows.values().map(|(end_ms, _)| *end_ms).collect();
        ends.sort_unstable();
        ends.dedup_by(|later, earlier| later.abs_diff(*earlier) < 60_000);
        ends
    }

    /// The rows, `width` columns wide at most; `clock` writes an instant in five columns.
    pub(super) fn draw(&self, width: usize, clock: impl Fn(u64) -> String) -> Vec<String> {
        let first = self.windows.keys().map(|(_, start_ms)| *start_ms).min();
        let (Some(first_ms), Some(last_ms)) = (first, self.ends_ms().last().copied()) else {
            return Vec::new();
        };
        let columns = width.saturating_sub(MARGIN + 3).max(16);
        let span_ms = last_ms.saturating_sub(first_ms).max(1);
        let column = |ms: u64| {
            let share = ms.saturating_sub(first_ms) as f64 / span_ms as f64;
            ((share * columns as f64).round() as usize).min(columns)
        };
        let shards: std::collections::BTreeSet<u32> = self.windows.keys().map(|(shard, _)| *shard).collect();
        let mut rows: Vec<String> = shards
            .into_iter()
            .map(|shard| {
                let mut cells = vec![' '; columns];
                for ((_, start_ms), (end_ms, progress)) in self.windows.range((shard, 0)..=(shard, u64::MAX))
                {
                    let (from, to) = (column(*start_ms), column(*end_ms));
                    let bar = if *progress == Progress::Applied { '█' } else { '░' };
                    let cells = &mut cells[from..to];
                    cells.fill(bar);
                    if let Some(first) = cells.first_mut() {
                        *first = '▐';
                    }
                }
                format!("shard {shard:<2} {}", cells.into_iter().collect::<String>().trim_end())
            })
            .collect();
        let mut axis = vec![' '; MARGIN + columns + 6];
        let mut put = |at: usize, text: &str| {
            for (cell, letter) in axis.iter_mut().skip(at).zip(text.chars()) {
                *cell = letter;
            }
        };
        put(MARGIN, &clock(first_ms));
        for end_ms in self.ends_ms() {
            put((MARGIN + column(end_ms)).saturating_sub(2), &clock(end_ms));
        }
        rows.push(axis.into_iter().collect::<String>().trim_end().to_owned());
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(ms: u64) -> String {
        format!("{:02}:{:02}", ms / 60, ms % 60)
    }

    #[test]
    fn windows_follow_each_other_above_their_ends() {
        let mut chart = Chart::default();
        chart.add(0, 0, 100_000, Progress::Applied);
        chart.add(1, 50_000, 100_000, Progress::Applied);
        chart.add(0, 100_000, 200_000, Progress::Applied);
        chart.add(1, 100_000, 200_000, Progress::Pending);
        let rows = chart.draw(32, |ms| clock(ms / 1000));
        assert_eq!(
            rows,
            [
                "shard 0  ▐█████████▐█████████",
                "shard 1       ▐████▐░░░░░░░░░",
                "         00:00   01:40     03:20",
            ]
        );
    }

    #[test]
    fn a_shard_that_has_reset_stays_reset() {
        let mut chart = Chart::default();
        chart.add(0, 0, 100_000, Progress::Applied);
        chart.add(0, 0, 100_000, Progress::Pending);
        assert!(chart.draw(32, |ms| clock(ms / 1000))[0].contains('█'));
    }

    #[test]
    fn ends_that_are_milliseconds_apart_are_one() {
        let mut chart = Chart::default();
        chart.add(0, 0, 100_000, Progress::Applied);
        chart.add(1, 4, 100_004, Progress::Applied);
        assert_eq!(chart.ends_ms(), [100_000]);
    }

    #[test]
    fn an_empty_chart_has_no_rows() {
        assert!(Chart::default().draw(80, |_| String::new()).is_empty());
    }
}
