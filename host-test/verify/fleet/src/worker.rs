//! A process of ours: it acquires through the component until it is killed or its input ends. It prints the
//! same lines as `peer/worker.py`.

use std::{
    io::Read as _,
    time::{Duration, Instant},
};

use anyhow::Context;
use onewindow::{AcquireRequest, Amount, LevelDecision, Limit, Outcome, Settlement, Subject};
use onewindow_host::{Client, ClientConfig, Clock, Credentials, Engine, Limiter, LimiterOptions};
use serde_json::json;

use crate::{
    ledger::QUOTA,
    plan::{Plan, RATE, RESOURCE},
};

/// Tasks at the same time.
const CLIENTS: u32 = 4;

#[derive(Default)]
struct Count {
    acquires: u64,
    admitted: u64,
    rejected: u64,
    printed: Option<Instant>,
}

/// A limiter with the settings of a worker.
pub(crate) fn limiter(plan: &Plan, credentials: Credentials) -> anyhow::Result<Limiter> {
    let config = ClientConfig {
        attempt_timeout: Duration::from_secs(10),
        ..ClientConfig::new(&plan.endpoint, "us-east-1", credentials)
    };
    let options = LimiterOptions {
        clock: Clock::Shifted { by_ms: plan.skew_ms },
        deadline: Duration::from_secs(20),
        // Other processes may release tokens at any time, so half of the rejections ask the table.
        repeat_rejections_for: Duration::from_millis(250),
        ..LimiterOptions::default()
    };
    Ok(Limiter::new(Engine::component()?, Client::new(config)?, options))
}

pub(crate) fn limits(plan: &Plan) -> Vec<Limit> {
    vec![
        Limit::session(QUOTA, plan.capacity, plan.window_seconds),
        Limit::drip(RATE, plan.rate_capacity, plan.rate_capacity, 1),
    ]
}

pub(crate) async fn run(plan: Plan) -> anyhow::Result<()> {
    let limiter = limiter(&plan, Credentials::from_env()?)?;
    let count = std::sync::Arc::new(std::sync::Mutex::new(Count::default()));
    for _ in 0..CLIENTS {
        let (plan, limiter, count) = (plan.clone(), limiter.clone(), count.clone());
        tokio::spawn(async move {
            loop {
                acquire(&plan, &limiter, &count).await;
                let mean_s = f64::from(CLIENTS) / plan.rate;
                tokio::time::sleep(Duration::from_secs_f64(-mean_s * fastrand::f64().max(1e-9).ln())).await;
            }
        });
    }
    // The worker ends with the fleet, for whatever reason that ends.
    tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()))
        .await?
        .context("no standard input")?;
    Ok(())
}

async fn acquire(plan: &Plan, limiter: &Limiter, count: &std::sync::Mutex<Count>) {
    let entities = plan.entities_at(Clock::System.now_ms());
    let Some(entity) = fastrand::choice(&entities) else { return };
    let tokens = *fastrand::choice(&[1, 1, 1, 2, 3]).unwrap_or(&1);
    let answer = limiter
        .acquire_cascading(AcquireRequest {
            subject: Subject::new(&plan.table, &plan.namespace, entity, RESOURCE),
            consume: vec![Amount::new(QUOTA, tokens), Amount::new(RATE, 1)],
            limits: limits(plan),
            ..AcquireRequest::default()
        })
        .await;
    let admitted = match &answer.decision.outcome {
        Outcome::Admitted(_) => true,
        Outcome::Rejected { .. } | Outcome::Contended { .. } => false,
        other => return print(&json!({ "error": format!("{other:?}") })),
    };
    settle(plan, limiter, &answer.decision.levels, tokens).await;
    let mut count = count.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    count.acquires += 1;
    count.admitted += u64::from(admitted);
    count.rejected += u64::from(!admitted);
    if count.printed.is_none_or(|printed| printed.elapsed() > Duration::from_millis(250)) {
        count.printed = Some(Instant::now());
        let Count { acquires, admitted, rejected, .. } = *count;
        print(&json!({ "acquires": acquires, "admitted": admitted, "rejected": rejected }));
    }
}

/// Settles now and then: what was really used differs, on every level.
async fn settle(plan: &Plan, limiter: &Limiter, levels: &[LevelDecision], estimate: u64) {
    let actual = match fastrand::u8(..100) {
        0..8 => 0,
        8 => estimate + plan.correction,
        _ => return,
    };
    for lease in levels.iter().filter_map(|level| level.lease.as_ref()) {
        let settled = limiter.settle(&plan.table, &lease.encode(), vec![Amount::new(QUOTA, actual)]).await;
        match settled.settlement {
            Settlement::Settled | Settlement::WindowOver | Settlement::ItemGone => {}
            Settlement::Unavailable(reason) if reason.contains("won every round") => {}
            other => print(&json!({ "error": format!("settling: {other:?}") })),
        }
    }
}

/// One line for the fleet.
#[expect(clippy::print_stdout, reason = "the fleet reads it")]
fn print(line: &serde_json::Value) {
    println!("{line}");
}
