//! Delivery of messages: they land, land twice, or are lost.

use super::{
    message::{Message, MessageKind},
    parse::parse,
    state::World,
    step_record::StepRecord,
};
use crate::{
    ledger::{Actor, Violation},
    setting::Setting,
};

impl World {
    /// Puts messages on their way.
    pub(super) fn send(&mut self, messages: impl IntoIterator<Item = Message>) {
        self.network.extend(messages);
        // Two worlds that differ in the order of sending only are the same world.
        self.network.sort_by(|a, b| (a.client, &a.call.body).cmp(&(b.client, &b.call.body)));
    }

    /// The client sends its call again; the first copy may land at any time later.
    pub(super) fn copy(&mut self, setting: &Setting, client: u8, index: u8) -> Option<StepRecord> {
        let task = self.clients.get(usize::from(client))?.task.as_ref()?;
        let call = task.pending().nth(index.into())?.1.clone();
        let actor = task.actor(client, &parse(setting, &call, self.clock_ms(setting, client)));
        let planned = task.planned;
        self.fault();
        self.send([Message { client, kind: MessageKind::Copy(actor), call, planned }]);
        Some(StepRecord::without_writes("gets no reply and sends its call again".into()))
    }

    /// A message lands; if it is not the last time, it stays on its way.
    pub(super) fn deliver(
        &mut self,
        setting: &Setting,
        index: u8,
        last: bool,
    ) -> Result<Option<StepRecord>, Violation> {
        let Some(message) = self.network.get(usize::from(index)).cloned() else { return Ok(None) };
        if last {
            self.network.remove(usize::from(index));
        } else if !message.may_land_twice() {
            return Ok(None);
        }
        let request = parse(setting, &message.call, self.clock_ms(setting, message.client));
        let (_, landed) = self.store.execute(&request);
        let (actor, what) = match message.kind {
            MessageKind::FollowUp => (Actor::FollowUp, "a follow-up"),
            MessageKind::Copy(actor) => (actor, "the first copy"),
            MessageKind::Credit(debit) => {
                landed.iter().try_for_each(|landed| debit.check_credit(landed))?;
                (Actor::Credit, "a credit")
            }
        };
        self.observe(setting, actor, &landed)?;
        let text = format!("{what} {}", if landed.is_empty() { "is refused" } else { "lands" });
        Ok(Some(StepRecord { landed, text }))
    }

    /// A follow-up is lost.
    pub(super) fn lose(&mut self, index: u8) -> Option<StepRecord> {
        self.network.get(usize::from(index)).filter(|message| message.is_follow_up())?;
        self.fault();
        self.network.remove(usize::from(index));
        Some(StepRecord::without_writes("it is lost".into()))
    }
}
