//! Others that change the table: old writers, an operator, and the table's own expiry.

use super::{state::World, step_record::StepRecord};
use crate::{
    ledger::Violation,
    parent::stamp,
    quota::{attribute, number},
    setting::Setting,
    store::{Item, Landed, Value},
};

impl World {
    pub(super) fn old_write(
        &mut self,
        setting: &Setting,
        shard: u32,
        refill_ms: Option<i64>,
    ) -> Result<Option<StepRecord>, Violation> {
        let Some((place, key)) = setting.numbered(shard) else { return Ok(None) };
        let Some(before) = self.store.get(&key).cloned() else { return Ok(None) };
        let tokens = number(&before, "tk").unwrap_or(0);
        if tokens < 1000 {
            return Ok(None);
        }
        self.fault();
        let mut after = (*before).clone();
        after.insert(attribute("tk"), Value::Number(tokens - 1000));
        after.insert(attribute("tc"), Value::Number(number(&before, "tc").unwrap_or(0) + 1000));
        if let Some(refill_ms) = refill_ms {
            after.insert("rf".into(), Value::Number(refill_ms.into()));
            after.remove("vu");
        }
        self.store.insert(key.clone(), after);
        let after = self.store.get(&key).cloned().unwrap_or_default();
        let landed = vec![Landed { key, before: Some(before), after }];
        self.ledgers[usize::from(place)].observe_old(&landed);
        Ok(Some(StepRecord { landed, text: "an old writer spends a token".into() }))
    }

    /// An operator changes the entity's parent: its record and this item name the next one from now on.
    pub(super) fn restamp(&mut self, setting: &Setting, shard: u32) -> Option<StepRecord> {
        let (place, key) = setting.numbered(shard)?;
        let entity = setting.entity(place);
        let parent = setting.entity(entity.next_parent?).name;
        let before = self.store.get(&key)?.clone();
        let record = self.store.get(&entity.record_key()).map(|record| (**record).clone());
        for (key, item) in [(key.clone(), Some((*before).clone())), (entity.record_key(), record)] {
            let Some(mut item) = item else { continue };
            stamp(&mut item, parent);
            self.store.insert(key, item);
        }
        let after = self.store.get(&key).cloned().unwrap_or_default();
        let landed = vec![Landed { key, before: Some(before), after }];
        Some(StepRecord { landed, text: format!("its parent is {parent} now") })
    }

    /// Whether the table may drop the item now.
    ///
    /// An item expires six windows after the end of the window in which it was last used. Here it is
    /// one, so that expiries happen at all. No call is on its way for longer than that.
    pub(super) fn may_expire(&self, setting: &Setting, place: u8, item: &Item) -> bool {
        let now_ms = self.now_ms(setting);
        let expired = matches!(item.get("ttl"), Some(Value::Number(ttl)) if ttl * 1000 <= i128::from(now_ms));
        let tasks = self.clients.iter().filter_map(|client| client.task.as_ref()).map(|task| task.planned);
        let mut planned = tasks.chain(self.network.iter().map(|message| message.planned));
        let ago_ms = |instant: u8| self.ago_ms(setting, instant);
        expired && planned.all(|instant| ago_ms(instant) < setting.entity(place).length_ms())
    }

    pub(super) fn expire(&mut self, setting: &Setting, shard: u32) -> Option<StepRecord> {
        let (place, key) = setting.numbered(shard)?;
        self.store.get(&key).filter(|item| self.may_expire(setting, place, item))?;
        self.fault();
        self.ledgers[usize::from(place)].forget(&key.0);
        self.store.remove(&key);
        Some(StepRecord::without_writes("the item is dropped".into()))
    }
}
