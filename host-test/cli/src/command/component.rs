//! `onewindow component`.

use std::path::PathBuf;

use anyhow::Context;
use onewindow_host::engine::component::BINARY;

use super::{exit::DONE, print};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where to write it; a file that is there is replaced.
    file: PathBuf,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<u8> {
        let file = self.file.display();
        std::fs::write(&self.file, BINARY)
            .with_context(|| format!("{file} cannot be written; the component is not in it"))?;
        print::line(&format!("{file}: the component, {} bytes", BINARY.len()));
        Ok(DONE)
    }
}
