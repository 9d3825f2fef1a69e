//! A client's calls: it begins a request or a settlement, its calls land, it goes on or dies.

use onewindow::{Amount, Reply, Settle, Step};

use super::{
    client::{Sent, Task},
    machine::{Machine, clock},
    parse::parse,
    state::World,
    step_record::StepRecord,
};
use crate::{
    ablation::Ablation,
    ledger::{CascadeLedger, LevelReply, Violation},
    quota::{LIMIT, TABLE},
    setting::Setting,
    store::{Landed, Request},
};

/// How a call lands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    Once,
    /// A read, answered from the items as they were one write ago.
    Stale,
    /// Twice: the first reply was lost.
    Twice,
    /// Once, and its reply is lost.
    Unanswered,
}

impl World {
    /// A client begins a request, with the shards that the number `draw` stands for.
    pub(super) fn start(&mut self, setting: &Setting, client: u8, draw: u32) -> Option<StepRecord> {
        let it = self.clients.get(usize::from(client))?;
        if it.task.is_some() || it.left == 0 {
            return None;
        }
        let known = it.known(setting, client);
        let mut rest = draw;
        let mut shards = Vec::new();
        for known in &known {
            shards.push(rest % known.hint.shard_count);
            rest /= known.hint.shard_count;
        }
        if rest > 0 {
            return None;
        }
        let now_ms = clock(self.clock_ms(setting, client));
        let (machine, calls) = Machine::begin(setting, &known, &shards, now_ms)?;
        let planned = self.planned();
        let it = &mut self.clients[usize::from(client)];
        it.left -= 1;
        it.task = Some(Task::boxed(machine, calls, planned));
        let drawn = known
            .iter()
            .zip(shards)
            .map(|(known, shard)| format!("{} shard {shard}", setting.entity(known.place).name));
        let drawn = drawn.collect::<Vec<_>>().join(", ");
        Some(StepRecord::without_writes(format!("asks for {} and draws {drawn}", setting.amount)))
    }

    /// A client settles its lease: it used this many tokens.
    pub(super) fn settle(
        &mut self,
        setting: &Setting,
        client: u8,
        used: u8,
    ) -> Result<Option<StepRecord>, Violation> {
        let Some(it) = self.clients.get_mut(usize::from(client)) else { return Ok(None) };
        if it.task.is_some() {
            return Ok(None);
        }
        let Some(lease) = it.lease.take() else { return Ok(None) };
        let place = setting.asked_by(client);
        self.ledgers[usize::from(place)].allow_credit(client, lease.start, i128::from(setting.amount) * 1000);
        let actual = vec![Amount::new(LIMIT, u64::from(used))];
        let mut machine = Machine::Settle(Settle::new(TABLE, &lease.text, actual));
        let mut record = StepRecord::without_writes(format!("settles: it used {used}"));
        match machine.advance(clock(self.clock_ms(setting, client)), &[]) {
            Step::Perform(calls) => {
                let task = Task::boxed(machine, calls, self.planned());
                self.clients[usize::from(client)].task = Some(task);
            }
            Step::Done(end) => self.ended(setting, client, end, false, &mut record)?,
        }
        Ok(Some(record))
    }

    /// A client dies, and what it had not sent is lost.
    pub(super) fn die(&mut self, client: u8) -> Option<StepRecord> {
        self.clients.get_mut(usize::from(client))?.task.take()?;
        self.fault();
        self.network.retain(|message| message.client != client || !message.is_follow_up());
        Some(StepRecord::without_writes("it dies".into()))
    }

    /// A call lands, and its reply arrives or is lost.
    pub(super) fn land(
        &mut self,
        setting: &Setting,
        client: u8,
        index: u8,
        delivery: Delivery,
    ) -> Result<Option<StepRecord>, Violation> {
        let task = self.clients.get(usize::from(client)).and_then(|it| it.task.as_ref());
        let pending = task.and_then(|task| task.pending().nth(index.into()));
        let Some((at, call)) = pending.map(|(at, call)| (at, call.clone())) else { return Ok(None) };
        let Some(mut task) = self.clients[usize::from(client)].task.take() else { return Ok(None) };
        let request = parse(setting, &call, self.clock_ms(setting, client));
        let mut record = StepRecord::default();
        let mut reply = Reply::Failed("no reply".into());
        let mut landed = Vec::new();
        for _ in 0..if delivery == Delivery::Twice { 2 } else { 1 } {
            (reply, landed) = match (&*request, delivery) {
                (Request::Read { keys, .. }, Delivery::Stale) => (self.store.stale_read(keys), Vec::new()),
                (request, _) => self.store.execute(request),
            };
            self.observe(setting, task.actor(client, &request), &landed)?;
            record.landed.extend(landed.clone());
        }
        if let Machine::Cascade(_, ledger) = &mut task.machine {
            self.record_reply(setting, client, ledger, &request, &landed, delivery)?;
        }
        let lands = if record.landed.is_empty() { "reads or is refused" } else { "lands" };
        record.text = format!("{} {lands}", call.operation);
        if matches!(delivery, Delivery::Twice | Delivery::Unanswered) {
            self.fault();
        }
        if delivery == Delivery::Unanswered {
            record.text.push_str(", the reply is lost");
            reply = Reply::Failed("no reply".into());
        }
        task.calls[at] = Sent::Answered(reply);
        match task.replies() {
            Some(replies) => {
                let stale = delivery == Delivery::Stale;
                self.advance(setting, client, *task, &replies, stale, &mut record)?;
            }
            None => self.clients[usize::from(client)].task = Some(task),
        }
        Ok(Some(record))
    }

    /// Records in a cascade's ledger the reply to one of its calls.
    fn record_reply(
        &self,
        setting: &Setting,
        client: u8,
        ledger: &mut CascadeLedger,
        request: &Request,
        landed: &[Landed],
        delivery: Delivery,
    ) -> Result<(), Violation> {
        let answered = delivery != Delivery::Unanswered;
        if request.credit().is_some() {
            if landed.is_empty() && !answered {
                ledger.refusal_lost();
            }
            return ledger.record(landed).map(drop);
        }
        let Some(place) = request.keys().first().and_then(|key| setting.owner(key)) else { return Ok(()) };
        let reply = if !answered {
            LevelReply::Lost
        } else if ledger.record(landed)? {
            LevelReply::Debited
        } else if delivery != Delivery::Stale && self.holds_enough(setting, client, place) {
            LevelReply::Enough
        } else {
            LevelReply::Short
        };
        ledger.replied(place, reply);
        Ok(())
    }

    fn advance(
        &mut self,
        setting: &Setting,
        client: u8,
        mut task: Task,
        replies: &[Reply],
        stale: bool,
        record: &mut StepRecord,
    ) -> Result<(), Violation> {
        let calls = match task.machine.advance(clock(self.clock_ms(setting, client)), replies) {
            Step::Perform(calls) => calls,
            Step::Done(end) => return self.ended(setting, client, end, stale, record),
        };
        let is_survey = matches!(task.machine, Machine::Acquire(_))
            && calls
                .iter()
                .any(|call| call.operation == "BatchGetItem" && !call.body.contains("ConsistentRead"));
        if setting.ablation == Ablation::ShardSurvey && is_survey {
            record.text.push_str(": rejected without a survey of the other shards");
            let shard_count = setting.entity(setting.asked_by(client)).shard_count;
            return self.check_rejection(setting, client, shard_count);
        }
        self.clients[usize::from(client)].task = Some(Task::boxed(task.machine, calls, self.planned()));
        Ok(())
    }
}
