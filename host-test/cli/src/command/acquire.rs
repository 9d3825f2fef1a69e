//! `onewindow acquire`.

use onewindow_host::{AcquireRequest, Amount, Outcome};
use onewindow_surface::http::Document;

use super::{
    exit::{DONE, FAULT, REJECTED},
    limit::amount,
    print,
    question::QuestionArgs,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    question: QuestionArgs,
    /// The tokens to acquire, all or nothing: NAME=TOKENS, such as session=1.
    #[arg(required = true, value_name = "NAME=TOKENS", value_parser = amount)]
    consume: Vec<Amount>,
}

impl Args {
    pub(crate) async fn run(self) -> anyhow::Result<u8> {
        let json = self.question.json;
        let question = self.question.open().await?;
        let request = AcquireRequest {
            subject: question.subject.clone(),
            consume: self.consume.clone(),
            limits: question.limits.clone(),
            ..AcquireRequest::default()
        };
        let answer = question.limiter.acquire(request).await;
        if json {
            print::line(&Document::of_decision(&self.consume, &answer.decision, answer.degraded).to_json());
        } else {
            print::answer(&question.subject, &answer, question.limiter.options().clock.now_ms());
        }
        question.close().await?;
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
