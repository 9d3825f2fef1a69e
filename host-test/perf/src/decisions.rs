//! TODO

use crate::Arguments;

pub(crate) fn run(_arguments: &Arguments) -> anyhow::Result<()> {
    Ok(())
}
