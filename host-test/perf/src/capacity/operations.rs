//! Each operation by itself, from the same items, by ours and by the peer.

use std::time::Instant;

use anyhow::{Context, ensure};
use onewindow::Amount;
use onewindow_host::{Limiter, PreviewOutcome};
use serde_json::{Value as Json, json};

use super::peer::Peer;
use crate::{
    meter::Units,
    scene::{CAPACITY, Held, NOW_MS, QUOTA, Scene, TABLE, Taken, limits},
};

/// What is done to a bucket of so many shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operation {
    /// Taken from a live shard.
    Steady,
    /// The same by a host that has not heard of the entity: another location, or one started anew.
    Unheard,
    /// Refused by a live bucket that has nothing left.
    Rejected,
    /// The same once more, by a host that remembers.
    Remembered,
    /// The drawn shard has nothing left, others have.
    Elsewhere,
    /// No shard holds it all, all of them together do.
    Gathered,
    /// The window has ended: this use opens the next.
    Opener,
    /// Another shard was the opener; this one resets itself.
    Pending,
    /// Nothing is stored of the entity.
    First,
    /// A shard is made in the middle of a window; nobody was granted its part yet.
    Join,
    /// A shard is made in the middle of a window, and shard 0 holds its part.
    Move,
    /// All shards are looked at.
    Preview,
    /// A lease is corrected to what was used.
    Settle,
    /// An entity under a parent: taken from both.
    Cascade,
}

use Operation as O;

/// Every operation, with the shard counts that make a difference to it.
pub(crate) const ALL: [(Operation, u32); 21] = [
    (O::Steady, 1),
    (O::Unheard, 8),
    (O::Rejected, 1),
    (O::Rejected, 8),
    (O::Rejected, 32),
    (O::Remembered, 1),
    (O::Remembered, 8),
    (O::Elsewhere, 8),
    (O::Gathered, 8),
    (O::Opener, 1),
    (O::Opener, 8),
    (O::Opener, 32),
    (O::Pending, 8),
    (O::First, 1),
    (O::Join, 2),
    (O::Move, 2),
    (O::Preview, 1),
    (O::Preview, 8),
    (O::Preview, 32),
    (O::Settle, 1),
    (O::Cascade, 1),
];

/// What is taken, and what it turns out to have been.
const ESTIMATE: u64 = 5;
const ACTUAL: u64 = 3;

impl Operation {
    pub(crate) fn name(self, shard_count: u32) -> String {
        let of = |what: &str| match shard_count {
            1 => format!("{what}, 1 shard"),
            count => format!("{what}, {count} shards"),
        };
        match self {
            O::Steady => "steady acquire".into(),
            O::Unheard => of("steady acquire by a host that has not heard of it"),
            O::Rejected => of("rejection"),
            O::Remembered => of("rejection, remembered"),
            O::Elsewhere => of("the drawn shard is short, another serves"),
            O::Gathered => of("gathered from all"),
            O::Opener => of("opener and what follows it"),
            O::Pending => "a pending reset".into(),
            O::First => "first use of an entity".into(),
            O::Join => "a shard joins".into(),
            O::Move => "a shard joins, with a move".into(),
            O::Preview => of("preview"),
            O::Settle => "settle".into(),
            O::Cascade => "steady acquire under a parent".into(),
        }
    }

    fn admits(self) -> bool {
        !matches!(self, O::Rejected | O::Remembered)
    }

    /// Tokens to ask for.
    fn tokens(self, shard_count: u32) -> u64 {
        match self {
            O::Gathered => CAPACITY / u64::from(shard_count) * 2,
            O::Settle => ESTIMATE,
            _ => 1,
        }
    }

    /// The shard that is drawn.
    fn shard(self) -> u32 {
        u32::from(matches!(self, O::Join | O::Move))
    }

    /// A live bucket, on which everybody may warm up.
    async fn put_live(self, scene: &Scene, entity: &str, shard_count: u32) -> anyhow::Result<()> {
        match self {
            O::First | O::Cascade => Ok(()),
            _ => scene.put_all(entity, Held::live(shard_count)).await,
        }
    }

    /// What the operation finds.
    async fn stage(self, scene: &Scene, entity: &str, shard_count: u32) -> anyhow::Result<()> {
        let live = Held::live(shard_count);
        match self {
            O::First | O::Cascade => Ok(()),
            O::Steady | O::Unheard | O::Preview | O::Settle | O::Gathered => {
                scene.put_all(entity, live).await
            }
            O::Rejected | O::Remembered => scene.put_all(entity, Held { tokens: 0, ..live }).await,
            O::Elsewhere => {
                scene.put_all(entity, live).await?;
                scene.put(vec![scene.item(entity, 0, Held { tokens: 0, ..live })]).await
            }
            O::Opener => scene.put_all(entity, Held::over(shard_count)).await,
            O::Pending => {
                let over = Held::over(shard_count);
                scene.put_all(entity, Held { starts_at_ms: live.starts_at_ms, ..over }).await
            }
            O::Join | O::Move => {
                let key =
                    json!({ "PK": { "S": scene.subject(entity).bucket_pk(1) }, "SK": { "S": "#STATE" } });
                scene.call("DeleteItem", &json!({ "TableName": TABLE, "Key": key })).await?;
                let held = match self {
                    O::Join => live,
                    _ => Held { grant_count: 1, tokens: CAPACITY, ..live },
                };
                scene.put(vec![scene.item(entity, 0, held)]).await
            }
        }
    }

    /// What it takes us.
    pub(crate) async fn ours(
        self,
        scene: &Scene,
        host: &Limiter,
        entity: &str,
        shard_count: u32,
    ) -> anyhow::Result<Taken> {
        let request = || scene.request(entity, self.shard(), shard_count, self.tokens(shard_count));
        self.put_live(scene, entity, shard_count).await?;
        match self {
            O::First => {}
            // The first tells who is above, the second reads that entity's limits.
            O::Cascade => {
                for _ in 0..2 {
                    let warm = host.acquire_cascading(request()).await;
                    ensure!(warm.decision.outcome.is_admitted(), "{warm:?}");
                }
            }
            _ => {
                let _ = scene.acquire(host, scene.request(entity, 0, shard_count, 1), true).await?;
            }
        }
        self.stage(scene, entity, shard_count).await?;
        match self {
            O::Preview => {
                let before = scene.meter.passed();
                let began = Instant::now();
                let seen = host.preview(scene.subject(entity), limits(1)).await;
                let answered = began.elapsed();
                ensure!(matches!(seen.outcome, PreviewOutcome::Report(_)), "{seen:?}");
                Ok(Taken { units: scene.meter.passed() - before, answered })
            }
            O::Settle => {
                let (answer, _) = scene.acquire(host, request(), true).await?;
                let lease = answer.lease().context("an admission without a lease")?.encode();
                let before = scene.meter.passed();
                let began = Instant::now();
                let settled = host.settle(TABLE, &lease, vec![Amount::new(QUOTA, ACTUAL)]).await;
                let answered = began.elapsed();
                ensure!(settled.settlement == onewindow::Settlement::Settled, "{settled:?}");
                Ok(Taken { units: scene.meter.passed() - before, answered })
            }
            O::Cascade => {
                let before = scene.meter.passed();
                let began = Instant::now();
                let answer = host.acquire_cascading(request()).await;
                let answered = began.elapsed();
                host.flush().await;
                ensure!(answer.decision.outcome.is_admitted(), "{answer:?}");
                Ok(Taken { units: scene.meter.passed() - before, answered })
            }
            O::Unheard => {
                host.forget();
                let request = onewindow::AcquireRequest { hint: None, ..request() };
                Ok(scene.acquire(host, request, true).await?.1)
            }
            O::Remembered => {
                let _ = scene.acquire(host, request(), false).await?;
                Ok(scene.acquire(host, request(), false).await?.1)
            }
            _ => Ok(scene.acquire(host, request(), self.admits()).await?.1),
        }
    }

    /// What it takes the peer; none where it refuses what could be had.
    pub(crate) async fn theirs(
        self,
        scene: &Scene,
        peer: &mut Peer,
        entity: &str,
        shard_count: u32,
    ) -> anyhow::Result<Option<Units>> {
        let acquire = |what: &str, shard: u32, tokens: u64| {
            json!({
                "do": what, "entity": entity, "tokens": tokens, "shard": shard, "count": shard_count,
                "now_ms": NOW_MS,
            })
        };
        let asked = acquire("acquire", self.shard(), self.tokens(shard_count));
        let expect = |answer: &Json, wanted: &str| {
            ensure!(answer["outcome"] == wanted, "{self:?}: expected {wanted}: {answer}");
            Ok(())
        };
        self.put_live(scene, entity, shard_count).await?;
        let warm_ups = if self == O::First { 0 } else { 2 };
        for _ in 0..warm_ups {
            expect(&peer.ask(&acquire("acquire", 0, 1)).await?, "admitted")?;
        }
        self.stage(scene, entity, shard_count).await?;
        // It remembers rejections too, and judges by what it saw last.
        peer.ask(&json!({ "do": "forget", "entities": self == O::Unheard })).await?;
        let asked = match self {
            O::Preview => json!({ "do": "check", "entity": entity, "now_ms": NOW_MS }),
            O::Unheard => json!({ "do": "acquire", "entity": entity, "tokens": 1, "now_ms": NOW_MS }),
            O::Settle => {
                expect(&peer.ask(&acquire("hold", 0, ESTIMATE)).await?, "admitted")?;
                json!({ "do": "settle", "difference": -(i64::try_from(ESTIMATE - ACTUAL)?) })
            }
            O::Remembered => {
                expect(&peer.ask(&asked).await?, "rejected")?;
                asked
            }
            _ => asked,
        };
        let before = scene.meter.passed();
        let answer = peer.ask(&asked).await?;
        if self == O::Gathered && answer["outcome"] == "rejected" {
            return Ok(None);
        }
        expect(&answer, if self.admits() { "admitted" } else { "rejected" })?;
        Ok(Some(scene.meter.passed() - before))
    }
}
