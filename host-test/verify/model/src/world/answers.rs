//! A client's answers: what must be true of them, and the follow-ups that they send.

use onewindow::{Call, CascadeDecision, Decision, LevelDecision, Outcome, Settlement};

use super::{
    client::Lease,
    machine::{End, Known},
    message::{Message, MessageKind},
    parse::parse,
    probe::describe,
    state::World,
    step_record::StepRecord,
};
use crate::{
    ledger::{CascadeLedger, Violation, check_instants},
    quota::number,
    setting::Setting,
    store::Landed,
};

impl World {
    /// Checks a machine's answer, and sends its follow-ups.
    pub(super) fn ended(
        &mut self,
        setting: &Setting,
        client: u8,
        end: End,
        stale: bool,
        record: &mut StepRecord,
    ) -> Result<(), Violation> {
        match end {
            End::Decision(decision) => {
                record.text = format!("{}: {}", record.text, describe(&decision.outcome));
                self.decided(setting, client, decision, stale, &record.landed)
            }
            End::Cascade(decision, ledger) => {
                record.text = format!("{}: {}", record.text, describe(&decision.outcome));
                self.cascaded(setting, client, decision, ledger)
            }
            End::Settlement(settlement) => {
                record.text = format!("{}: {settlement:?}", record.text);
                settled(&settlement)
            }
        }
    }

    fn decided(
        &mut self,
        setting: &Setting,
        client: u8,
        decision: Decision,
        stale: bool,
        landed: &[Landed],
    ) -> Result<(), Violation> {
        let planned = self.planned();
        let message =
            |call: &Call| Message { client, kind: MessageKind::FollowUp, call: call.clone(), planned };
        self.send(decision.follow_ups.iter().map(message));
        not_failed(&decision.outcome)?;
        let place = setting.asked_by(client);
        let clock_ms = self.clock_ms(setting, client);
        check_instants(setting.entity(place), clock_ms, &decision.outcome, &decision.limits)?;
        if let Outcome::Rejected { retry_after_ms } = decision.outcome {
            self.probe(setting, place, clock_ms, retry_after_ms)?;
            if !stale {
                self.check_rejection(setting, client, decision.hint.shard_count)?;
            }
        }
        let settles = self.budget.settlements > 0;
        let it = &mut self.clients[usize::from(client)];
        if let Outcome::Admitted(lease) = &decision.outcome
            && settles
        {
            let start = landed.iter().filter_map(|write| number(&write.after, "ws")).max().unwrap_or(0);
            it.lease = Some(Lease { text: lease.encode(), start });
        }
        it.learned = Some(vec![Known::of(place, decision.hint)]);
        Ok(())
    }

    /// A cascade's answer: it is checked with its ledger, and each level by itself.
    fn cascaded(
        &mut self,
        setting: &Setting,
        client: u8,
        decision: CascadeDecision,
        mut ledger: CascadeLedger,
    ) -> Result<(), Violation> {
        let (planned, clock_ms) = (self.planned(), self.clock_ms(setting, client));
        let mut messages = Vec::new();
        for call in &decision.follow_ups {
            let request = parse(setting, call, clock_ms);
            let kind = match request.credit() {
                Some((key, milli)) => MessageKind::Credit(ledger.credit_sent(key, milli)?),
                None => MessageKind::FollowUp,
            };
            messages.push(Message { client, kind, call: call.clone(), planned });
        }
        self.send(messages);
        not_failed(&decision.outcome)?;
        ledger.check(setting, &self.store, clock_ms, &decision)?;
        let mut learned = Vec::new();
        for LevelDecision { entity, limits, hint, .. } in decision.levels {
            let Some(place) = setting.place(&entity) else { continue };
            check_instants(setting.entity(place), clock_ms, &decision.outcome, &limits)?;
            learned.push(Known::of(place, hint));
        }
        if let (Outcome::Rejected { retry_after_ms }, Some(level)) =
            (&decision.outcome, learned.get(decision.decided_by))
        {
            self.probe(setting, level.place, clock_ms, *retry_after_ms)?;
        }
        self.clients[usize::from(client)].learned = Some(learned).filter(|learned| !learned.is_empty());
        Ok(())
    }
}

fn not_failed(outcome: &Outcome) -> Result<(), Violation> {
    match outcome {
        Outcome::Failed(error) => {
            Err(Violation::new("liveness", format!("an error where none was due: {error}")))
        }
        _ => Ok(()),
    }
}

fn settled(settlement: &Settlement) -> Result<(), Violation> {
    match settlement {
        Settlement::Failed(error) => {
            Err(Violation::new("liveness", format!("an error where none was due: {error}")))
        }
        _ => Ok(()),
    }
}
