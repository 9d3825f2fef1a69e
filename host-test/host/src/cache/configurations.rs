//! Configuration that was read from the table, kept for a stated time.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use onewindow::config::Configuration;

use super::bounded::{BOUND, Bounded};

#[derive(Debug)]
pub(crate) struct Configurations(Bounded<(Instant, Arc<Configuration>)>);

impl Default for Configurations {
    /// Keeps the configuration of at most [`BOUND`] subjects.
    fn default() -> Self {
        Self(Bounded::new(BOUND))
    }
}

impl Configurations {
    /// The configuration, where it was read less than `keep_for` ago.
    pub(crate) fn get(&self, key: &str, keep_for: Duration) -> Option<Arc<Configuration>> {
        let mut entries = self.0.lock();
        let (read, configuration) = entries.get(key)?;
        (read.elapsed() < keep_for).then(|| Arc::clone(configuration))
    }

    pub(crate) fn put(&self, key: String, configuration: Arc<Configuration>) {
        self.0.lock().put(key, (Instant::now(), configuration));
    }

    pub(crate) fn forget(&self, key: &str) {
        self.0.lock().remove(key);
    }

    pub(crate) fn clear(&self) {
        self.0.lock().clear();
    }
}
