//! Any text as a stored item: an error or a shard, and a preview of the shard.

#![no_main]

use libfuzzer_sys::fuzz_target;
use onewindow::{
    Limit,
    internals::{decode_item, preview},
};

fuzz_target!(|text: &str| {
    let Ok(shard) = decode_item(text) else { return };
    let limits = [Limit::session("q", 100, 60), Limit::drip("d", 60, 60, 60)];
    for now_ms in [0, 1_800_000_000_000, i64::MAX] {
        let _ = preview::report(std::slice::from_ref(&shard), 4, &limits, now_ms);
    }
});
