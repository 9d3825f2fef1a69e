//! The other implementation's decisions beside ours, on random items. The same bucket is stored twice, once
//! for each side. Then each side goes on with the items of the other.

mod compare;
mod random;
mod sides;

use std::time::Duration;

use fastrand::Rng;
use onewindow::Subject;
use onewindow_host::{Client, ClientConfig, Credentials};

use crate::{
    plan::{Plan, RESOURCE},
    process::Peer,
};
use compare::Differences;
use random::{LENGTH_MS, NOW_MS, random_acquisition, random_bucket};
use sides::{acquire, for_peer, put, read};

/// How often the sides exchange their items.
const ROUNDS: u32 = 3;

/// Compares both sides on random buckets, and prints the differences; true: all are explained.
pub(crate) async fn run(plan: &Plan, mut peer: Peer, cases: u64, seed: u64) -> anyhow::Result<bool> {
    let credentials = Credentials::fixed("operator-differ", "fleet", None);
    let client = Client::new(ClientConfig {
        attempt_timeout: Duration::from_secs(10),
        ..ClientConfig::new(&plan.endpoint, "us-east-1", credentials)
    })?;
    let mut rng = Rng::with_seed(seed);
    let mut differences = Differences::default();
    for case in 0..cases {
        let names = [format!("d{seed}-{case}-a"), format!("d{seed}-{case}-b")];
        let subjects =
            names.each_ref().map(|name| Subject::new(&plan.table, &plan.namespace, name, RESOURCE));
        let (bucket, count) = random_bucket(&mut rng);
        for (id, item) in &bucket {
            for subject in &subjects {
                put(&client, subject, *id, item).await?;
            }
        }
        let mut now_ms = NOW_MS;
        for round in 0..ROUNDS {
            let acquisition = random_acquisition(&mut rng, now_ms, count);
            let turn = usize::try_from(round % 2)?;
            let (ours_at, theirs_at) = (&subjects[turn], &subjects[1 - turn]);
            let before = read(&client, ours_at).await?;
            let ours = acquire(&client, ours_at, &acquisition).await?;
            let theirs = peer.ask(&for_peer(&theirs_at.entity, &acquisition))?;
            let after = (read(&client, ours_at).await?, read(&client, theirs_at).await?);
            differences.acquires += 1;
            if !differences.compare(case, round, &acquisition, &before, (&ours, &theirs), after) {
                break;
            }
            now_ms += rng.i64(1..LENGTH_MS);
        }
    }
    Ok(differences.print(cases))
}
