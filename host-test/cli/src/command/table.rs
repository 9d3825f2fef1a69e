//! `onewindow table`.

use onewindow_host::table::{self, Creation};

use super::{
    exit::DONE,
    print,
    store::{PATIENCE, StoreArgs},
};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Create the table and wait until it is active. Fine where it exists already.
    Create(CreateArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct CreateArgs {
    #[command(flatten)]
    store: StoreArgs,
    /// Turn the change stream on (new and old images).
    #[arg(long)]
    stream: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Command {
    pub(crate) async fn run(self) -> anyhow::Result<u8> {
        match self {
            Self::Create(args) => args.run().await,
        }
    }
}

impl CreateArgs {
    async fn run(self) -> anyhow::Result<u8> {
        let store = self.store.connect().await?;
        let creation = table::create(&store.client, &self.store.table, self.stream, PATIENCE).await?;
        let (created, did) = match creation {
            Creation::Created => (true, "created"),
            Creation::Existed => (false, "exists already, with the keys that are needed"),
        };
        if self.json {
            print::line(&serde_json::json!({ "table": self.store.table, "created": created }).to_string());
        } else {
            print::line(&format!("{} {did} ({})", self.store.table, store.place));
        }
        store.close().await?;
        Ok(DONE)
    }
}
