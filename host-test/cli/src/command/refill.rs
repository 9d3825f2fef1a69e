//! `onewindow refill`.

use std::time::Duration;

use anyhow::Context as _;
use onewindow_host::{Client, ClientConfig, Clock, Credentials, refill::Refiller};

/// Consumes the stream of a table until it is stopped.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The table's endpoint: a URL, or `aws` for AWS's own of the region. Credentials are read
    /// from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN.
    #[arg(long, value_name = "URL")]
    endpoint: String,
    /// The region to sign for.
    #[arg(long, env = "AWS_REGION", default_value = "us-east-1")]
    region: String,
    /// The table. It needs a stream of new and old images.
    #[arg(long, default_value = "onewindow")]
    table: String,
    /// How long to rest where there was nothing new, milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 250)]
    pause_ms: u64,
}

impl Args {
    pub(crate) async fn run(self) -> anyhow::Result<u8> {
        let client = |aws: String| {
            let endpoint = if self.endpoint == "aws" { aws } else { self.endpoint.clone() };
            Ok::<_, anyhow::Error>(Client::new(ClientConfig {
                attempt_timeout: Duration::from_secs(5),
                ..ClientConfig::new(endpoint, &self.region, Credentials::from_env()?)
            })?)
        };
        let table = client(format!("https://dynamodb.{}.amazonaws.com", self.region))?;
        let streams = client(format!("https://streams.dynamodb.{}.amazonaws.com", self.region))?;
        let mut refiller = Refiller::open(table, streams, &self.table, Clock::System).await?;
        let never = refiller.run(Duration::from_millis(self.pause_ms)).await;
        match never.context("the stream can no longer be read")? {}
    }
}
