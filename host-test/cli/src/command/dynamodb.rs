//! `onewindow dynamodb`.

use std::net::SocketAddr;

use anyhow::Context;
use onewindow_host::{Client, Embedded, table};
use tokio::net::TcpListener;

use super::{exit::DONE, print, stop::stop_signal, store::PATIENCE};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The address to listen on; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8000")]
    listen: SocketAddr,
    /// The table that is made in it.
    #[arg(long, default_value = "onewindow")]
    table: String,
}

impl Args {
    pub(crate) async fn run(self) -> anyhow::Result<u8> {
        let listener = TcpListener::bind(self.listen)
            .await
            .with_context(|| format!("{} cannot be listened on", self.listen))?;
        let database = Embedded::in_memory_on(listener)?;
        table::create(&Client::new(database.client_config())?, &self.table, false, PATIENCE).await?;
        print::listening(database.address(), &self.table);
        stop_signal()?.await;
        database.stop().await?;
        Ok(DONE)
    }
}
