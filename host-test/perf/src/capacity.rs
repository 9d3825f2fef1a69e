//! TODO

use crate::Arguments;

pub(crate) async fn run(_arguments: &Arguments) -> anyhow::Result<()> {
    Ok(())
}
