//! Explores: every order of events of a small world, or random orders of a larger one.

use std::{
    collections::HashSet,
    hash::{Hash, Hasher},
    time::{Duration, Instant},
};

use siphasher::sip128::{Hasher128, SipHasher13};

use crate::{event::Event, ledger::Violation, setting::Setting, world::World};

/// Events that break an invariant.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// What happened, in order.
    pub events: Vec<Event>,
    /// The invariant they break.
    pub violation: Violation,
}

/// What an exploration saw.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Different worlds.
    pub worlds: u64,
    /// Events that happened.
    pub events: u64,
    /// The longest order of events without a repeated world.
    pub depth: usize,
    /// Whether every order was tried.
    pub exhaustive: bool,
    /// The first violation.
    pub counterexample: Option<Counterexample>,
}

/// Where an exploration stops, if nothing else stops it.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Different worlds.
    pub worlds: u64,
    /// Time.
    pub time: Duration,
}

/// Tries every order of events, depth first. A world that was seen is not entered again.
#[must_use]
pub fn exhaustive(setting: &Setting, limits: Limits) -> Report {
    struct Frame {
        world: World,
        events: Vec<Event>,
        next: usize,
    }
    let began = Instant::now();
    let frame = |world: World| Frame { events: world.events(setting), world, next: 0 };
    let mut report = Report { exhaustive: true, ..Report::default() };
    let mut seen = HashSet::new();
    let first = World::new(setting);
    seen.insert(fingerprint(&first));
    let mut stack = vec![frame(first)];
    let way = |stack: &[Frame]| {
        stack.iter().filter_map(|frame| frame.events.get(frame.next.wrapping_sub(1)).copied()).collect()
    };
    while let Some(top) = stack.last_mut() {
        let Some(event) = top.events.get(top.next).copied() else {
            stack.pop();
            continue;
        };
        top.next += 1;
        let mut world = top.world.clone();
        let stepped = world.step(setting, event).and_then(|record| {
            world.check_rest(setting)?;
            Ok(record)
        });
        report.events += 1;
        match stepped {
            Err(violation) => {
                report.counterexample = Some(Counterexample { events: way(&stack), violation });
                report.exhaustive = false;
                break;
            }
            Ok(None) => {}
            Ok(Some(_)) => {
                if seen.insert(fingerprint(&world)) {
                    stack.push(frame(world));
                    report.depth = report.depth.max(stack.len() - 1);
                }
            }
        }
        let out_of_time = report.events.is_multiple_of(4096) && began.elapsed() > limits.time;
        if out_of_time || u64::try_from(seen.len()).unwrap_or(u64::MAX) >= limits.worlds {
            report.exhaustive = false;
            break;
        }
    }
    report.worlds = u64::try_from(seen.len()).unwrap_or(u64::MAX);
    report
}

/// Tries one random order of events after another; another `seed` gives others.
#[must_use]
pub fn random(setting: &Setting, seed: u64, limits: Limits) -> Report {
    let began = Instant::now();
    let mut dice = fastrand::Rng::with_seed(seed);
    let mut report = Report::default();
    while report.worlds < limits.worlds && began.elapsed() < limits.time {
        report.worlds += 1;
        let mut world = World::new(setting);
        let mut events = Vec::new();
        while let Some(event) = dice.choice(world.events(setting)) {
            events.push(event);
            report.events += 1;
            let stepped = world.step(setting, event).and_then(|_| world.check_rest(setting));
            if let Err(violation) = stepped {
                report.counterexample = Some(Counterexample { events, violation });
                return report;
            }
        }
        report.depth = report.depth.max(events.len());
    }
    report
}

/// Makes those of the events happen that can; none: they break nothing.
#[must_use]
pub fn replay(setting: &Setting, events: &[Event]) -> Option<Counterexample> {
    let mut world = World::new(setting);
    let mut happened = Vec::new();
    for event in events {
        let stepped =
            world.step(setting, *event).and_then(|record| world.check_rest(setting).map(|()| record));
        match stepped {
            Ok(Some(_)) => happened.push(*event),
            Ok(None) => {}
            Err(violation) => {
                happened.push(*event);
                return Some(Counterexample { events: happened, violation });
            }
        }
    }
    None
}

/// Removes the events that a counterexample does not need.
#[must_use]
pub fn shrink(setting: &Setting, mut found: Counterexample) -> Counterexample {
    loop {
        let shorter = (0..found.events.len()).find_map(|index| {
            let mut events = found.events.clone();
            events.remove(index);
            replay(setting, &events)
                .filter(|shorter| shorter.violation.invariant == found.violation.invariant)
        });
        match shorter {
            Some(shorter) => found = shorter,
            None => return found,
        }
    }
}

fn fingerprint(world: &World) -> u128 {
    let mut hasher = SipHasher13::new();
    world.hash(&mut hasher);
    let _ = hasher.finish();
    hasher.finish128().as_u128()
}
