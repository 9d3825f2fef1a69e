//! Calls on their way that nobody waits for.

use onewindow::{Call, Resend};

use super::{Account, World, parse};
use crate::{
    ledger::{Actor, Violation},
    setting::Setting,
    tab::Debit,
};

/// A call on its way that nobody waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Message {
    pub(super) client: u8,
    pub(super) kind: Kind,
    pub(super) call: Call,
    /// The instant it was planned at.
    pub(super) planned: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// Made after an answer.
    FollowUp,
    /// Made after the answer of a cascade: it gives this back.
    Credit(Debit),
    /// Taken for lost, and sent again meanwhile.
    Copy(Actor),
}

impl Message {
    pub(super) fn is_follow_up(&self) -> bool {
        !matches!(self.kind, Kind::Copy(_))
    }

    /// A host sends nothing twice that must not be.
    pub(super) fn may_land_twice(&self) -> bool {
        self.is_follow_up() && self.call.resend != Resend::Never
    }
}

impl World {
    pub(super) fn send(&mut self, messages: impl IntoIterator<Item = Message>) {
        self.network.extend(messages);
        // Which of two equal worlds sent them first makes no difference.
        self.network.sort_by(|a, b| (a.client, &a.call.body).cmp(&(b.client, &b.call.body)));
    }

    /// The client's call is sent again; the copy on its way may land whenever it likes.
    pub(super) fn copy(&mut self, setting: &Setting, client: u8, index: u8) -> Option<Account> {
        let task = self.clients.get(usize::from(client))?.task.as_ref()?;
        let call = task.pending().nth(index.into())?.1.clone();
        let actor = task.actor(client, &parse(setting, &call, self.clock_ms(setting, client)));
        let planned = task.planned;
        self.fault();
        self.send([Message { client, kind: Kind::Copy(actor), call, planned }]);
        Some(Account::said("waits in vain and sends its call again".into()))
    }

    pub(super) fn deliver(
        &mut self,
        setting: &Setting,
        index: u8,
        last: bool,
    ) -> Result<Option<Account>, Violation> {
        let Some(message) = self.network.get(usize::from(index)).cloned() else { return Ok(None) };
        if last {
            self.network.remove(usize::from(index));
        } else if !message.may_land_twice() {
            return Ok(None);
        }
        let request = parse(setting, &message.call, self.clock_ms(setting, message.client));
        let (_, landed) = self.store.execute(&request);
        let (actor, what) = match message.kind {
            Kind::FollowUp => (Actor::FollowUp, "a follow-up"),
            Kind::Copy(actor) => (actor, "the first copy"),
            Kind::Credit(debit) => {
                landed.iter().try_for_each(|landed| debit.check_credit(landed))?;
                (Actor::GiveBack, "a credit")
            }
        };
        self.observe(setting, actor, &landed)?;
        let said = format!("{what} {}", if landed.is_empty() { "is refused" } else { "lands" });
        Ok(Some(Account { landed, said }))
    }

    pub(super) fn lose(&mut self, index: u8) -> Option<Account> {
        self.network.get(usize::from(index)).filter(|message| message.is_follow_up())?;
        self.fault();
        self.network.remove(usize::from(index));
        Some(Account::said("it is lost".into()))
    }
}
