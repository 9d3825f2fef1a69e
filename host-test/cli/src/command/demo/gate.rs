//! Holds the requests of one client, so that two clients act in a fixed order.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use anyhow::Context;
use futures::future::BoxFuture;
use onewindow::Call;
use onewindow_host::dynamo::{Before, Interpose};
use tokio::sync::{Notify, Semaphore};

/// A gate in front of a client's requests. It is open at first.
pub(super) struct Gate {
    closed: AtomicBool,
    permits: Semaphore,
    arrived: Notify,
}

impl Gate {
    pub(super) fn new() -> Self {
        Self { closed: AtomicBool::new(false), permits: Semaphore::new(0), arrived: Notify::new() }
    }

    /// From now on, requests wait.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }

    /// Waits until a request waits at the closed gate.
    pub(super) async fn arrival(&self) -> anyhow::Result<()> {
        let patience = Duration::from_secs(60);
        tokio::time::timeout(patience, self.arrived.notified()).await.context("a server sends no request")
    }

    /// Lets one request through.
    pub(super) fn admit_one(&self) {
        self.permits.add_permits(1);
    }

    /// Lets all requests through that wait, and all that come.
    pub(super) fn open(&self) {
        self.closed.store(false, Ordering::SeqCst);
        self.permits.add_permits(1000);
    }
}

impl Interpose for Gate {
    fn before<'a>(&'a self, _call: &'a Call) -> BoxFuture<'a, Before> {
        Box::pin(async {
            if self.closed.load(Ordering::SeqCst) {
                self.arrived.notify_one();
                // Fails only where the semaphore is closed, and nothing closes it.
                if let Ok(permit) = self.permits.acquire().await {
                    permit.forget();
                }
            }
            Before::Send
        })
    }
}
