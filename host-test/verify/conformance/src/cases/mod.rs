//! The cases, by name. `F…` are cases from the field: what went wrong in other limiters.

mod faults;
mod shards;
mod surface;
mod windows;

use futures::future::BoxFuture;

use crate::kit::World;

/// One case: it panics where the runtime is not as it should be.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) run: fn(World) -> BoxFuture<'static, ()>,
}

macro_rules! cases {
    ($($name:literal $run:path,)*) => {
        &[$(Case { name: $name, run: |world| Box::pin($run(world)) },)*]
    };
}

/// Every case.
pub(crate) const ALL: &[Case] = cases![
    "admits, and tells what is left and until when" windows::admits,
    "rejects with a problem document and its fields" windows::rejects,
    "rolls over at the instant that was told" windows::rolls_over,
    "two limits at once, each with its own recovery" windows::two_limits,
    "limits of its own where a request brings none" windows::default_limits,
    "preview tells all shards and writes nothing" windows::previews,
    "settle records more, releases, and knows when it is late" windows::settles,
    "F1  a wait is rounded up, and long enough" windows::f1_waits,
    "F2  a lowered capacity keeps the window" windows::f2_lowered,
    "F3  a question of nothing changes nothing" windows::f3_questions,
    "F6  a remembered rejection ends with its window" windows::f6_remembered,
    "F8  10^15 tokens are exact" windows::f8_exact,
    "F12 the instant does not depend on the amount" windows::f12_instant,
    "F16 a rejected request takes nothing" windows::f16_takes_nothing,
    "F17 every amount has its typed answer" windows::f17_amounts,
    "F18 a missing item is made" windows::f18_missing,
    "F26 no window: no instant" windows::f26_no_window,
    "a sharded quota is used to the last token, and no further" shards::whole,
    "every shard tells one instant" shards::one_instant,
    "the answer goes out before the other shards are told" shards::answers_first,
    "malformed requests are told what was expected" surface::malformed,
    "entity ids outside ASCII are a clear error" surface::outside_ascii,
    "HTTP's own errors are problems too" surface::http_itself,
    "each answer is a line of the log" surface::told,
    "a disabled entity is forbidden" surface::disabled,
    "a corrupt item names its attribute" surface::corrupt,
    "F9  an expired signature is made once more, by the table's clock" faults::f9_clock,
    "F9  what a frozen host tells late changes nothing" shards::f9_late,
    "F10 nonsense from the table is unavailable: block" faults::f10_block,
    "F10 nonsense from the table is unavailable: allow" faults::f10_allow,
    "F11 throttles and conflicts are waited out" faults::f11_waited_out,
    "F11 a throttle without end is unavailable, a conflict contended" faults::f11_without_end,
    "F19 cancelled transactions, reason by reason" faults::f19_cancelled,
    "F21 a table that refuses is never let through" faults::f21_refusals,
    "F22 a lost reply never gives tokens" faults::f22_lost_reply,
    "a table that never answers meets the deadline" faults::deadline,
];
