//! The fast write (6.1), and why it was refused.

use super::{Acquire, Next, State, Stop};
use crate::{
    item::{Attributes, Owner, Shard},
    rule::{
        fast::{self, Obstacle},
        materialise::{Debit, Materialisation},
    },
    types::{
        answer::Outcome,
        error::{Corrupt, Error},
    },
    write::Images,
};

impl Acquire {
    pub(super) fn fast(&mut self, shard: u32) -> Next {
        self.tries.begin_round()?;
        self.state = State::Fast { shard };
        let write = fast::write(&self.request.subject, shard, &self.debits, &self.settings());
        Ok(self.perform(&write))
    }

    pub(super) fn fast_landed(&mut self, image: &Attributes<'_>) -> Next {
        let after = image.shard().map_err(Corrupt::after_landing)?;
        self.learn_count_from([&after]);
        self.restamp(&after);
        let debits = self.debits.clone();
        Ok(self.admitted_on(&[(after, debits)]))
    }

    /// A changed window length holds from the next request on (R1): an item that stores another is
    /// materialised after the answer.
    fn restamp(&mut self, image: &Shard) {
        let differs = |debit: &Debit| {
            let stored = image.limit(&debit.limit).and_then(|limit| limit.reset_after_seconds);
            debit.length_seconds.is_some() && debit.length_seconds != stored
        };
        if !self.debits.iter().any(differs) {
            return;
        }
        // A window is never opened here, because nothing would propagate it.
        let materialisation = Materialisation::of(image, &self.settings()).ok();
        if let Some(materialisation) = materialisation.filter(|planned| planned.opened().is_empty()) {
            let write = materialisation.write(&self.request.subject, &Owner::default(), &[]);
            self.follow_ups.push(write.call(&self.request.subject.table, Images::Neither));
        }
    }

    /// Why the fast write failed, from the image that came back (section 6).
    pub(super) fn fast_refused(&mut self, shard: u32, image: Option<&Attributes<'_>>) -> Next {
        let Some(image) = image else { return self.create(shard) };
        let image = image.shard()?;
        self.learn_count_from([&image]);
        self.learn_lengths(core::slice::from_ref(&image));
        self.check_served(&image)?;
        let obstacle = fast::obstacle(&image, &self.debits, &self.settings());
        match obstacle {
            // The item changed in between.
            None => return self.fast(shard),
            Some(Obstacle::Unseeded) => return self.seed(shard, image),
            Some(Obstacle::Due | Obstacle::Short | Obstacle::Wcu) => {}
        }
        let materialisation = Materialisation::of(&image, &self.settings())?;
        if !materialisation.admits(&self.debits) {
            return self.short(&image);
        }
        if obstacle == Some(Obstacle::Wcu) && self.is_outgrown(&materialisation) && self.may_double(&image) {
            return Ok(self.double(shard, &image, None));
        }
        Ok(self.locked(materialisation))
    }

    /// A limit that is a quota on the items is a quota, even where a configuration that may be old says
    /// otherwise (R15). Its window gates the debit, and a later credit.
    pub(super) fn learn_lengths(&mut self, shards: &[Shard]) {
        if self.request.authoritative {
            return;
        }
        for debit in self.debits.iter_mut().filter(|debit| debit.length_seconds.is_none()) {
            debit.length_seconds =
                shards.iter().find_map(|shard| shard.limit(&debit.limit)?.reset_after_seconds);
        }
    }

    /// Refuses a shard that is switched off, or that debits another parent than expected.
    pub(super) fn check_served(&self, shard: &Shard) -> Next<()> {
        if shard.disabled {
            return Err(Outcome::Disabled.into());
        }
        self.check_parent(shard.cascade, shard.parent_id.as_deref())
    }

    /// Refuses an item that debits another parent than expected (section 7).
    pub(super) fn check_parent(&self, cascade: bool, parent: Option<&str>) -> Next<()> {
        let found = parent.filter(|_| cascade);
        if found.is_none() && cascade {
            let cause = "the item debits a parent as well (cascade), and names none";
            return Err(Error::unsupported(cause).into());
        }
        if found == self.parent.as_deref() { Ok(()) } else { Err(Stop::OtherParent(found.map(Into::into))) }
    }
}
