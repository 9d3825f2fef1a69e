//! A hook that holds one client's requests until another client is done.

use std::sync::Mutex;

use futures::future::BoxFuture;
use onewindow::Call;
use onewindow_host::dynamo::{Before, Interpose};
use tokio::sync::{Notify, watch};

#[derive(Debug)]
pub(crate) struct Gate {
    closed_for: Mutex<Option<ClosedFor>>,
    reached: Notify,
    open: watch::Sender<bool>,
}

#[derive(Debug)]
struct ClosedFor {
    operation: &'static str,
    /// Calls that still pass.
    materialisation: usize,
}

impl Default for Gate {
    fn default() -> Self {
        Self { closed_for: Mutex::default(), reached: Notify::new(), open: watch::Sender::new(true) }
    }
}

impl Gate {
    /// Holds all calls of this operation after the first `pass` of them.
    pub(crate) fn close(&self, operation: &'static str, materialisation: usize) {
        *self.closed_for.lock().unwrap() = Some(ClosedFor { operation, materialisation });
        self.open.send_replace(false);
    }

    /// Waits until a call stands before the closed gate.
    pub(crate) async fn reached(&self) {
        // The limit is for a test that would otherwise hang.
        let guard = std::time::Duration::from_secs(60);
        tokio::time::timeout(guard, self.reached.notified()).await.expect("a call that comes to the gate");
    }

    pub(crate) fn open(&self) {
        *self.closed_for.lock().unwrap() = None;
        self.open.send_replace(true);
    }

    fn holds(&self, call: &Call) -> bool {
        match &mut *self.closed_for.lock().unwrap() {
            Some(closed) if closed.operation == call.operation => {
                let holds = closed.materialisation == 0;
                closed.materialisation = closed.materialisation.saturating_sub(1);
                holds
            }
            _ => false,
        }
    }
}

impl Interpose for Gate {
    fn before<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Before> {
        Box::pin(async move {
            if self.holds(call) {
                self.reached.notify_one();
                // Fails only without a sender, and `self` is one.
                let _ = self.open.subscribe().wait_for(|open| *open).await;
            }
            Before::Send
        })
    }
}
