//! The result of a soak, and its report for a person.

use std::{collections::BTreeMap, fmt, time::Duration};

use crate::{fault::Fault, history::History, options::Options, proxy::Traffic};

/// Violations that are printed in full.
const SHOWN: usize = 5;

/// The result of a soak.
#[derive(Debug)]
pub struct Report {
    /// How long the load lasted.
    pub lasted: Duration,
    /// Hosts that were killed.
    pub kills: u64,
    /// The answers to callers, by kind.
    pub answers: BTreeMap<String, u64>,
    /// Requests and faults, as the proxy counted them.
    pub traffic: Traffic,
    /// What the table's history shows, with the violations.
    pub history: History,
    /// Entities that admitted a fresh host after the faults were over.
    pub admitting: usize,
}

impl Report {
    /// Whether every invariant held.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.history.violations.is_empty()
    }

    /// The report, with the options of the soak.
    #[must_use]
    pub fn display<'a>(&'a self, options: &'a Options) -> impl fmt::Display + 'a {
        Display { report: self, options }
    }

    fn acquires(&self) -> u64 {
        let of = |kind: &str| self.answers.get(kind).copied().unwrap_or(0);
        of("admitted") + of("rejected") + of("contended") + of("unavailable")
    }
}

struct Display<'a> {
    report: &'a Report,
    options: &'a Options,
}

impl fmt::Display for Display<'_> {
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
        row(f, "requests to the table", report.traffic.requests)?;
        row(f, "writes carried out", report.history.writes)?;
        row(f, "windows opened", report.history.windows())?;
        row(f, "doublings", report.history.doublings)?;
        row(f, "shards created", report.history.items())?;
        row(f, "tokens debited", report.history.debited_milli().div_euclid(1000))?;
        row(f, "tokens credited", report.history.credited_milli.div_euclid(1000))?;
        writeln!(f, "\nfaults")?;
        row(f, "hosts killed (SIGKILL)", report.kills)?;
        for fault in Fault::ALL {
            row(f, &fault.to_string(), report.traffic.faults.get(&fault).copied().unwrap_or(0))?;
        }
        writeln!(f, "\nchecked")?;
        row(f, "entities that admitted a fresh host at the end", report.admitting)?;
        row(f, "violations", report.history.violations.len())?;
        for violation in report.history.violations.iter().take(SHOWN) {
            writeln!(f, "    {violation}")?;
        }
        Ok(())
    }
}

fn row(f: &mut fmt::Formatter<'_>, name: &str, count: impl fmt::Display) -> fmt::Result {
    writeln!(f, "  {name:<52}{count:>10}")
}
