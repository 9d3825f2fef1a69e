//! `onewindow acquire`.

use onewindow_host::{AcquireRequest, Amount, Outcome};
use onewindow_surface::http::Document;

use super::{
    exit::{DONE, FAULT, REJECTED},
    limit::amount,
    print,
    subject_args::SubjectArgs,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    subject_args: SubjectArgs,
    /// The tokens to acquire, all or nothing: NAME=TOKENS, such as session=1.
    #[arg(required = true, value_name = "NAME=TOKENS", value_parser = amount)]
    consume: Vec<Amount>,
}

impl Args {
    pub(crate) async fn run(self) -> anyhow::Result<u8> {
        let json = self.subject_args.json;
        let opened = self.subject_args.open().await?;
        let request = AcquireRequest {
            subject: opened.subject.clone(),
            consume: self.consume.clone(),
            limits: opened.limits.clone(),
            ..AcquireRequest::default()
        };
        let answer = opened.limiter.acquire(request).await;
        if json {
            print::line(&Document::of_decision(&self.consume, &answer.decision, answer.degraded).to_json());
        } else {
            print::answer(&opened.subject, &answer, opened.limiter.options().clock.now_ms());
        }
        opened.close().await?;
        Ok(match answer.decision.outcome {
            Outcome::Admitted(_) => DONE,
            Outcome::Rejected { .. }
            | Outcome::Contended { .. }
            | Outcome::NeverFits { .. }
            | Outcome::Disabled => REJECTED,
            Outcome::Failed(_) | Outcome::Unavailable(_) | Outcome::Misconfigured(_) => FAULT,
        })
    }
}
