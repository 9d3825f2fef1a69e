//! Any text as a reply, to every call a first use leads to.

#![no_main]

use libfuzzer_sys::fuzz_target;
use onewindow::{Acquire, AcquireRequest, Amount, Limit, Reply, Step, Subject, wire};

const NOW_MS: u64 = 1_800_000_000_000;

fuzz_target!(|input: (u16, &str)| {
    let (status, body) = input;
    let reply = Reply::Http { status, body: body.to_owned() };
    let _ = wire::classify(&reply);
    let mut machine = Acquire::new(AcquireRequest {
        subject: Subject::new("t", "n", "e", "r"),
        consume: vec![Amount::new("q", 1)],
        limits: vec![Limit::session("q", 100, 60)],
        ..AcquireRequest::default()
    });
    let mut step = machine.advance(NOW_MS, &[]);
    for _ in 0..64 {
        let Step::Perform(calls) = step else { return };
        step = machine.advance(NOW_MS, &vec![reply.clone(); calls.len()]);
    }
    panic!("it never ends");
});
