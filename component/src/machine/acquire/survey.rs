//! The survey of all shards (6.2a), where the drawn one is short.

use alloc::{vec, vec::Vec};

use super::{Acquire, Next, State};
use crate::{
    item::{Attributes, Shard},
    rule::survey::{Placement, ShardSurvey},
    types::answer::Step,
    wire::Reason,
    write::{batch_read, transaction},
};

impl Acquire {
    /// Not even a materialisation of the drawn shard would admit the request.
    pub(super) fn short(&mut self, image: &Shard) -> Next {
        if self.shard_count > 1 {
            return self.survey();
        }
        let debits = self.debits.clone();
        let rejection = ShardSurvey::present(core::slice::from_ref(image), &debits, self.settings())?
            .rejection(&self.request.consume);
        Ok(self.rejected(rejection))
    }

    pub(super) fn survey(&mut self) -> Next {
        self.tries.begin_survey()?;
        let subject = &self.request.subject;
        let slots: Vec<u32> = (0..self.shard_count).collect();
        let keys = subject.bucket_keys(&slots);
        self.state = State::Surveying;
        Ok(Step::Perform(vec![batch_read(&subject.table, &keys, false)]))
    }

    pub(super) fn surveyed(&mut self, items: &[Attributes<'_>]) -> Next {
        let shards = Attributes::shards(items)?;
        let known = self.shard_count;
        self.learn_count_from(&shards);
        if self.shard_count > known {
            return self.survey();
        }
        for shard in &shards {
            self.check_served(shard)?;
        }
        self.learn_lengths(&shards);
        let debits = self.debits.clone();
        let mut survey = ShardSurvey::of(&shards, self.shard_count, &debits, self.settings())?;
        match survey.serve(&self.request.subject, self.owner.as_ref()) {
            Some(Placement::Fast(shard)) => self.fast(shard),
            Some(Placement::Locked(materialisation)) => Ok(self.locked(materialisation)),
            Some(Placement::Created(join)) => Ok(self.send_join(join, shards, true)),
            Some(Placement::Gathered(parts, writes)) => {
                self.state = State::Gathering(parts);
                Ok(Step::Perform(vec![transaction(&self.request.subject.table, &writes)]))
            }
            None => {
                let rejection = survey.rejection(&self.request.consume);
                let fits = rejection.retry_after_ms == 0 && rejection.never_fits.is_none();
                match survey.take_moving_join() {
                    // There is enough, but a donor holds tokens that must move before they can be gathered.
                    Some(join) if fits => Ok(self.send_join(join, shards, false)),
                    _ => Ok(self.rejected(rejection)),
                }
            }
        }
    }

    pub(super) fn gather_cancelled(&mut self, reasons: &[Reason<'_>]) -> Next {
        self.learn_from_reasons(reasons)?;
        self.survey()
    }
}
