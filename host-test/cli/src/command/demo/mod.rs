//! `onewindow demo`: plays a session over HTTP against the embedded engine on loopback, with a virtual
//! clock. Every run prints the same.

mod chart;
mod gate;
mod output;
mod scenes;
mod session;
mod summary;
mod words;

use clap::Args as ClapArgs;

use super::{exit::DONE, store::EngineArgs};

/// Play a session and show what happens to its shards.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(flatten)]
    engine: EngineArgs,
    /// Do not pause between lines. There are no pauses where the output is not a terminal.
    #[arg(long)]
    fast: bool,
    /// Print one JSON object a line: `event`, `scene`, and the fields of the event.
    #[arg(long)]
    json: bool,
}

impl Args {
    pub(crate) async fn run(self) -> anyhow::Result<u8> {
        let output = output::Output::new(self.json, self.fast);
        let mut session = session::Session::start(output, self.engine.engine()?).await?;
        scenes::play(&mut session, self.engine.name()).await?;
        summary::print(&session).await?;
        session.stop().await?;
        Ok(DONE)
    }
}
