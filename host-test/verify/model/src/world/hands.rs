//! Others that change the table: old writers, an operator, and the table itself.

use super::{Account, World, attribute, number};
use crate::{
    entity::stamp,
    ledger::Violation,
    setting::Setting,
    store::{Item, Landed, Value},
};

impl World {
    pub(super) fn old_write(
        &mut self,
        setting: &Setting,
        shard: u32,
        refill_ms: Option<i64>,
    ) -> Result<Option<Account>, Violation> {
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
        Ok(Some(Account { landed, said: "an old writer spends a token".into() }))
    }

    /// An operator hangs the entity under another one: its record and this item say so from now on.
    pub(super) fn restamp(&mut self, setting: &Setting, shard: u32) -> Option<Account> {
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
        Some(Account { landed, said: format!("it is under {parent} now") })
    }

    /// Whether the table may drop the item now.
    ///
    /// Six windows lie between a window's end and the expiry of an item that was used in it. They
    /// are one here, so that an expiry is to be seen at all; a call that was planned before the
    /// item's window ended is not under way for as long as that.
    pub(super) fn may_expire(&self, setting: &Setting, place: u8, item: &Item) -> bool {
        let now_ms = self.now_ms(setting);
        let expired = matches!(item.get("ttl"), Some(Value::Number(ttl)) if ttl * 1000 <= i128::from(now_ms));
        let tasks = self.clients.iter().filter_map(|client| client.task.as_ref()).map(|task| task.planned);
        let mut planned = tasks.chain(self.network.iter().map(|message| message.planned));
        let ago_ms = |instant: u8| self.ago_ms(setting, instant);
        expired && planned.all(|instant| ago_ms(instant) < setting.entity(place).length_ms())
    }

    pub(super) fn expire(&mut self, setting: &Setting, shard: u32) -> Option<Account> {
        let (place, key) = setting.numbered(shard)?;
        self.store.get(&key).filter(|item| self.may_expire(setting, place, item))?;
        self.fault();
        self.ledgers[usize::from(place)].forget(&key.0);
        self.store.remove(&key);
        Some(Account::said("the item is gone".into()))
    }
}
