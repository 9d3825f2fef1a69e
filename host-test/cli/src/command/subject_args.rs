//! The arguments that `acquire` and `preview` share: the subject, the limits, the table, the form of the answer.

use std::time::Duration;

use clap::Args;
use onewindow_host::{Engine, Limit, Limiter, LimiterOptions, Subject};

use super::{
    limit::{LIMIT_HELP, limit},
    store::{EngineArgs, Store, StoreArgs},
};

/// How long a person at a terminal waits for an answer.
const DEADLINE: Duration = Duration::from_secs(15);

#[derive(Debug, Args)]
pub(crate) struct SubjectArgs {
    /// Who is limited.
    entity: String,
    /// What is used.
    resource: String,
    #[arg(long, value_name = "LIMIT", value_parser = limit, help = LIMIT_HELP)]
    limit: Vec<Limit>,
    /// The namespace id that every key starts with.
    #[arg(long, value_name = "ID", default_value = "default")]
    namespace: String,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    engine: EngineArgs,
    /// Print JSON, as the HTTP surface does.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A limiter on the table that was named, and what is asked of it.
pub(crate) struct Opened {
    pub(crate) limiter: Limiter,
    pub(crate) store: Store,
    pub(crate) subject: Subject,
    pub(crate) limits: Vec<Limit>,
}

impl SubjectArgs {
    pub(crate) async fn open(self) -> anyhow::Result<Opened> {
        let engine: Engine = self.engine.engine()?;
        let store = self.store.open().await?;
        let options = LimiterOptions { deadline: DEADLINE, ..LimiterOptions::default() };
        let limiter = Limiter::new(engine, store.client.clone(), options);
        let subject = Subject::new(&self.store.table, &self.namespace, &self.entity, &self.resource);
        Ok(Opened { limiter, store, subject, limits: self.limit })
    }
}

impl Opened {
    /// Lets the follow-ups and the embedded engine finish.
    pub(crate) async fn close(self) -> anyhow::Result<()> {
        self.limiter.flush().await;
        drop(self.limiter);
        self.store.close().await
    }
}
