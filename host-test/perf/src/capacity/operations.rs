//! Each operation by itself, from the same items, by ours and by the peer.

use std::time::Instant;

use anyhow::{Context, ensure};
use onewindow::Amount;
use onewindow_host::{Limiter, PreviewOutcome};
use serde_json::{Value as Json, json};

use super::peer::Peer;
use crate::{
    fixture::{CAPACITY, Fixture, NOW_MS, QUOTA, ShardState, TABLE, Usage, limits},
    meter::Units,
};

/// An operation on a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operation {
    /// An acquire on a live shard.
    Steady,
    /// The same by a host that does not know the entity: at another location, or just started.
    UnknownEntity,
    /// A rejection by a live bucket that has nothing left.
    Rejected,
    /// The same again, by a host that remembers it.
    Remembered,
    /// The drawn shard has nothing left, but others have.
    Elsewhere,
    /// No shard holds the amount, but all of them together do.
    Gathered,
    /// The window has ended: this use opens the next.
    Opener,
    /// Another shard opened the window; this one applies it.
    Pending,
    /// Nothing is stored of the entity.
    First,
    /// A shard is created in the middle of a window; its share is not granted yet.
    Join,
    /// A shard is created in the middle of a window, and shard 0 holds its share.
    Move,
    /// All shards are read.
    Preview,
    /// A lease is corrected to what was used.
    Settle,
    /// An entity with a parent: both are debited.
    Cascade,
}

use Operation as O;

/// Every operation, with the shard counts that make a difference to it.
pub(crate) const ALL: [(Operation, u32); 21] = [
    (O::Steady, 1),
    (O::UnknownEntity, 8),
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

/// The estimate of a settled acquire, and the actual use.
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
            O::UnknownEntity => of("steady acquire by a host that does not know it"),
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

    /// The amount of the request.
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

    /// Writes a live bucket, for the requests before the measured one.
    async fn put_live(self, fixture: &Fixture, entity: &str, shard_count: u32) -> anyhow::Result<()> {
        match self {
            O::First | O::Cascade => Ok(()),
            _ => fixture.put_all(entity, ShardState::live(shard_count)).await,
        }
    }

    /// Writes the bucket that the operation finds.
    async fn prepare(self, fixture: &Fixture, entity: &str, shard_count: u32) -> anyhow::Result<()> {
        let live = ShardState::live(shard_count);
        match self {
            O::First | O::Cascade => Ok(()),
            O::Steady | O::UnknownEntity | O::Preview | O::Settle | O::Gathered => {
                fixture.put_all(entity, live).await
            }
            O::Rejected | O::Remembered => fixture.put_all(entity, ShardState { tokens: 0, ..live }).await,
            O::Elsewhere => {
                fixture.put_all(entity, live).await?;
                fixture.put(vec![fixture.item(entity, 0, ShardState { tokens: 0, ..live })]).await
            }
            O::Opener => fixture.put_all(entity, ShardState::over(shard_count)).await,
            O::Pending => {
                let over = ShardState::over(shard_count);
                fixture.put_all(entity, ShardState { starts_at_ms: live.starts_at_ms, ..over }).await
            }
            O::Join | O::Move => {
                let key =
                    json!({ "PK": { "S": fixture.subject(entity).bucket_pk(1) }, "SK": { "S": "#STATE" } });
                fixture.call("DeleteItem", &json!({ "TableName": TABLE, "Key": key })).await?;
                let held = match self {
                    O::Join => live,
                    _ => ShardState { grant_count: 1, tokens: CAPACITY, ..live },
                };
                fixture.put(vec![fixture.item(entity, 0, held)]).await
            }
        }
    }

    /// What it uses with ours.
    pub(crate) async fn ours(
        self,
        fixture: &Fixture,
        host: &Limiter,
        entity: &str,
        shard_count: u32,
    ) -> anyhow::Result<Usage> {
        let request = || fixture.request(entity, self.shard(), shard_count, self.tokens(shard_count));
        self.put_live(fixture, entity, shard_count).await?;
        match self {
            O::First => {}
            // The first learns of the parent, the second reads the parent's limits.
            O::Cascade => {
                for _ in 0..2 {
                    let warm = host.acquire_cascading(request()).await;
                    ensure!(warm.decision.outcome.is_admitted(), "{warm:?}");
                }
            }
            _ => {
                let _ = fixture.acquire(host, fixture.request(entity, 0, shard_count, 1), true).await?;
            }
        }
        self.prepare(fixture, entity, shard_count).await?;
        match self {
            O::Preview => {
                let before = fixture.meter.total();
                let began = Instant::now();
                let seen = host.preview(fixture.subject(entity), limits(1)).await;
                let answered = began.elapsed();
                ensure!(matches!(seen.outcome, PreviewOutcome::Report(_)), "{seen:?}");
                Ok(Usage { units: fixture.meter.total() - before, answered })
            }
            O::Settle => {
                let (answer, _) = fixture.acquire(host, request(), true).await?;
                let lease = answer.lease().context("an admission without a lease")?.encode();
                let before = fixture.meter.total();
                let began = Instant::now();
                let settled = host.settle(TABLE, &lease, vec![Amount::new(QUOTA, ACTUAL)]).await;
                let answered = began.elapsed();
                ensure!(settled.settlement == onewindow::Settlement::Settled, "{settled:?}");
                Ok(Usage { units: fixture.meter.total() - before, answered })
            }
            O::Cascade => {
                let before = fixture.meter.total();
                let began = Instant::now();
                let answer = host.acquire_cascading(request()).await;
                let answered = began.elapsed();
                host.flush().await;
                ensure!(answer.decision.outcome.is_admitted(), "{answer:?}");
                Ok(Usage { units: fixture.meter.total() - before, answered })
            }
            O::UnknownEntity => {
                host.forget();
                let request = onewindow::AcquireRequest { hint: None, ..request() };
                Ok(fixture.acquire(host, request, true).await?.1)
            }
            O::Remembered => {
                let _ = fixture.acquire(host, request(), false).await?;
                Ok(fixture.acquire(host, request(), false).await?.1)
            }
            _ => Ok(fixture.acquire(host, request(), self.admits()).await?.1),
        }
    }

    /// What it uses with the peer; none: the peer refuses, although all shards together hold the amount.
    pub(crate) async fn theirs(
        self,
        fixture: &Fixture,
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
        self.put_live(fixture, entity, shard_count).await?;
        let warm_ups = if self == O::First { 0 } else { 2 };
        for _ in 0..warm_ups {
            expect(&peer.ask(&acquire("acquire", 0, 1)).await?, "admitted")?;
        }
        self.prepare(fixture, entity, shard_count).await?;
        // The peer remembers rejections and balances too.
        peer.ask(&json!({ "do": "forget", "entities": self == O::UnknownEntity })).await?;
        let asked = match self {
            O::Preview => json!({ "do": "check", "entity": entity, "now_ms": NOW_MS }),
            O::UnknownEntity => json!({ "do": "acquire", "entity": entity, "tokens": 1, "now_ms": NOW_MS }),
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
        let before = fixture.meter.total();
        let answer = peer.ask(&asked).await?;
        if self == O::Gathered && answer["outcome"] == "rejected" {
            return Ok(None);
        }
        expect(&answer, if self.admits() { "admitted" } else { "rejected" })?;
        Ok(Some(fixture.meter.total() - before))
    }
}
