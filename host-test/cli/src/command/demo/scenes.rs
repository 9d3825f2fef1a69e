//! The scenes. What they print is read from decisions, previews and the client's own counts.

use std::{sync::Arc, time::Duration};

use anyhow::Context;
use onewindow_host::{Answer, Client, ClientConfig, Clock, Limiter};
use serde_json::json;

use super::{
    gate::Gate,
    output::Mark,
    session::{CAPACITY, Session, limiter, limits, reported_reset_ms, subject},
    words::{clock, plural},
};

/// Shards that the load is to bring about, and its most requests.
const SHARDS: u32 = 4;
const LOAD: u64 = 4000;

pub(super) async fn play(session: &mut Session, engine: &str) -> anyhow::Result<()> {
    session.output.text(&format!(
        "One user may use {CAPACITY} tokens per 5 hours, counted from the first use. The core that decides \
         is {engine}; the table is a DynamoDB-compatible server on loopback, over HTTP. Only the clock is \
         virtual: it jumps."
    ));
    first_use(session).await?;
    steady_state(session).await?;
    load(session).await?;
    let reset_ms = end_of_the_quota(session).await?;
    let reset_ms = reset(session, reset_ms).await?;
    two_servers(session, reset_ms).await?;
    session.output.scene("What happened", "").await;
    Ok(())
}

async fn first_use(session: &mut Session) -> anyhow::Result<()> {
    let text = "Nothing is stored yet. The first request opens the window: five hours from now, not from \
                midnight or from the top of the hour.";
    session.output.scene("1  First use", text).await;
    let answer = session.acquire(1, 1).await;
    session.print_answer("the first request", session.clock.now_ms(), &answer).await;
    session.count(&answer, 1);
    session.keep_cost("first use", &answer);
    Ok(())
}

async fn steady_state(session: &mut Session) -> anyhow::Result<()> {
    let text = "From now on a request is one conditional update. Nothing is read: the condition itself \
                rejects what would exceed the quota.";
    session.output.scene("2  The steady state", text).await;
    for minute in 1..=3 {
        session.clock.advance(Duration::from_secs(60));
        let answer = session.acquire(1, 1 + minute).await;
        session.print_answer("another", session.clock.now_ms(), &answer).await;
        session.count(&answer, 1);
        session.keep_cost("steady state, each", &answer);
    }
    Ok(())
}

async fn load(session: &mut Session) -> anyhow::Result<()> {
    let text = "A DynamoDB partition accepts 1000 writes a second. When a shard has spent its writes, the \
                balance is split over twice as many shards. A shard that joins in the middle of the window \
                gets its balance from the shard that held its part: no tokens are created.";
    session.output.scene("3  Load", text).await;
    let (before, _) = session.preview().await?;
    let mut admitted = 0;
    for seed in 1..=LOAD {
        session.output.progress(seed);
        // One after the other, within one second of the virtual clock: every run meets the same shards.
        let answer = session.acquire(1, seed).await;
        admitted += u64::from(answer.is_allowed());
        session.count(&answer, 1);
        // Refused, doubled, refused by a shard that does not exist, created.
        let cost = &answer.cost;
        if (cost.calls_of("TransactWriteItems"), cost.calls_of("UpdateItem"), cost.requests) == (1, 3, 5) {
            session.keep_cost("the count doubles, a shard joins", &answer);
        }
        if answer.decision.hint.shard_count >= SHARDS {
            break;
        }
    }
    session.output.end_progress();
    // A moment later the write budgets are back: one request on each shard, so that each exists.
    session.clock.advance(Duration::from_secs(2));
    let mut joined = 0;
    let (_, shard_count) = session.preview().await?;
    for shard in 0..shard_count {
        let answer = session.acquire(1, session.seed_for(shard, shard_count)).await;
        joined += u64::from(answer.is_allowed());
        session.count(&answer, 1);
    }
    let (after, shard_count) = session.preview().await?;
    let (left_before, left) = (before.status.available, after.status.available);
    let spent = admitted + joined;
    let text = format!(
        "{admitted} requests in one second; {}; {left} left = {left_before} - {spent}",
        plural(shard_count.into(), "shard")
    );
    let event = json!({ "admitted": spent, "shards": shard_count, "left": left, "left_before": left_before });
    session.output.fact(Mark::Seen, &clock(session.clock.now_ms()), &text, "", event).await;
    session.print_shards(&after).await;
    Ok(())
}

async fn end_of_the_quota(session: &mut Session) -> anyhow::Result<u64> {
    let text = "Large requests now. What no single shard holds is gathered from several, in one \
                transaction. Only when all shards together are short is the answer no, with the one \
                instant at which it is yes again.";
    session.output.scene("4  The end of the quota", text).await;
    session.clock.advance(Duration::from_secs(40 * 60));
    let mut seed = 100;
    let rejected = loop {
        let left = u64::try_from(session.preview().await?.0.status.available).unwrap_or(0);
        let amount = if left > 3000 { 1500 } else { left.max(1) };
        seed += 1;
        let answer = session.acquire(amount, seed).await;
        let tokens = plural(amount, "token");
        let gathered = answer.cost.calls_of("TransactWriteItems") > 0;
        let what = if gathered { format!("{tokens}, gathered") } else { tokens };
        session.print_answer(&what, session.clock.now_ms(), &answer).await;
        session.count(&answer, amount);
        if gathered {
            session.keep_cost("gathered from several shards", &answer);
        }
        if !answer.is_allowed() {
            session.keep_cost("rejected by a survey of all shards", &answer);
            break answer;
        }
    };
    let again = session.acquire(1, seed).await;
    session.print_answer("remembered", session.clock.now_ms(), &again).await;
    session.count(&again, 1);
    session.keep_cost("rejected from memory", &again);
    reported_reset_ms(&rejected.decision).context("the rejection reports no reset")
}

async fn reset(session: &mut Session, reset_ms: u64) -> anyhow::Result<u64> {
    let text = "The quota comes back at the reported instant, on every shard. The first request opens the \
                next window on its shard; after its answer, the window is propagated to the other shards. \
                Each of them resets with its own next request.";
    session.output.scene("5  The moment of reset", text).await;
    session.clock.set_ms(reset_ms - 1);
    session.limiter.forget();
    let early = session.acquire(1, 7).await;
    session.print_answer("1 ms early", session.clock.now_ms(), &early).await;
    session.count(&early, 1);
    session.clock.set_ms(reset_ms);
    let opener = session.acquire(1, 8).await;
    session.print_answer("on time", session.clock.now_ms(), &opener).await;
    session.count(&opener, 1);
    session.keep_cost("opening a window", &opener);
    let (limit, shard_count) = session.preview().await?;
    session.print_shards(&limit).await;
    session.clock.advance(Duration::from_secs(1));
    for shard in 0..shard_count {
        let answer = session.acquire(1, session.seed_for(shard, shard_count)).await;
        session.count(&answer, 1);
        if answer.cost.requests == 2 && !session.has_cost("a pending reset") {
            session.print_answer(&format!("shard {shard} resets"), session.clock.now_ms(), &answer).await;
            session.keep_cost("a pending reset", &answer);
        }
    }
    let (limit, _) = session.preview().await?;
    session.print_shards(&limit).await;
    limit.status.resets_at_ms.context("no window is live")
}

/// A server of its own: another limiter, another clock, requests that can be held.
struct Server {
    limiter: Limiter,
    clock: Clock,
    gate: Arc<Gate>,
}

impl Server {
    /// It reads the shard count, and holds its requests from then on.
    async fn start(session: &Session, now_ms: u64) -> anyhow::Result<Self> {
        let (clock, gate) = (Clock::at(now_ms), Arc::new(Gate::new()));
        let interpose = Some(Arc::clone(&gate) as _);
        let client = Client::new(ClientConfig { interpose, ..session.database.client_config() })?;
        let limiter = limiter(&session.engine, client, clock.clone());
        let _ = limiter.preview(subject(), limits()).await;
        gate.close();
        Ok(Self { limiter, clock, gate })
    }

    async fn release(&self) {
        self.gate.open();
        self.limiter.flush().await;
    }
}

async fn two_servers(session: &mut Session, reset_ms: u64) -> anyhow::Result<()> {
    let text = "Two servers with clocks four milliseconds apart ask two shards as that window ends. Both \
                open a window; it is one quota, and one instant.";
    session.output.scene("6  Two servers at the boundary", text).await;
    let (_, shard_count) = session.preview().await?;
    let one = Server::start(session, reset_ms).await?;
    let other = Server::start(session, reset_ms + 4).await?;
    session.clock.set_ms(reset_ms);
    let answers = in_turns(session, shard_count, &one, &other).await?;
    one.release().await;
    other.release().await;
    for ((what, server), answer) in [("one server", &one), ("the other", &other)].into_iter().zip(&answers) {
        session.count(answer, 1);
        session.print_answer(what, server.clock.now_ms(), answer).await;
    }
    session.clock.set_ms(reset_ms + 4);
    let (limit, _) = session.preview().await?;
    let (left, resets_at_ms) =
        (limit.status.available, limit.status.resets_at_ms.context("no window is live")?);
    let text = format!("{left} left of {CAPACITY}; resets at {}", clock(resets_at_ms));
    let event = json!({ "left": left, "resets_at_ms": resets_at_ms });
    session.output.fact(Mark::Seen, &clock(session.clock.now_ms()), &text, "", event).await;
    session.print_shards(&limit).await;
    Ok(())
}

/// Both learn that the window ended before either opens the next one. The follow-ups wait.
async fn in_turns(
    session: &Session,
    shard_count: u32,
    one: &Server,
    other: &Server,
) -> anyhow::Result<[Answer; 2]> {
    let ask = |server: &Server, shard| {
        let request = session.request(1, session.seed_for(shard, shard_count));
        let limiter = server.limiter.clone();
        tokio::spawn(async move { limiter.acquire(request).await })
    };
    let asked = [ask(one, 0), ask(other, 1)];
    for server in [one, other] {
        server.gate.arrival().await?;
        server.gate.admit_one();
        server.gate.arrival().await?;
    }
    let [first, second] = asked;
    one.gate.admit_one();
    let first = first.await?;
    other.gate.admit_one();
    Ok([first, second.await?])
}
