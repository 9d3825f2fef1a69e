//! A soak's report, for a person.

use std::fmt;

use crate::{
    fault::Fault,
    run::{Options, Report},
};

/// Violations that are told in full.
const TOLD: usize = 5;

impl Report {
    /// Whether every invariant held.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.history.violations.is_empty()
    }

    /// The report, beside what was asked for.
    #[must_use]
    pub fn of<'a>(&'a self, options: &'a Options) -> impl fmt::Display + 'a {
        Told { report: self, options }
    }

    fn acquires(&self) -> u64 {
        let of = |kind: &str| self.answers.get(kind).copied().unwrap_or(0);
        of("admitted") + of("rejected") + of("contended") + of("unavailable")
    }
}

struct Told<'a> {
    report: &'a Report,
    options: &'a Options,
}

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { report, options } = self;
        let load = &options.load;
        let seconds = report.lasted.as_secs_f64();
        writeln!(
            f,
            "{} hosts, {} callers each, {} entities at a time, {} tokens per {} s; {seconds:.0} s",
            options.hosts, load.callers, load.entities, load.capacity, load.window_seconds
        )?;
        writeln!(f, "\nload")?;
        row(f, "acquires", report.acquires())?;
        for (kind, count) in &report.answers {
            row(f, &format!("  {kind}"), *count)?;
        }
        row(f, "requests to the table", report.passed.requests)?;
        row(f, "writes carried out", report.history.writes)?;
        row(f, "windows opened", report.history.windows())?;
        row(f, "doublings", report.history.doublings)?;
        row(f, "shards made", report.history.items())?;
        row(f, "tokens taken", report.history.taken_milli().div_euclid(1000))?;
        row(f, "tokens credited", report.history.credited_milli.div_euclid(1000))?;
        writeln!(f, "\nfaults")?;
        row(f, "hosts killed (SIGKILL)", report.kills)?;
        for fault in Fault::ALL {
            row(f, &fault.to_string(), report.passed.faults.get(&fault).copied().unwrap_or(0))?;
        }
        writeln!(f, "\nchecked")?;
        row(f, "entities that a fresh host got on with at the end", report.unstuck)?;
        row(f, "violations", report.history.violations.len())?;
        for violation in report.history.violations.iter().take(TOLD) {
            writeln!(f, "    {violation}")?;
        }
        Ok(())
    }
}

fn row(f: &mut fmt::Formatter<'_>, name: &str, count: impl fmt::Display) -> fmt::Result {
    writeln!(f, "  {name:<52}{count:>10}")
}
