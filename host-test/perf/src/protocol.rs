//! What the measuring process and its clients say to each other, in lines of JSON.

use std::time::Duration;

use onewindow::Subject;
use onewindow_host::{Client, ClientConfig, Credentials};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The deadline of every call.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
/// A quota that is never used up, of five hours.
pub(crate) const CAPACITY: u64 = 1_000_000_000;
pub(crate) const WINDOW_SECONDS: u64 = 18_000;

/// The implementation that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Implementation {
    /// The update of an acquire, prepared before and sent through the same client: no decision.
    Bare,
    Native,
    Component,
    /// zae-limiter's synchronous form.
    Sync,
    /// Its asynchronous form.
    Async,
}

impl Implementation {
    pub(crate) const ALL: [Self; 5] = [Self::Bare, Self::Native, Self::Component, Self::Sync, Self::Async];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare update",
            Self::Native => "onewindow, native",
            Self::Component => "onewindow, component",
            Self::Sync => "zae-limiter, sync",
            Self::Async => "zae-limiter, async",
        }
    }

    pub(crate) const fn is_ours(self) -> bool {
        matches!(self, Self::Native | Self::Component)
    }

    pub(crate) const fn is_peers(self) -> bool {
        matches!(self, Self::Sync | Self::Async)
    }
}

/// The table, and the implementation that the client is: the first line that a client reads.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Target {
    pub(crate) who: String,
    pub(crate) endpoint: String,
    pub(crate) table: String,
    pub(crate) namespace: String,
    pub(crate) resource: String,
    pub(crate) quota: String,
    pub(crate) capacity: u64,
    pub(crate) window_seconds: u64,
}

impl Target {
    pub(crate) fn implementation(&self) -> anyhow::Result<Implementation> {
        Ok(serde_json::from_value(json!(self.who))?)
    }

    pub(crate) fn client(&self) -> anyhow::Result<Client> {
        let config = ClientConfig::new(&self.endpoint, "us-east-1", Credentials::unchecked());
        Ok(Client::new(ClientConfig { connect_timeout: PATIENCE, attempt_timeout: PATIENCE, ..config })?)
    }

    pub(crate) fn subject(&self, entity: &str) -> Subject {
        Subject::new(&self.table, &self.namespace, entity, &self.resource)
    }
}

/// A task for a client, one line each. `peer/client.py` has a method of each name.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Task {
    /// One acquire, after which the client knows the entity.
    Debit { entity: String },
    /// Acquires for some seconds, by several clients at the same time. Each uses its entities in turn.
    Load { clients: Vec<Vec<String>>, seconds: f64 },
    /// One acquire that is measured; `cold`: by a client that has just started.
    End { entity: String, cold: bool },
    /// Decisions without the network.
    Decide { entity: String, times: u32 },
}
