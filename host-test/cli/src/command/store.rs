//! The options for the table and the engine, which every subcommand shares.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, bail};
use clap::Args;
use onewindow_host::{Client, ClientConfig, Credentials, Embedded, Engine, table};

/// How long the table may take to become active.
pub(crate) const PATIENCE: Duration = Duration::from_secs(180);

/// How long one reply may take for a person at a terminal; the table may be far away.
const FAR_AWAY: Duration = Duration::from_secs(5);

#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    /// The table's endpoint: a URL, or `aws` for AWS's own of the region. Credentials are read
    /// from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN.
    #[arg(long, value_name = "URL", conflicts_with = "data")]
    endpoint: Option<String>,
    /// Use the embedded DynamoDB, and keep its data in this file.
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// The region to sign for.
    #[arg(long, env = "AWS_REGION", default_value = "us-east-1")]
    region: String,
    /// The table.
    #[arg(long, default_value = "onewindow")]
    pub(crate) table: String,
}

#[derive(Debug, Args)]
pub(crate) struct EngineArgs {
    /// Run the core as linked into this program, not as a WebAssembly component.
    #[arg(long)]
    native: bool,
}

/// A table that can be asked.
pub(crate) struct Store {
    pub(crate) client: Client,
    /// Its name for people.
    pub(crate) place: String,
    embedded: Option<Embedded>,
}

impl StoreArgs {
    /// The store of a command that runs once. Its data must outlive this process, and it may be far away.
    pub(crate) async fn connect(&self) -> anyhow::Result<Store> {
        match (&self.endpoint, &self.data) {
            (Some(endpoint), _) => Store::remote(ClientConfig {
                connect_timeout: FAR_AWAY,
                attempt_timeout: FAR_AWAY,
                ..self.config(endpoint)?
            }),
            (None, Some(file)) => Store::in_file(file).await,
            (None, None) => {
                bail!("no table was named, expected --endpoint URL, --endpoint aws or --data FILE")
            }
        }
    }

    /// The store of a command that runs once, with the table. An embedded engine has the table from the start.
    pub(crate) async fn open(&self) -> anyhow::Result<Store> {
        self.ready(self.connect().await?).await
    }

    /// The store of a server whose attempts take at most this long. Where no table is named, it is in memory.
    pub(crate) async fn open_to_serve(&self, attempt_timeout: Duration) -> anyhow::Result<Store> {
        let store = match (&self.endpoint, &self.data) {
            (Some(endpoint), _) => Store::remote(ClientConfig { attempt_timeout, ..self.config(endpoint)? }),
            (None, Some(file)) => Store::in_file(file).await,
            (None, None) => Store::in_memory().await,
        };
        self.ready(store?).await
    }

    fn config(&self, endpoint: &str) -> anyhow::Result<ClientConfig> {
        let credentials = Credentials::from_env()?;
        Ok(match endpoint {
            "aws" => ClientConfig::aws(&self.region, credentials),
            url => ClientConfig::new(url, &self.region, credentials),
        })
    }

    async fn ready(&self, store: Store) -> anyhow::Result<Store> {
        if store.embedded.is_some() {
            table::create(&store.client, &self.table, false, PATIENCE).await?;
        }
        Ok(store)
    }
}

impl Store {
    fn remote(config: ClientConfig) -> anyhow::Result<Self> {
        let place = config.endpoint.clone();
        Ok(Self { client: Client::new(config)?, place, embedded: None })
    }

    async fn in_file(file: &Path) -> anyhow::Result<Self> {
        let place = format!("the embedded DynamoDB, in {}", file.display());
        Self::embedded(Embedded::in_file(file).await?, place)
    }

    async fn in_memory() -> anyhow::Result<Self> {
        Self::embedded(Embedded::in_memory().await?, "the embedded DynamoDB, in memory".into())
    }

    fn embedded(embedded: Embedded, place: String) -> anyhow::Result<Self> {
        Ok(Self { client: Client::new(embedded.client_config())?, place, embedded: Some(embedded) })
    }

    /// Lets the embedded engine finish, where there is one.
    pub(crate) async fn close(self) -> anyhow::Result<()> {
        drop(self.client);
        match self.embedded {
            Some(embedded) => embedded.stop().await.context("while stopping the embedded DynamoDB"),
            None => Ok(()),
        }
    }
}

impl EngineArgs {
    pub(crate) fn engine(&self) -> anyhow::Result<Engine> {
        if self.native { Ok(Engine::native()) } else { Ok(Engine::component()?) }
    }

    /// Its name for people.
    pub(crate) fn name(&self) -> &'static str {
        if self.native { "linked natively" } else { "a WebAssembly component" }
    }
}
