//! The doubling of the shard count (6.9).

use alloc::{borrow::Cow, sync::Arc, vec, vec::Vec};

use super::{Acquire, Next, State, draw};
use crate::{
    item::{Attributes, Field, LimitState, Shard},
    rule::{
        balance::share,
        fast,
        grant::grant_count,
        materialise::{LimitMaterialisation, Materialisation},
        shard_count,
    },
    types::{answer::Step, key::STATE_SK, subject::MAX_SHARD_COUNT},
    write::{Action, Change, Clauses, ConditionalWrite, Images, Term, Test},
};

impl Acquire {
    /// A spent write budget refills with the time since the last materialisation. More shards are needed
    /// where the refill is less than one write. They are also needed where it is less than half of the
    /// budget, on a shard that the last known doubling added: an older shard may only have been left with
    /// a remainder. Callers that wait for their answers always find one write refilled; without the second
    /// case they would never double, and would all contend for the locked write.
    pub(super) fn is_outgrown(&self, materialisation: &Materialisation) -> bool {
        let is_newest = materialisation.id >= self.shard_count.div_euclid(2);
        materialisation.wcu.as_ref().is_some_and(|LimitMaterialisation { after, .. }| {
            after.tokens_milli < fast::WCU_MILLI
                || is_newest && after.tokens_milli < after.capacity_milli.div_euclid(2)
        })
    }

    pub(super) fn may_double(&self, image: &Shard) -> bool {
        let doubled = i128::from(self.shard_count.saturating_mul(2));
        // A quota keeps at least one whole token a share (F5).
        let roomy = |limit: &LimitState| {
            limit.reset_after_seconds.is_none() || share(limit.capacity_milli, doubled) >= 1000
        };
        !self.tries.doubled && self.shard_count < MAX_SHARD_COUNT && image.limits.iter().all(roomy)
    }

    /// Doubles the count on shard 0. `unmarked` is the returned image of shard 0, where it holds grants
    /// without a `gc`: their size is known only from the count that is about to change.
    pub(super) fn double(&mut self, shard: u32, image: &Shard, unmarked: Option<&Shard>) -> Step {
        let from = self.shard_count;
        let write = self.doubling(from, image, unmarked);
        self.tries.doubled = true;
        self.state = State::Doubling { shard, from, stores_grant_count: unmarked.is_some() };
        self.perform(&write)
    }

    fn doubling(&self, from: u32, image: &Shard, unmarked: Option<&Shard>) -> ConditionalWrite {
        let mut changes = vec![Change::set(Field::ShardCount, from.saturating_mul(2))];
        // An update of the count must not re-create an item that is gone.
        let mut clauses = vec![vec![Term::exists(Field::Pk)], shard_count::is(from)];
        for quota in self.quotas(image) {
            let of = |field: Field| field.of(&quota);
            let state = unmarked.and_then(|shard| shard.limit(&quota));
            match (state.filter(|state| state.grant_count.is_none()), unmarked) {
                (Some(state), Some(shard)) => {
                    let count = grant_count(state, shard.shard_count);
                    changes.push(Change::set(of(Field::GrantCount), count));
                    clauses.require(Term::absent(of(Field::GrantCount)));
                    clauses.require(Term::compare(of(Field::Tokens), Test::Equal, state.tokens_milli));
                }
                _ => clauses.push(has_grant_count(&quota)),
            }
        }
        ConditionalWrite {
            pk: self.request.subject.bucket_pk(0),
            sk: Cow::Borrowed(STATE_SK),
            action: Action::Update(changes),
            clauses,
        }
    }

    /// The quotas whose grants a doubling must not resize: those of the image, and the configured ones,
    /// which other shards may have.
    fn quotas(&self, image: &Shard) -> Vec<Arc<str>> {
        let mut names = Vec::new();
        for limit in image.limits.iter().filter(|limit| limit.reset_after_seconds.is_some()) {
            names.push(limit.name.clone());
        }
        let configured = self.request.limits.iter().filter(|limit| limit.length_seconds().is_some());
        for limit in configured.filter(|limit| image.limit(&limit.name).is_none()) {
            names.push(Arc::from(limit.name.as_str()));
        }
        names
    }

    pub(super) fn doubled(&mut self, from: u32, image: Option<&Attributes<'_>>) -> Next {
        self.learn_count(from.saturating_mul(2));
        if let Some(image) = image {
            self.raise_siblings(from, &image.shard()?);
        }
        self.fast_on_new(from)
    }

    /// Propagates the doubled count to the siblings, after the answer. A shard with a grant without a `gc`
    /// is left as it is: the join that needs it stores both (R8).
    fn raise_siblings(&mut self, from: u32, image: &Shard) {
        let quotas = self.quotas(image);
        let doubled = from.saturating_mul(2);
        for shard in 1..from {
            let mut clauses = vec![vec![Term::compare(Field::ShardCount, Test::Less, doubled)]];
            clauses.extend(quotas.iter().map(has_grant_count));
            let write = ConditionalWrite {
                pk: self.request.subject.bucket_pk(shard),
                sk: Cow::Borrowed(STATE_SK),
                action: Action::Update(vec![Change::set(Field::ShardCount, doubled)]),
                clauses,
            };
            self.follow_ups.push(write.call(&self.request.subject.table, Images::Neither));
        }
    }

    pub(super) fn not_doubled(
        &mut self,
        shard: u32,
        from: u32,
        stores_grant_count: bool,
        image: Option<&Attributes<'_>>,
    ) -> Next {
        let Some(image) = image.map(Attributes::shard).transpose()? else {
            // Shard 0 is gone: it is re-created first.
            return self.fast(0);
        };
        self.learn_count_from([&image]);
        if image.shard_count >= self.shard_count && self.shard_count > from {
            return self.fast_on_new(from);
        }
        if !stores_grant_count && image.shard_count == from {
            // It was refused because of a grant without a `gc`. Storing the `gc` is tried only once: a balance
            // that changes all the time would refuse every attempt.
            return Ok(self.double(shard, &image, Some(&image)));
        }
        self.fast(shard)
    }

    /// A fast write on one of the shards that a doubling of `from` added.
    fn fast_on_new(&mut self, from: u32) -> Next {
        self.fast(from.saturating_add(draw(self.request.seed, from)))
    }
}

/// The quota's grant stores its own size, or the quota is not there at all.
fn has_grant_count(limit: &Arc<str>) -> Vec<Term> {
    let of = |field: Field| field.of(limit);
    vec![Term::exists(of(Field::GrantCount)), Term::absent(of(Field::Tokens))]
}
