//! What the table configures, read in one batch and kept for a stated time.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use onewindow::{AcquireRequest, Call, Outcome, Reply, Subject, config, config::Configuration};
use tokio::time::Instant;

use crate::dynamo::{Client, Cost};

/// Subjects whose configuration is kept at most; beyond, all are forgotten.
const MOST: usize = 10_000;

#[derive(Debug)]
pub(super) struct Configurations {
    keep_for: Option<Duration>,
    kept: Mutex<HashMap<String, (Instant, Arc<Configuration>)>>,
}

impl Configurations {
    pub(super) fn new(keep_for: Option<Duration>) -> Self {
        Self { keep_for, kept: Mutex::default() }
    }

    /// Fills in the limits that a caller left to the table. None: it did not.
    ///
    /// What is read for this very request is the truth of this moment; what was kept is not (R15).
    pub(super) async fn fill_in(
        &self,
        request: &mut AcquireRequest,
        client: &Client,
        deadline: Instant,
        cost: &mut Cost,
    ) -> Result<Option<Arc<Configuration>>, Outcome> {
        if !request.limits.is_empty() {
            return Ok(None);
        }
        let Some((configuration, fresh)) = self.read(&request.subject, client, deadline, cost).await? else {
            return Ok(None);
        };
        request.limits.clone_from(&configuration.limits);
        request.permanent |= configuration.is_permanent();
        request.authoritative |= fresh && configuration.level.is_some();
        Ok(Some(configuration))
    }

    /// The configuration of a subject, and whether it was read just now. None: the table's is not
    /// asked for.
    pub(super) async fn read(
        &self,
        subject: &Subject,
        client: &Client,
        deadline: Instant,
        cost: &mut Cost,
    ) -> Result<Option<(Arc<Configuration>, bool)>, Outcome> {
        let Some(keep_for) = self.keep_for else { return Ok(None) };
        subject.check()?;
        let key = subject.hint_key();
        if let Some((read, kept)) = self.lock().get(&key)
            && read.elapsed() < keep_for
        {
            return Ok(Some((Arc::clone(kept), false)));
        }
        let reply = ask(client, config::call(subject), deadline, cost).await;
        let configuration = Arc::new(config::resolve(subject, &reply)?);
        let mut kept = self.lock();
        if kept.len() >= MOST {
            kept.clear();
        }
        kept.insert(key, (Instant::now(), Arc::clone(&configuration)));
        Ok(Some((configuration, true)))
    }

    pub(super) fn forget(&self, key: &str) {
        self.lock().remove(key);
    }

    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, (Instant, Arc<Configuration>)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One call, and its reply.
pub(super) async fn ask(client: &Client, call: Call, deadline: Instant, cost: &mut Cost) -> Reply {
    let mut replies = client.perform(&[call], deadline, cost).await;
    replies.pop().unwrap_or_else(|| Reply::Failed("nothing was sent".into()))
}
