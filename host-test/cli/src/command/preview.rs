//! `onewindow preview`.

use onewindow_host::PreviewOutcome;
use onewindow_surface::http::Document;

use super::{
    exit::{DONE, FAULT},
    print,
    question::QuestionArgs,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    question: QuestionArgs,
}

impl Args {
    pub(crate) async fn run(self) -> anyhow::Result<u8> {
        let json = self.question.json;
        let question = self.question.open().await?;
        let previewed = question.limiter.preview(question.subject.clone(), question.limits.clone()).await;
        if json {
            print::line(&Document::of_preview(&question.subject, &previewed.outcome).to_json());
        } else {
            print::preview(&question.subject, &previewed, question.limiter.options().clock.now_ms());
        }
        question.close().await?;
        Ok(if matches!(previewed.outcome, PreviewOutcome::Report(_)) { DONE } else { FAULT })
    }
}
