//! What the scenes share: the table, the limiter, the virtual clock, and what is counted.

use std::time::Duration;

use anyhow::bail;
use onewindow::{Acquire, Decision, LimitPreview, PreviewOutcome, PreviewReport, Step, WindowState};
use onewindow_host::{
    AcquireRequest, Amount, Answer, Client, Clock, Embedded, Engine, Limit, Limiter, LimiterOptions, Outcome,
    Subject, table,
};
use serde_json::json;

use super::{
    chart::{Chart, Progress},
    output::{Mark, Output},
    words::{clock, plural, span},
};
use crate::command::store::PATIENCE;

const TABLE: &str = "limits";
const QUOTA: &str = "session";
pub(super) const CAPACITY: u64 = 8000;
const LENGTH_SECONDS: u64 = 5 * 60 * 60;
/// 2027-01-15T09:03:12Z.
const MORNING_MS: u64 = 1_800_003_792_000;

/// What one kind of request cost.
#[derive(Debug)]
pub(super) struct CostRow {
    pub(super) kind: &'static str,
    pub(super) requests: u64,
    pub(super) round_trips: u64,
    pub(super) follow_ups: u64,
}

/// What was answered in one window, in tokens and in requests.
#[derive(Debug)]
pub(super) struct WindowTotal {
    pub(super) ends_at_ms: u64,
    pub(super) admitted: u64,
    pub(super) rejected: u64,
}

pub(super) struct Session {
    pub(super) output: Output,
    pub(super) database: Embedded,
    pub(super) engine: Engine,
    pub(super) clock: Clock,
    pub(super) limiter: Limiter,
    pub(super) chart: Chart,
    pub(super) windows: Vec<WindowTotal>,
    pub(super) costs: Vec<CostRow>,
}

impl Session {
    pub(super) async fn start(output: Output, engine: Engine) -> anyhow::Result<Self> {
        let database = Embedded::in_memory().await?;
        let client = Client::new(database.client_config())?;
        table::create(&client, TABLE, false, PATIENCE).await?;
        let clock = Clock::at(MORNING_MS);
        let limiter = limiter(&engine, client, clock.clone());
        let (chart, windows, costs) = (Chart::default(), Vec::new(), Vec::new());
        Ok(Self { output, database, engine, clock, limiter, chart, windows, costs })
    }

    pub(super) async fn stop(self) -> anyhow::Result<()> {
        self.limiter.flush().await;
        Ok(self.database.stop().await?)
    }

    // ---- requests ----

    pub(super) fn request(&self, amount: u64, seed: u64) -> AcquireRequest {
        AcquireRequest {
            subject: subject(),
            consume: vec![Amount::new(QUOTA, amount)],
            limits: limits(),
            seed,
            ..AcquireRequest::default()
        }
    }

    /// Asks, and waits for the follow-ups too.
    pub(super) async fn acquire(&self, amount: u64, seed: u64) -> Answer {
        let answer = self.limiter.acquire(self.request(amount, seed)).await;
        self.limiter.flush().await;
        answer
    }

    /// A seed that draws this shard: the core names the shard that it would write to.
    pub(super) fn seed_for(&self, shard: u32, shard_count: u32) -> u64 {
        let key = format!("{}\"", subject().bucket_pk(shard));
        let hint = onewindow::Hint { key: subject().hint_key(), shard_count, rejections: Vec::new() };
        let draws = |seed: &u64| {
            let request = AcquireRequest { hint: Some(hint.clone()), ..self.request(1, *seed) };
            match Acquire::new(request).advance(self.clock.now_ms(), &[]) {
                Step::Perform(calls) => calls.iter().any(|call| call.body.contains(&key)),
                Step::Done(_) => false,
            }
        };
        (1..=4096).find(draws).unwrap_or(1)
    }

    /// The only limit, with its shards, and how many of them there are; the chart keeps the windows.
    pub(super) async fn preview(&mut self) -> anyhow::Result<(LimitPreview, u32)> {
        let report = self.report().await?;
        let shard_count = report.shard_count;
        let Some(limit) = report.limits.into_iter().next() else { bail!("the preview names no limit") };
        for view in &limit.shards {
            let progress = match view.state {
                WindowState::Live | WindowState::Ended => Progress::Applied,
                WindowState::Pending => Progress::Pending,
                WindowState::Absent | WindowState::Unstarted => continue,
            };
            if let (Some(start_ms), Some(end_ms)) = (view.starts_at_ms, view.ends_at_ms) {
                self.chart.add(view.shard, start_ms, end_ms, progress);
            }
        }
        Ok((limit, shard_count))
    }

    async fn report(&self) -> anyhow::Result<PreviewReport> {
        match self.limiter.preview(subject(), limits()).await.outcome {
            PreviewOutcome::Report(report) => Ok(report),
            other => bail!("the preview failed: {other:?}"),
        }
    }

    // ---- counts ----

    /// Counts a request of `amount` tokens in the window that its answer reports.
    pub(super) fn count(&mut self, answer: &Answer, amount: u64) {
        let admitted = if answer.is_allowed() { amount } else { 0 };
        if let Some(ends_at_ms) = reported_reset_ms(&answer.decision) {
            self.count_in(ends_at_ms, admitted, u64::from(!answer.is_allowed()));
        }
    }

    fn count_in(&mut self, ends_at_ms: u64, admitted: u64, rejected: u64) {
        // Windows that were opened milliseconds apart are one.
        match self.windows.iter_mut().find(|window| window.ends_at_ms.abs_diff(ends_at_ms) < 60_000) {
            Some(window) => {
                window.admitted += admitted;
                window.rejected += rejected;
            }
            None => self.windows.push(WindowTotal { ends_at_ms, admitted, rejected }),
        }
    }

    /// Keeps what an answer cost, for the table at the end; the first of a kind stays.
    pub(super) fn keep_cost(&mut self, kind: &'static str, answer: &Answer) {
        if self.has_cost(kind) {
            return;
        }
        self.costs.push(CostRow {
            kind,
            requests: answer.cost.requests.into(),
            round_trips: answer.cost.round_trips.into(),
            follow_ups: answer.follow_ups as u64,
        });
    }

    pub(super) fn has_cost(&self, kind: &str) -> bool {
        self.costs.iter().any(|row| row.kind == kind)
    }

    // ---- output ----

    pub(super) async fn print_answer(&self, what: &str, at_ms: u64, answer: &Answer) {
        let decision = &answer.decision;
        let status = decision.limits.first();
        let resets = match reported_reset_ms(decision) {
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
            "what": what,
            "left": status.map(|status| status.available),
            "resets_at_ms": reported_reset_ms(decision),
            "at_ms": at_ms,
            "requests": answer.cost.requests,
            "round_trips": answer.cost.round_trips,
            "follow_ups": answer.follow_ups,
        });
        self.output.fact(mark, &clock(at_ms), &format!("{what}: {outcome}"), &cost, event).await;
    }

    /// The shards with their windows, one a line where the line is wide enough.
    pub(super) async fn print_shards(&self, limit: &LimitPreview) {
        let wide = self.output.columns() > 70;
        let mut lines = Vec::new();
        for view in &limit.shards {
            let state = match view.state {
                WindowState::Live => "live",
                WindowState::Pending => "reset pending",
                WindowState::Ended => "ended",
                WindowState::Absent => "no item yet",
                WindowState::Unstarted => "no window yet",
            };
            let ends = view.starts_at_ms.zip(view.ends_at_ms);
            let left = view.balance_milli.div_euclid(1000);
            let name = format!("shard {:<2}", view.shard);
            if wide {
                let window = ends.map(|(start, end)| format!("{:<12} to {:<12}", clock(start), clock(end)));
                let window = window.unwrap_or_default();
                lines.push(format!("  {name} {window:28} {left:>5} tokens  {state}"));
            } else {
                let window = ends.map(|(start, end)| format!("{} to {}", clock(start), clock(end)));
                lines.push(format!("{name} {}", window.unwrap_or_default()));
                lines.push(format!("  {left} tokens, {state}"));
            }
        }
        self.output.lines(&lines).await;
    }
}

pub(super) fn limiter(engine: &Engine, client: Client, clock: Clock) -> Limiter {
    // The virtual clock stands still during a request: none is to miss its deadline.
    let deadline = Duration::from_secs(30);
    Limiter::new(engine.clone(), client, LimiterOptions { clock, deadline, ..LimiterOptions::default() })
}

pub(super) fn subject() -> Subject {
    Subject::new(TABLE, "default", "user-1", "gpt-4")
}

pub(super) fn limits() -> Vec<Limit> {
    vec![Limit::session(QUOTA, CAPACITY, LENGTH_SECONDS)]
}

pub(super) fn reported_reset_ms(decision: &Decision) -> Option<u64> {
    decision.limits.first().and_then(|status| status.resets_at_ms)
}
