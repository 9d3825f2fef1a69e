//! `onewindow-model`: explores, ablates, replays.

use std::{
    num::NonZero,
    process::ExitCode,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use clap::{Parser, Subcommand};
use onewindow_model::{
    ablation::Ablation,
    catalog,
    explore::{self, Counterexample, Limits, Report},
    setting::Setting,
    trace,
};

/// Checks the rules of onewindow by exploring orders of events, on the code that ships.
#[derive(Parser)]
#[command(version)]
struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Every order of events of the small worlds.
    Exhaustive {
        /// Only these worlds.
        worlds: Vec<String>,
        /// Seconds for each world at most.
        #[arg(long, default_value_t = 600)]
        seconds: u64,
    },
    /// Random orders of events of the large worlds.
    Random {
        /// Only these worlds.
        worlds: Vec<String>,
        /// Orders of each world.
        #[arg(long, default_value_t = 20_000)]
        orders: u64,
        /// Another seed is another run.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Leaves out one clause of the rules after the other, and shows what breaks.
    Ablate {
        /// Only these clauses.
        clauses: Vec<String>,
        #[command(flatten)]
        search: Search,
        /// Print each trace step by step as well.
        #[arg(long)]
        steps: bool,
    },
    /// Prints what happens in a world: its name, the clause left out (or `nothing`), the events.
    Replay {
        /// The world.
        world: String,
        /// The clause.
        clause: String,
        /// The events.
        events: Vec<String>,
    },
}

fn main() -> ExitCode {
    let done = match Options::parse().command {
        Command::Exhaustive { worlds, seconds } => {
            let limits = Limits { worlds: 40_000_000, time: Duration::from_secs(seconds) };
            Ok(check(&chosen(catalog::small(), &worlds), |setting| explore::exhaustive(setting, limits)))
        }
        Command::Random { worlds, orders, seed } => {
            let limits = Limits { worlds: orders, time: Duration::MAX };
            Ok(check(&chosen(catalog::large(), &worlds), |setting| explore::random(setting, seed, limits)))
        }
        Command::Ablate { clauses, search, steps } => Ok(ablate(&clauses, &search, steps)),
        Command::Replay { world, clause, events } => replay(&world, &clause, &events.join(" ")),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::from(2)
        }
    }
}

fn chosen(all: Vec<Setting>, names: &[String]) -> Vec<Setting> {
    all.into_iter()
        .filter(|setting| names.is_empty() || names.iter().any(|name| name == setting.name))
        .collect()
}

/// Explores the settings, as many at once as there are processors, and prints them as they end.
fn check(settings: &[Setting], explore: impl Fn(&Setting) -> Report + Sync) -> bool {
    println!("{:<24} {:>12} {:>12} {:>6}  result", "world", "worlds", "events", "depth");
    let total = Mutex::new(Report { exhaustive: true, ..Report::default() });
    side_by_side(settings, |setting| {
        let report = explore(setting);
        let explained = report.counterexample.clone().map(|found| {
            let found = explore::shrink(setting, found);
            format!("\n{}", trace::explain(setting, &found))
        });
        let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
        print(setting.name, &report);
        if let Some(explained) = explained {
            println!("{explained}");
        }
        total.worlds += report.worlds;
        total.events += report.events;
        total.depth = total.depth.max(report.depth);
        total.exhaustive &= report.exhaustive;
        total.counterexample = total.counterexample.take().or(report.counterexample);
    });
    let total = total.into_inner().unwrap_or_else(PoisonError::into_inner);
    print("all", &total);
    total.counterexample.is_none()
}

fn print(name: &str, report: &Report) {
    let result = match (&report.counterexample, report.exhaustive) {
        (Some(found), _) => found.violation.to_string(),
        (None, true) => "every order; all invariants hold".into(),
        (None, false) => "all invariants hold".into(),
    };
    println!("{name:<24} {:>12} {:>12} {:>6}  {result}", report.worlds, report.events, report.depth);
}

/// Searches for what breaks without each clause, as many at once as there are processors.
fn ablate(clauses: &[String], search: &Search, steps: bool) -> bool {
    println!("{:<24} {:<8} {:<8} {:<24} trace", "clause left out", "rule", "breaks", "in the world");
    let chosen: Vec<_> = Ablation::ALL
        .into_iter()
        .filter(|ablation| clauses.is_empty() || clauses.contains(&ablation.name()))
        .collect();
    let printing = Mutex::new(());
    side_by_side(&chosen, |ablation| {
        let found = search.counterexample(*ablation);
        let (name, (rule, _)) = (ablation.name(), ablation.describe());
        let _printing = printing.lock().unwrap_or_else(PoisonError::into_inner);
        match found {
            None => println!("{name:<24} {rule:<8} nothing"),
            Some((setting, found)) => {
                let trace = trace::encode(&found.events);
                let (invariant, world) = (found.violation.invariant, setting.name);
                println!("{name:<24} {rule:<8} {invariant:<8} {world:<24} {trace}");
                if steps {
                    println!("\n{}", trace::explain(&setting, &found));
                }
            }
        }
    });
    true
}

/// Where a counterexample is searched for.
#[derive(clap::Args)]
struct Search {
    /// Only in these worlds.
    #[arg(long = "world", value_name = "WORLD")]
    worlds: Vec<String>,
    /// Random orders of each world, where no small one breaks in every order.
    #[arg(long, default_value_t = 20_000)]
    orders: u64,
    /// Seconds for each small world at most.
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// Another seed is another run.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Search {
    /// The shortest of the small worlds' traces; else the first of a large one's.
    fn counterexample(&self, ablation: Ablation) -> Option<(Setting, Counterexample)> {
        let without = |setting: Setting| Setting { ablation, ..setting };
        let limits = Limits { worlds: 40_000_000, time: Duration::from_secs(self.seconds) };
        let small = chosen(catalog::small(), &self.worlds).into_iter().map(without).filter_map(|setting| {
            let found = explore::exhaustive(&setting, limits).counterexample?;
            let found = explore::shrink(&setting, found);
            Some((setting, found))
        });
        let limits = Limits { worlds: self.orders, time: Duration::MAX };
        let random =
            chosen(catalog::all().collect(), &self.worlds).into_iter().map(without).filter_map(|setting| {
                let found = explore::random(&setting, self.seed, limits).counterexample?;
                let found = explore::shrink(&setting, found);
                Some((setting, found))
            });
        small.min_by_key(|(_, found)| found.events.len()).or_else(|| { random }.next())
    }
}

/// Does the work for each, on all processors.
fn side_by_side<T: Sync>(all: &[T], work: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(it) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            work(it);
        }
    };
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
}

fn replay(world: &str, clause: &str, events: &str) -> Result<bool, String> {
    let setting = catalog::named(world).ok_or_else(|| format!("{world:?} is no world"))?;
    let ablation = Ablation::ALL
        .into_iter()
        .chain([Ablation::Nothing])
        .find(|ablation| ablation.name() == clause)
        .ok_or_else(|| format!("{clause:?} is no clause"))?;
    let setting = Setting { ablation, ..setting };
    let events = trace::decode(events)?;
    match explore::replay(&setting, &events) {
        Some(found) => {
            println!("{}", trace::explain(&setting, &found));
            Ok(false)
        }
        None => {
            println!("{}  => breaks nothing", trace::steps(&setting, &events));
            Ok(true)
        }
    }
}
