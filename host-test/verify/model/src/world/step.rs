//! Makes an event happen.

use super::{calls::Delivery, state::World, step_record::StepRecord};
use crate::{
    event::Event,
    ledger::Violation,
    setting::{Setting, spend},
    time::since_start,
};

impl World {
    /// Makes an event happen; none: it cannot happen here.
    ///
    /// # Errors
    /// The invariant it breaks.
    pub fn step(&mut self, setting: &Setting, event: Event) -> Result<Option<StepRecord>, Violation> {
        let can_happen = match event {
            Event::LandStale(..) => spend(&mut self.budget.stale),
            Event::Resend(..) | Event::LoseReply(..) => spend(&mut self.budget.replies),
            Event::Copy(..) => spend(&mut self.budget.copies),
            Event::Die(_) => spend(&mut self.budget.deaths),
            Event::Duplicate(_) => spend(&mut self.budget.duplicates),
            Event::LoseFollowUp(_) => spend(&mut self.budget.follow_ups),
            Event::OldFast(_) | Event::OldMaterialisation(..) => spend(&mut self.budget.old),
            Event::Expire(_) => spend(&mut self.budget.expiries),
            Event::Settle(..) => spend(&mut self.budget.settlements),
            Event::Restamp(_) => spend(&mut self.budget.restamps),
            Event::Tick | Event::Start(..) | Event::Land(..) | Event::Deliver(_) => true,
        };
        if !can_happen {
            return Ok(None);
        }
        match event {
            Event::Tick => Ok(self.tick(setting)),
            Event::Start(client, shard) => Ok(self.start(setting, client, shard)),
            Event::Settle(client, used) => self.settle(setting, client, used),
            Event::Land(client, call) => self.land(setting, client, call, Delivery::Once),
            Event::LandStale(client, call) => self.land(setting, client, call, Delivery::Stale),
            Event::Resend(client, call) => self.land(setting, client, call, Delivery::Twice),
            Event::LoseReply(client, call) => self.land(setting, client, call, Delivery::Unanswered),
            Event::Copy(client, call) => Ok(self.copy(setting, client, call)),
            Event::Die(client) => Ok(self.die(client)),
            Event::Deliver(index) => self.deliver(setting, index, true),
            Event::Duplicate(index) => self.deliver(setting, index, false),
            Event::LoseFollowUp(index) => Ok(self.lose(index)),
            Event::OldFast(shard) => self.old_write(setting, shard, None),
            Event::OldMaterialisation(shard, skew_ms) => {
                self.old_write(setting, shard, Some(self.now_ms(setting) + i64::from(skew_ms)))
            }
            Event::Expire(shard) => Ok(self.expire(setting, shard)),
            Event::Restamp(shard) => Ok(self.restamp(setting, shard)),
        }
    }

    fn tick(&mut self, setting: &Setting) -> Option<StepRecord> {
        if usize::from(self.instant) + 1 >= setting.instants_ms.len() {
            return None;
        }
        self.instant += 1;
        Some(StepRecord::without_writes(format!("the clock reads {}", since_start(self.now_ms(setting)))))
    }
}
