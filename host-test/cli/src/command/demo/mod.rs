//! `onewindow demo`: a session, played through real HTTP against a real engine on loopback, with a
//! clock that jumps.

mod stage;
mod story;
mod timeline;

use clap::Args as ClapArgs;

use super::{DONE, store::EngineArgs};

/// Play a session and show what happens to its shards.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(flatten)]
    engine: EngineArgs,
    /// Do not wait for the reader between lines. A pipe is never waited for.
    #[arg(long)]
    fast: bool,
    /// Print one JSON object a line: `event`, `chapter`, and what belongs to the event.
    #[arg(long)]
    json: bool,
}

impl Args {
    pub(crate) async fn run(self) -> anyhow::Result<u8> {
        let stage = stage::Stage::new(self.json, self.fast);
        story::Story::begin(stage, self.engine.engine()?, self.engine.name()).await?.tell().await?;
        Ok(DONE)
    }
}
