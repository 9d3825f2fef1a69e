//! One host: a process that acquires and settles until it is killed.
//!
//! It prints the answers to its callers, one line each: `A` and the lease of an admission, `R` for a
//! rejection, `C` for contention, `U` for unavailable, `S` and the result of a settlement, `E` and an
//! error that should never happen.

use std::{
    io::Write as _,
    sync::Arc,
    time::{Duration, SystemTime},
};

use onewindow::Settlement;
use onewindow_host::{
    AcquireRequest, Amount, Client, ClientConfig, Clock, Credentials, Engine, Limiter, LimiterOptions,
    Outcome,
};
use onewindow_model::quota::LIMIT;
use tokio::{task::JoinSet, time::sleep};

use crate::load::{Load, TABLE};

/// The options of a host.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Where the table is.
    #[arg(long)]
    pub endpoint: String,
    /// Another seed is another host.
    #[arg(long)]
    pub seed: u64,
    /// How far its clock is ahead, ms.
    #[arg(long, allow_negative_numbers = true)]
    pub skew_ms: i64,
    /// What it does.
    #[command(flatten)]
    pub load: Load,
}

/// Runs a host until it is killed.
///
/// # Errors
/// Where it cannot be set up.
pub async fn run(options: Options) -> anyhow::Result<()> {
    let clock = Clock::at(skewed(options.skew_ms));
    let config = ClientConfig {
        attempt_timeout: Duration::from_millis(300),
        ..ClientConfig::new(&options.endpoint, "us-east-1", Credentials::unchecked())
    };
    let limiter = Limiter::new(
        if options.load.native { Engine::native() } else { Engine::component()? },
        Client::new(config)?,
        LimiterOptions { clock: clock.clone(), ..LimiterOptions::default() },
    );
    let options = Arc::new(options);
    let mut tasks = JoinSet::new();
    for index in 0..options.load.callers {
        tasks.spawn(caller(limiter.clone(), options.clone(), u64::from(index)));
    }
    loop {
        clock.set_ms(skewed(options.skew_ms));
        sleep(Duration::from_millis(1)).await;
    }
}

fn skewed(skew_ms: i64) -> u64 {
    Clock::System.now_ms().saturating_add_signed(skew_ms)
}

async fn caller(limiter: Limiter, options: Arc<Options>, index: u64) {
    let load = &options.load;
    let mut dice = fastrand::Rng::with_seed(options.seed.wrapping_mul(1000).wrapping_add(index));
    loop {
        let subject = load.subject(SystemTime::now(), &mut dice);
        let tokens = dice.u64(1..=load.most_tokens);
        let answer = limiter
            .acquire(AcquireRequest {
                subject,
                consume: vec![Amount::new(LIMIT, tokens)],
                limits: vec![load.limit()],
                ..AcquireRequest::default()
            })
            .await;
        match answer.decision.outcome {
            Outcome::Admitted(lease) => {
                let lease = lease.encode();
                print(&format!("A {lease}"));
                if dice.u32(..100) < load.settled_percent {
                    // Less than was debited, all of it, or one more.
                    let used = dice.u64(..=tokens + 1);
                    let actual = vec![Amount::new(LIMIT, used)];
                    print(&match limiter.settle(TABLE, &lease, actual).await.settlement {
                        Settlement::Failed(error) => format!("E settle: {error}"),
                        Settlement::Misconfigured(reason) => format!("E settle: {reason}"),
                        Settlement::Settled => "S settled".into(),
                        Settlement::WindowOver => "S over".into(),
                        Settlement::ItemGone => "S gone".into(),
                        Settlement::Unavailable(_) => "S unavailable".into(),
                    });
                }
            }
            Outcome::Rejected { .. } => {
                print("R");
                // A caller that retries at once gets a remembered rejection, and nothing reaches the table.
                sleep(Duration::from_millis(dice.u64(5..50))).await;
            }
            Outcome::Contended { retry_after_ms } => {
                print("C");
                sleep(Duration::from_millis(retry_after_ms)).await;
            }
            Outcome::Unavailable(_) => print("U"),
            other => print(&format!("E acquire: {other:?}")),
        }
    }
}

/// Prints a whole line at once. It is no error if nobody reads it any more.
fn print(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(format!("{line}\n").as_bytes());
    let _ = out.flush();
}
