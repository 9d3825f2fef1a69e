//! Runs futures without a runtime: a future that waits is polled again every millisecond.

use std::{
    future::poll_fn,
    pin::pin,
    task::{Context, Poll, Waker},
    thread::sleep,
    time::{Duration, Instant},
};

/// How often a future that waits is polled.
const TICK: Duration = Duration::from_millis(1);

/// Runs a future to its end.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => sleep(TICK),
        }
    }
}

/// Lets the other futures have their turn, and resumes at the next tick.
pub(crate) async fn tick() {
    let mut begun = false;
    poll_fn(|context| {
        if begun {
            return Poll::Ready(());
        }
        begun = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Resolves after this time.
pub(crate) async fn pause(wait: Duration) {
    let end = Instant::now() + wait;
    while Instant::now() < end {
        tick().await;
    }
}
