//! `onewindow component`.

use std::path::PathBuf;

use anyhow::Context;
use onewindow_host::engine::component::{BINARY, INSPECT};

use super::{exit::DONE, print};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where to write it; a file that is there is replaced.
    file: PathBuf,
    /// Which world of the contract it exports.
    #[arg(long, value_enum, default_value_t = World::Quota)]
    world: World,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum World {
    /// What a host needs to enforce limits.
    Quota,
    /// The rules as pure functions, for tests and tools.
    Inspect,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<u8> {
        let file = self.file.display();
        let component = match self.world {
            World::Quota => BINARY,
            World::Inspect => INSPECT,
        };
        std::fs::write(&self.file, component)
            .with_context(|| format!("{file} cannot be written; the component is not in it"))?;
        print::line(&format!("{file}: the component, {} bytes", component.len()));
        Ok(DONE)
    }
}
