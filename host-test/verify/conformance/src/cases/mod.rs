//! The cases, by name. The cases `F…` are from the field: they went wrong in other limiters.

mod faults;
mod shards;
mod surface;
mod windows;

use futures::future::BoxFuture;

use crate::kit::Fixture;

/// One case: it panics if the runtime fails it.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) run: fn(Fixture) -> BoxFuture<'static, ()>,
}

macro_rules! cases {
    ($($name:literal $run:path,)*) => {
        &[$(Case { name: $name, run: |fixture| Box::pin($run(fixture)) },)*]
    };
}

/// Every case.
pub(crate) const ALL: &[Case] = cases![
    "admits, and reports what is left and the reset" windows::admits,
    "rejects with a problem document and its fields" windows::rejects,
    "resets at the instant that was reported" windows::rolls_over,
    "two limits at once, each with its own recovery" windows::two_limits,
    "configured limits where a request brings none" windows::default_limits,
    "preview reports all shards and writes nothing" windows::previews,
    "settle debits more, releases, and reports when it is late" windows::settles,
    "F1  a wait is rounded up, and long enough" windows::f1_waits,
    "F2  a lowered capacity keeps the window" windows::f2_lowered,
    "F3  a request of no tokens changes nothing" windows::f3_questions,
    "F6  a remembered rejection ends with its window" windows::f6_remembered,
    "F8  10^15 tokens are exact" windows::f8_exact,
    "F12 the instant does not depend on the amount" windows::f12_instant,
    "F16 a rejected request debits nothing" windows::f16_debits_nothing,
    "F17 every amount has its typed answer" windows::f17_amounts,
    "F18 a missing item is created" windows::f18_missing,
    "F26 no window: no instant" windows::f26_no_window,
    "a sharded quota is used to the last token, and no further" shards::whole,
    "every shard reports one instant" shards::one_instant,
    "the answer is sent before the window is propagated" shards::answers_first,
    "errors of malformed requests say what was expected" surface::malformed,
    "entity ids outside ASCII are a clear error" surface::outside_ascii,
    "HTTP's own errors are problems too" surface::http_itself,
    "each answer is a line of the log" surface::logged,
    "a disabled entity is forbidden" surface::disabled,
    "a corrupt item names its attribute" surface::corrupt,
    "F9  an expired signature is renewed once, by the table's clock" faults::f9_clock,
    "F9  a late propagation of a frozen host changes nothing" shards::f9_late,
    "F10 nonsense from the table is unavailable: block" faults::f10_block,
    "F10 nonsense from the table is unavailable: allow" faults::f10_allow,
    "F11 throttles and conflicts are waited out" faults::f11_waited_out,
    "F11 a throttle without end is unavailable, a conflict contended" faults::f11_without_end,
    "F19 cancelled transactions, reason by reason" faults::f19_cancelled,
    "F21 a refusal of the table is never allowed" faults::f21_refusals,
    "F22 a lost reply never gives tokens" faults::f22_lost_reply,
    "a table that never answers meets the deadline" faults::deadline,
];
