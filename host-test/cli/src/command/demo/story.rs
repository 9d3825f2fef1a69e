//! The chapters. What is told is read from decisions, previews and the client's own counts.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::{Context, bail};
use onewindow::{Acquire, Decision, PreviewOutcome, PreviewReport, Step, WindowState};
use onewindow_host::{
    AcquireRequest, Amount, Answer, Client, Clock, Embedded, Engine, Limit, Limiter, LimiterOptions, Outcome,
    Subject, table,
};
use serde_json::json;
use time::{OffsetDateTime, macros::format_description};

use super::{
    stage::{Mark, Stage},
    timeline::{self, Timeline},
};
use crate::command::store::PATIENCE;

const TABLE: &str = "limits";
const QUOTA: &str = "session";
const CAPACITY: u64 = 8000;
const LENGTH_SECONDS: u64 = 5 * 60 * 60;
/// 2027-01-15T09:03:12Z.
const MORNING_MS: u64 = 1_800_003_792_000;
/// Shards that the load is to bring about.
const SHARDS: u32 = 4;
/// Requests of the load at the same time, and at most in all.
const WORKERS: u64 = 16;
const LOAD: u64 = 3000;

/// What one chapter cost.
#[derive(Debug, Default)]
struct Line {
    what: &'static str,
    requests: u64,
    round_trips: u64,
    follow_ups: u64,
}

pub(super) struct Story {
    stage: Stage,
    engine_name: &'static str,
    database: Embedded,
    engine: Engine,
    clock: Clock,
    limiter: Limiter,
    timeline: Timeline,
    /// Tokens admitted and requests rejected, by the end of the window they were told.
    windows: Vec<(u64, u64, u64)>,
    lines: Vec<Line>,
}

impl Story {
    pub(super) async fn begin(
        stage: Stage,
        engine: Engine,
        engine_name: &'static str,
    ) -> anyhow::Result<Self> {
        let database = Embedded::in_memory().await?;
        let client = Client::new(database.client_config())?;
        table::create(&client, TABLE, false, PATIENCE).await?;
        let clock = Clock::at(MORNING_MS);
        let limiter = limiter(&engine, client, clock.clone());
        Ok(Self {
            stage,
            engine_name,
            database,
            engine,
            clock,
            limiter,
            timeline: Timeline::default(),
            windows: Vec::new(),
            lines: Vec::new(),
        })
    }

    pub(super) async fn tell(mut self) -> anyhow::Result<()> {
        self.stage.text(&format!(
            "One user may use {CAPACITY} tokens per 5 hours, counted from their first use. The deciding is \
             done by {}; the table is a DynamoDB-compatible server at {}, asked over HTTP. The clock is the \
             only thing that is not real: it jumps.",
            self.engine_name,
            self.database.address()
        ));
        self.first_use().await?;
        self.steady().await?;
        self.load().await?;
        let reported_reset_ms = self.exhaustion().await?;
        let reported_reset_ms = self.reset(reported_reset_ms).await?;
        self.boundary(reported_reset_ms).await?;
        self.summary().await?;
        self.limiter.flush().await;
        self.database.stop().await?;
        Ok(())
    }

    async fn first_use(&mut self) -> anyhow::Result<()> {
        self.stage
            .chapter(
                "1  First use",
                "Nothing is stored yet. The first request opens the window: five hours from now, not from \
                 midnight or from the top of the hour.",
            )
            .await;
        let answer = self.ask(1, 1).await;
        self.tell_answer("the first request", &answer).await;
        self.book("first use", &answer);
        Ok(())
    }

    async fn steady(&mut self) -> anyhow::Result<()> {
        self.stage
            .chapter(
                "2  The steady state",
                "From now on a request is one conditional update. Nothing is read: the condition itself \
                 refuses what would be too much.",
            )
            .await;
        let mut line = Line { what: "steady state, each", ..Line::default() };
        for minute in 1..=3 {
            self.clock.advance(Duration::from_secs(60));
            let answer = self.ask(1, minute + 1).await;
            self.tell_answer("another", &answer).await;
            self.note(&answer, 1);
            line = Line { what: line.what, ..Line::of(line.what, &answer) };
        }
        self.lines.push(line);
        Ok(())
    }

    async fn load(&mut self) -> anyhow::Result<()> {
        self.stage
            .chapter(
                "3  Load",
                "A DynamoDB partition debits 1000 writes a second. When this one's are spent, the balance is \
                 split over twice as many shards. A shard that joins in the middle of the window is paid for \
                 by the one that holds its part: nothing is made out of nothing.",
            )
            .await;
        let before = self.preview().await?;
        let bar = self.stage.progress(LOAD, "load");
        let (asked, admitted) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let joins = Arc::new(Mutex::new(Vec::new()));
        let mut workers = tokio::task::JoinSet::new();
        for worker in 0..WORKERS {
            let (limiter, request, bar) = (self.limiter.clone(), self.request(1), bar.clone());
            let (asked, admitted, joins) = (asked.clone(), admitted.clone(), joins.clone());
            workers.spawn(async move {
                loop {
                    let number = asked.fetch_add(1, Ordering::Relaxed);
                    if number >= LOAD {
                        return;
                    }
                    let seed = number.wrapping_mul(WORKERS).wrapping_add(worker).wrapping_add(1);
                    let answer = limiter.acquire(AcquireRequest { seed, ..request.clone() }).await;
                    admitted.fetch_add(u64::from(answer.is_allowed()), Ordering::Relaxed);
                    // Refused, doubled, refused by a slot where nothing is yet, made: nobody came first.
                    if answer.cost.calls_of("TransactWriteItems") == 1
                        && answer.cost.calls_of("UpdateItem") == 3
                        && answer.cost.requests == 5
                        && let Ok(mut joins) = joins.lock()
                    {
                        joins.push(Line::of("the count doubles, a shard joins", &answer));
                    }
                    bar.inc(1);
                    if answer.decision.hint.shard_count >= SHARDS {
                        return;
                    }
                }
            });
        }
        while workers.join_next().await.is_some() {}
        self.limiter.flush().await;
        bar.finish_and_clear();
        let admitted = admitted.load(Ordering::Relaxed);
        self.count(before_end(&before), admitted, 0);
        // A moment later the write budgets are back.
        self.clock.advance(Duration::from_secs(2));
        // One request on each shard, so that each is there.
        let mut joined = 0;
        let shard_count = self.preview().await?.shard_count;
        for shard in 0..shard_count {
            let seed = self.seed_for(shard, shard_count);
            let answer = self.ask(1, seed).await;
            joined += u64::from(answer.is_allowed());
            self.note(&answer, 1);
        }
        // The first: a later doubling tells the shards that are there, too.
        let joins = joins.lock().map(|mut joins| std::mem::take(&mut *joins)).unwrap_or_default();
        self.lines.extend(joins.into_iter().min_by_key(|line| (line.requests, line.follow_ups)));
        let after = self.preview().await?;
        let left = after.limits[0].status.available;
        self.stage
            .fact(
                Mark::Seen,
                &clock(self.clock.now_ms()),
                &format!(
                    "{admitted} requests at once; {}; {left} left = {} - {}",
                    plural(after.shard_count.into(), "shard"),
                    before.limits[0].status.available,
                    admitted + joined
                ),
                "",
                json!({ "admitted": admitted + joined, "shards": after.shard_count, "left": left,
                        "left_before": before.limits[0].status.available }),
            )
            .await;
        self.stage.lines(&shards(&after)).await;
        Ok(())
    }

    async fn exhaustion(&mut self) -> anyhow::Result<u64> {
        self.stage
            .chapter(
                "4  The end of the quota",
                "Large requests now. What no single shard holds is gathered from several, in one \
                 transaction; only when all of them together are short is the answer no, with the one \
                 instant at which it is yes again.",
            )
            .await;
        self.clock.advance(Duration::from_secs(40 * 60));
        let mut seed = 100;
        let rejected = loop {
            let left = u64::try_from(self.preview().await?.limits[0].status.available).unwrap_or(0);
            let amount = if left > 3000 { 1500 } else { left.max(1) };
            seed += 1;
            let answer = self.ask(amount, seed).await;
            let gathered = answer.cost.calls_of("TransactWriteItems") > 0;
            let tokens = plural(amount, "token");
            let says = if gathered { format!("{tokens}, gathered") } else { tokens };
            self.tell_answer(&says, &answer).await;
            if gathered && self.lines.iter().all(|line| line.what != "gathered from several shards") {
                self.book_amount("gathered from several shards", &answer, amount);
            } else {
                self.note(&answer, amount);
            }
            if !answer.is_allowed() {
                self.lines.push(Line::of("rejected by a look at all shards", &answer));
                break answer;
            }
        };
        let again = self.ask(1, seed).await;
        self.tell_answer("remembered", &again).await;
        self.book("rejected from memory", &again);
        reported_reset_ms(&rejected.decision).context("a rejection tells when to come back")
    }

    async fn reset(&mut self, reported_reset_ms: u64) -> anyhow::Result<u64> {
        self.stage
            .chapter(
                "5  The moment of reset",
                "The instant that was told is the instant at which it is so, on every shard. The first \
                 request opens the next window on its shard and, after its answer, tells the others; each of \
                 them resets itself with its own next request.",
            )
            .await;
        self.clock.set_ms(reported_reset_ms - 1);
        self.limiter.forget();
        let early = self.ask(1, 7).await;
        self.tell_answer("1 ms early", &early).await;
        self.note(&early, 1);
        self.clock.set_ms(reported_reset_ms);
        let opener = self.ask(1, 8).await;
        self.tell_answer("on time", &opener).await;
        self.limiter.flush().await;
        self.book("opening a window", &opener);
        let report = self.preview().await?;
        self.stage.lines(&shards(&report)).await;
        self.clock.advance(Duration::from_secs(1));
        for shard in 0..report.shard_count {
            let answer = self.ask(1, self.seed_for(shard, report.shard_count)).await;
            self.note(&answer, 1);
            if answer.cost.requests == 2 && self.lines.iter().all(|line| line.what != "a pending reset") {
                self.tell_answer(&format!("shard {shard} resets itself"), &answer).await;
                self.lines.push(Line::of("a pending reset", &answer));
            }
        }
        let report = self.preview().await?;
        self.stage.lines(&shards(&report)).await;
        report.limits[0].status.resets_at_ms.context("a window is live")
    }

    async fn boundary(&mut self, reported_reset_ms: u64) -> anyhow::Result<()> {
        self.stage
            .chapter(
                "6  Two clients at the boundary",
                "Two servers, on two shards, with clocks four milliseconds apart, ask as that window ends. \
                 Both may open; there is still one quota, and one instant.",
            )
            .await;
        let report = self.preview().await?;
        let other_clock = Clock::at(reported_reset_ms + 4);
        let other = limiter(&self.engine, Client::new(self.database.client_config())?, other_clock.clone());
        // The second server knows the entity by a look at it.
        let _ = other.preview(subject(), limits()).await;
        self.clock.set_ms(reported_reset_ms);
        let ours = self.request_on(0, report.shard_count);
        let theirs = self.request_on(1, report.shard_count);
        let (a, b) = tokio::join!(self.limiter.acquire(ours), other.acquire(theirs));
        self.limiter.flush().await;
        other.flush().await;
        self.note(&a, 1);
        self.note(&b, 1);
        self.tell_answer("one server", &a).await;
        self.tell_answer("the other", &b).await;
        self.clock.set_ms(reported_reset_ms + 4);
        let report = self.preview().await?;
        let status = &report.limits[0].status;
        let resets_at_ms = status.resets_at_ms.context("a window is live")?;
        self.stage
            .fact(
                Mark::Seen,
                &clock(self.clock.now_ms()),
                &format!("{} left of {CAPACITY}; resets at {}", status.available, clock(resets_at_ms)),
                "",
                json!({ "left": status.available, "resets_at_ms": resets_at_ms }),
            )
            .await;
        self.stage.lines(&shards(&report)).await;
        Ok(())
    }

    async fn summary(&mut self) -> anyhow::Result<()> {
        self.stage.chapter("What happened", "").await;
        let drawing = self.timeline.draw(Stage::width() - 2, |ms| clock(ms).chars().take(5).collect());
        self.stage.lines(&drawing).await;
        let mut table = vec![
            String::new(),
            format!("{:<36}{:>10}{:>10}{:>10}", "", "requests", "round", "after the"),
            format!("{:<36}{:>10}{:>10}{:>10}", "", "", "trips", "answer"),
        ];
        for Line { what, requests, round_trips, follow_ups } in &self.lines {
            table.push(format!("{what:<36}{requests:>10}{round_trips:>10}{follow_ups:>10}"));
            self.stage.event(
                "cost",
                json!({ "what": what, "requests": requests, "round_trips": round_trips, "follow_ups": follow_ups }),
            );
        }
        table.push(String::new());
        for (end_ms, admitted, rejected) in &self.windows {
            let until = clock(*end_ms).chars().take(5).collect::<String>();
            table.push(format!("the window until {until}: {admitted:>5} of {CAPACITY} tokens admitted, {rejected} requests rejected"));
            self.stage.event(
                "window",
                json!({ "ends_at_ms": end_ms, "admitted": admitted, "rejected": rejected, "capacity": CAPACITY }),
            );
            if *admitted > CAPACITY {
                bail!("{admitted} tokens were admitted in a window of {CAPACITY}");
            }
        }
        table.push(String::new());
        self.stage.lines(&table).await;
        self.stage.text(
            "A quota of one user, spread over shards so that no partition is too hot, was never exceeded and \
             never refused while anything was left. It came back for everybody at the instant that was told. \
             In the steady state a request costs one write.",
        );
        self.stage.text("");
        self.stage.text("Next: `onewindow serve --limit session=100/5h` answers over HTTP; `onewindow preview --help` looks into a table.");
        Ok(())
    }

    // ---- asking ----

    fn request(&self, amount: u64) -> AcquireRequest {
        AcquireRequest {
            subject: subject(),
            consume: vec![Amount::new(QUOTA, amount)],
            limits: limits(),
            ..AcquireRequest::default()
        }
    }

    fn request_on(&self, shard: u32, shard_count: u32) -> AcquireRequest {
        AcquireRequest { seed: self.seed_for(shard, shard_count), ..self.request(1) }
    }

    async fn ask(&self, amount: u64, seed: u64) -> Answer {
        let answer = self.limiter.acquire(AcquireRequest { seed, ..self.request(amount) }).await;
        self.limiter.flush().await;
        answer
    }

    /// A number that draws this shard: the core is asked which one it would turn to.
    fn seed_for(&self, shard: u32, shard_count: u32) -> u64 {
        let key = format!("{}\"", subject().bucket_pk(shard));
        let hint = onewindow::Hint { key: subject().hint_key(), shard_count, rejections: Vec::new() };
        let draws = |seed: &u64| {
            let request = AcquireRequest { seed: *seed, hint: Some(hint.clone()), ..self.request(1) };
            match Acquire::new(request).advance(self.clock.now_ms(), &[]) {
                Step::Perform(calls) => calls.iter().any(|call| call.body.contains(&key)),
                Step::Done(_) => false,
            }
        };
        (1..=4096).find(draws).unwrap_or(1)
    }

    /// Looks, and remembers what it saw for the drawing.
    async fn preview(&mut self) -> anyhow::Result<PreviewReport> {
        let report = match self.limiter.preview(subject(), limits()).await.outcome {
            PreviewOutcome::Report(report) => report,
            other => bail!("the preview failed: {other:?}"),
        };
        for view in report.limits.iter().flat_map(|limit| &limit.shards) {
            let stage = match view.state {
                WindowState::Live | WindowState::Ended => timeline::Stage::Applied,
                WindowState::Pending => timeline::Stage::Told,
                WindowState::Absent | WindowState::Unstarted => continue,
            };
            if let (Some(start_ms), Some(end_ms)) = (view.starts_at_ms, view.ends_at_ms) {
                self.timeline.saw(view.shard, start_ms, end_ms, stage);
            }
        }
        Ok(report)
    }

    // ---- telling ----

    async fn tell_answer(&self, says: &str, answer: &Answer) {
        let decision = &answer.decision;
        let status = decision.limits.first();
        let resets = match status.and_then(|status| status.resets_at_ms) {
            Some(ms) => format!("resets at {}", clock(ms)),
            None => "full".into(),
        };
        let (mark, outcome) = match &decision.outcome {
            Outcome::Admitted(_) => (Mark::Admitted, format!("admitted; {resets}")),
            Outcome::Rejected { retry_after_ms } => {
                let left = status.map_or(0, |status| status.available);
                (Mark::Rejected, format!("rejected; {left} left, {resets}, in {}", span(*retry_after_ms)))
            }
            other => (Mark::Rejected, format!("{other:?}")),
        };
        let mut cost = format!(
            "{}, {}",
            plural(answer.cost.requests.into(), "request"),
            plural(answer.cost.round_trips.into(), "round trip")
        );
        if answer.follow_ups > 0 {
            cost.push_str(&format!("; {} after the answer", answer.follow_ups));
        }
        let event = json!({
            "says": says,
            "left": status.map(|status| status.available),
            "resets_at_ms": status.and_then(|status| status.resets_at_ms),
            "at_ms": self.clock.now_ms(),
            "requests": answer.cost.requests,
            "round_trips": answer.cost.round_trips,
            "follow_ups": answer.follow_ups,
        });
        self.stage.fact(mark, &clock(self.clock.now_ms()), &format!("{says}: {outcome}"), &cost, event).await;
    }

    /// Counts a request of one token, and what it cost.
    fn book(&mut self, what: &'static str, answer: &Answer) {
        self.book_amount(what, answer, 1);
    }

    fn book_amount(&mut self, what: &'static str, answer: &Answer, amount: u64) {
        self.lines.push(Line::of(what, answer));
        self.note(answer, amount);
    }

    /// Counts a request of `amount` tokens.
    fn note(&mut self, answer: &Answer, amount: u64) {
        let end_ms = reported_reset_ms(&answer.decision);
        let taken = if answer.is_allowed() { amount } else { 0 };
        self.count(end_ms, taken, u64::from(!answer.is_allowed()));
    }

    fn count(&mut self, end_ms: Option<u64>, admitted: u64, rejected: u64) {
        let Some(end_ms) = end_ms else { return };
        // Openers milliseconds apart are one window.
        match self.windows.iter_mut().find(|(end, _, _)| end.abs_diff(end_ms) < 60_000) {
            Some(window) => {
                window.1 += admitted;
                window.2 += rejected;
            }
            None => self.windows.push((end_ms, admitted, rejected)),
        }
    }
}

impl Line {
    fn of(what: &'static str, answer: &Answer) -> Self {
        Self {
            what,
            requests: answer.cost.requests.into(),
            round_trips: answer.cost.round_trips.into(),
            follow_ups: answer.follow_ups as u64,
        }
    }
}

fn limiter(engine: &Engine, client: Client, clock: Clock) -> Limiter {
    // The clock stands still while requests are under way: none of them is to be late.
    let deadline = Duration::from_secs(30);
    Limiter::new(engine.clone(), client, LimiterOptions { clock, deadline, ..LimiterOptions::default() })
}

fn subject() -> Subject {
    Subject::new(TABLE, "default", "user-1", "gpt-4")
}

fn limits() -> Vec<Limit> {
    vec![Limit::session(QUOTA, CAPACITY, LENGTH_SECONDS)]
}

fn reported_reset_ms(decision: &Decision) -> Option<u64> {
    decision.limits.first().and_then(|status| status.resets_at_ms)
}

fn before_end(report: &PreviewReport) -> Option<u64> {
    report.limits.first().and_then(|limit| limit.status.resets_at_ms)
}

/// The shards, one a line.
fn shards(report: &PreviewReport) -> Vec<String> {
    let word = |state| match state {
        WindowState::Live => "live",
        WindowState::Pending => "told, not yet reset",
        WindowState::Ended => "over",
        WindowState::Absent => "not made yet",
        WindowState::Unstarted => "no window yet",
    };
    let views = report.limits.iter().flat_map(|limit| &limit.shards);
    views
        .map(|view| {
            let window = match (view.starts_at_ms, view.ends_at_ms) {
                (Some(start_ms), Some(end_ms)) => format!("{:<12} to {:<12}", clock(start_ms), clock(end_ms)),
                _ => format!("{:28}", ""),
            };
            let left = view.balance_milli.div_euclid(1000);
            format!("  shard {:<2} {window} {left:>5} tokens  {}", view.shard, word(view.state))
        })
        .collect()
}

fn plural(number: u64, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// Hours and minutes of a wait, or less.
fn span(ms: u64) -> String {
    let seconds = ms.div_ceil(1000);
    match (seconds / 3600, seconds % 3600 / 60, seconds % 60) {
        (0, 0, _) if ms < 1000 => format!("{ms} ms"),
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

/// An instant as a clock shows it, in UTC; milliseconds where there are any.
fn clock(ms: u64) -> String {
    let nanoseconds = i128::from(ms) * 1_000_000;
    let Ok(at) = OffsetDateTime::from_unix_timestamp_nanos(nanoseconds) else { return ms.to_string() };
    let spelled = if ms.is_multiple_of(1000) {
        at.format(format_description!("[hour]:[minute]:[second]"))
    } else {
        at.format(format_description!("[hour]:[minute]:[second].[subsecond digits:3]"))
    };
    spelled.unwrap_or_else(|_| ms.to_string())
}
