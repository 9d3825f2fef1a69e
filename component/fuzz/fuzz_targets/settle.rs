//! A settlement of any text as a lease, answered with anything.

#![no_main]

use libfuzzer_sys::fuzz_target;
use onewindow::{Amount, Reply, Settle, Step};

fuzz_target!(|input: (&str, u64, Vec<(u64, u16, &str)>)| {
    let (lease, used, answers) = input;
    let mut machine = Settle::new("t", lease, vec![Amount::new("q", used)]);
    let mut step = machine.advance(answers.first().map_or(0, |answer| answer.0), &[]);
    let mut answers = answers.iter().cycle();
    for _ in 0..64 {
        let Step::Perform(calls) = step else { return };
        let Some((now_ms, status, body)) = answers.next() else { return };
        let reply = Reply::Http { status: *status, body: (*body).to_owned() };
        step = machine.advance(*now_ms, &vec![reply; calls.len()]);
    }
    panic!("it never ends");
});
