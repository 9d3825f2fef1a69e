//! `onewindow preview`.

use onewindow_host::PreviewOutcome;
use onewindow_surface::http::Document;

use super::{
    exit::{DONE, FAULT},
    print,
    subject_args::SubjectArgs,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    subject_args: SubjectArgs,
}

impl Args {
    pub(crate) async fn run(self) -> anyhow::Result<u8> {
        let json = self.subject_args.json;
        let opened = self.subject_args.open().await?;
        let previewed = opened.limiter.preview(opened.subject.clone(), opened.limits.clone()).await;
        if json {
            print::line(&Document::of_preview(&opened.subject, &previewed.outcome).to_json());
        } else {
            print::preview(&opened.subject, &previewed, opened.limiter.options().clock.now_ms());
        }
        opened.close().await?;
        Ok(if matches!(previewed.outcome, PreviewOutcome::Report(_)) { DONE } else { FAULT })
    }
}
