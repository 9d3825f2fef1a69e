//! Which events can happen next.

use onewindow::{Call, Resend};

use super::state::World;
use crate::{ablation::Ablation, event::Event, quota::number, setting::Setting};

impl World {
    /// What can happen next.
    #[must_use]
    pub fn events(&self, setting: &Setting) -> Vec<Event> {
        let mut events = Vec::new();
        if usize::from(self.instant) + 1 < setting.instants_ms.len() {
            events.push(Event::Tick);
        }
        for (index, client) in (0_u8..).zip(&self.clients) {
            match &client.task {
                None => {
                    if client.left > 0 {
                        let known = client.known(setting, index);
                        let draws = known.iter().map(|known| known.hint.shard_count).product();
                        events.extend((0..draws).map(|draw| Event::Start(index, draw)));
                    }
                    if client.lease.is_some() && self.budget.settlements > 0 {
                        let more = u8::try_from(setting.amount).unwrap_or(u8::MAX).saturating_add(1);
                        events.extend([Event::Settle(index, 0), Event::Settle(index, more)]);
                    }
                }
                Some(task) => {
                    for (place, (_, call)) in (0_u8..).zip(task.pending()) {
                        self.events_of_call(setting, index, place, call, &mut events);
                    }
                    if self.budget.deaths > 0 {
                        events.push(Event::Die(index));
                    }
                }
            }
        }
        for (index, message) in (0_u8..).zip(&self.network) {
            events.push(Event::Deliver(index));
            if message.may_land_twice() && self.budget.duplicates > 0 {
                events.push(Event::Duplicate(index));
            }
            if message.is_follow_up() && self.budget.follow_ups > 0 {
                events.push(Event::LoseFollowUp(index));
            }
        }
        for (key, item) in self.store.items() {
            let Some(place) = setting.owner(key) else { continue };
            let Some(id) = key.0.rsplit('#').next().and_then(|id| id.parse().ok()) else { continue };
            let shard = Setting::shard_number(place, id);
            if self.budget.old > 0 && number(item, "tk").is_some_and(|tokens| tokens >= 1000) {
                events.push(Event::OldFast(shard));
                events.extend(
                    setting.old_skews_ms.iter().map(|skew_ms| Event::OldMaterialisation(shard, *skew_ms)),
                );
            }
            if self.budget.expiries > 0 && self.may_expire(setting, place, item) {
                events.push(Event::Expire(shard));
            }
            if self.budget.restamps > 0 && setting.entity(place).next_parent.is_some() {
                events.push(Event::Restamp(shard));
            }
        }
        events
    }

    fn events_of_call(&self, setting: &Setting, client: u8, place: u8, call: &Call, events: &mut Vec<Event>) {
        events.push(Event::Land(client, place));
        if call.operation == "BatchGetItem" {
            let may_be_stale =
                setting.ablation == Ablation::ConsistentRead || !call.body.contains("ConsistentRead");
            if self.budget.stale > 0 && may_be_stale {
                events.push(Event::LandStale(client, place));
            }
        } else {
            if self.budget.replies > 0 {
                events.push(Event::LoseReply(client, place));
                if call.resend != Resend::Never {
                    events.push(Event::Resend(client, place));
                }
            }
            if self.budget.copies > 0 && call.resend != Resend::Never {
                events.push(Event::Copy(client, place));
            }
        }
    }
}
