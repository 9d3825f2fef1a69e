//! What the table configures (section 8), read in one batch and kept for a stated time.

use std::{sync::Arc, time::Instant};

use onewindow::{AcquireRequest, Outcome, Subject, config, config::Configuration};

use super::Limiter;
use crate::dynamo::{Cost, Transport};

impl<T: Transport> Limiter<T> {
    /// The id of the namespace with this name, read from the table. It never changes, so keep it.
    ///
    /// # Errors
    /// Where there is no namespace of that name, or the table does not answer.
    pub async fn namespace_id(&self, table: &str, name: &str) -> Result<String, Outcome> {
        let call = config::namespace_call(table, name)?;
        let reply = self.client().ask(call, self.deadline(), &mut Cost::default()).await;
        config::namespace_id(name, &reply)
    }

    /// Fills in the limits of a request that brings none, from the table's configuration. None: the request
    /// brings limits, or this limiter reads no configuration.
    ///
    /// Only configuration that is read for this very request is authoritative (R15).
    pub(super) async fn fill_in(
        &self,
        request: &mut AcquireRequest,
        deadline: Instant,
        cost: &mut Cost,
    ) -> Result<Option<Arc<Configuration>>, Outcome> {
        if !request.limits.is_empty() {
            return Ok(None);
        }
        let Some((configuration, fresh)) = self.configuration(&request.subject, deadline, cost).await? else {
            return Ok(None);
        };
        request.limits.clone_from(&configuration.limits);
        request.permanent |= configuration.is_permanent();
        request.authoritative |= fresh && configuration.level.is_some();
        Ok(Some(configuration))
    }

    /// The configuration of a subject, and whether it was read just now. None: this limiter does
    /// not read it.
    pub(super) async fn configuration(
        &self,
        subject: &Subject,
        deadline: Instant,
        cost: &mut Cost,
    ) -> Result<Option<(Arc<Configuration>, bool)>, Outcome> {
        let Some(keep_for) = self.options().keep_configuration_for else { return Ok(None) };
        subject.check()?;
        let key = subject.hint_key();
        if let Some(kept) = self.inner.configurations.get(&key, keep_for) {
            return Ok(Some((kept, false)));
        }
        let reply = self.client().ask(config::call(subject), deadline, cost).await;
        let configuration = Arc::new(config::resolve(subject, &reply)?);
        self.inner.configurations.put(key, Arc::clone(&configuration));
        Ok(Some((configuration, true)))
    }
}
