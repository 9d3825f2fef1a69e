//! The other implementation's decisions beside ours, on random items: the same bucket twice, one
//! for each side; then each goes on from what the other left behind.
//!
//! A difference has the rule that explains it, or it is a failure.

#![expect(clippy::print_stdout, reason = "the table of differences is the point")]

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use fastrand::Rng;
use onewindow::{Acquire, AcquireRequest, Amount, Call, Hint, Limit, Outcome, Reply, Resend, Step, Subject};
use onewindow_host::{Client, ClientConfig, Cost, Credentials};
use serde_json::{Value, json};

use crate::{
    history::{Image, number},
    ledger::QUOTA,
    plan::{Plan, RATE, RESOURCE},
    process::Peer,
};

/// When it is, in every first round, ms.
const NOW_MS: i64 = 1_800_000_000_000;
/// The quota: tokens, and the window's length.
const CAPACITY: i64 = 96;
const LENGTH_MS: i64 = 60_000;
/// The dripping limit: tokens, and as many a minute.
const RATE_CAPACITY: i64 = 60;
/// How often the sides change places.
const ROUNDS: u32 = 3;

/// One acquire, the same for both sides.
struct Ask {
    now_ms: i64,
    shard: u32,
    count: u32,
    consume: Vec<(&'static str, u64)>,
}

type Bucket = BTreeMap<u32, Image>;

/// What the cases came to.
#[derive(Default)]
struct Table {
    acquires: u64,
    agreed: u64,
    explained: BTreeMap<&'static str, u64>,
    unexplained: Vec<String>,
}

pub(crate) async fn run(plan: &Plan, mut peer: Peer, cases: u64, seed: u64) -> anyhow::Result<bool> {
    let credentials = Credentials::fixed("operator-differ", "fleet", None);
    let client = Client::new(ClientConfig {
        attempt_timeout: Duration::from_secs(10),
        ..ClientConfig::new(&plan.endpoint, "us-east-1", credentials)
    })?;
    let mut rng = Rng::with_seed(seed);
    let mut table = Table::default();
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
            let ask = random_ask(&mut rng, now_ms, count);
            let turn = usize::try_from(round % 2)?;
            let (ours_at, theirs_at) = (&subjects[turn], &subjects[1 - turn]);
            let before = read(&client, ours_at).await?;
            let ours = acquire(&client, ours_at, &ask).await?;
            let theirs = peer.ask(&spelled(&theirs_at.entity, &ask))?;
            let after = (read(&client, ours_at).await?, read(&client, theirs_at).await?);
            table.acquires += 1;
            if !table.compare(case, round, &ask, &before, (&ours, &theirs), after) {
                break;
            }
            now_ms += rng.i64(1..LENGTH_MS);
        }
    }
    Ok(table.print(cases))
}

// ---- what is asked ----

fn random_ask(rng: &mut Rng, now_ms: i64, count: u32) -> Ask {
    let amount = |rng: &mut Rng| *rng.choice(&[1, 1, 2, 3, 5, 24, 40]).unwrap_or(&1);
    let mut consume = vec![(QUOTA, amount(rng))];
    if rng.bool() {
        consume.push((RATE, amount(rng)));
    }
    Ask { now_ms, shard: rng.u32(..count), count, consume }
}

/// Shards as fleets leave them: live, ended, pending, unmarked, sparse, in debt, topped up.
fn random_bucket(rng: &mut Rng) -> (Bucket, u32) {
    let count = *rng.choice(&[1, 1, 1, 2, 4]).unwrap_or(&1);
    let start = NOW_MS - rng.i64(-500..LENGTH_MS + 20_000);
    let shards = (0..count).filter(|_| count == 1 || rng.u8(..10) > 0).collect::<Vec<_>>();
    let present = if count == 1 && rng.u8(..20) == 0 { Vec::new() } else { shards };
    (present.into_iter().map(|id| (id, random_item(rng, count, start))).collect(), count)
}

fn random_item(rng: &mut Rng, count: u32, start: i64) -> Image {
    let share = CAPACITY * 1000 / i64::from(count);
    let mut item = Image::new();
    let mut set = |name: &str, value: i64| {
        item.insert(name.into(), json!({ "N": value.to_string() }));
    };
    let quota = |field: &str| format!("b_{QUOTA}_{field}");
    let consumed = rng.i64(0..200) * 1000;
    set(&quota("cp"), CAPACITY * 1000);
    set(&quota("ra"), 0);
    set(&quota("rp"), 1000);
    set(&quota("tc"), consumed);
    set(&quota("tk"), *rng.choice(&[share, 0, 1000, 3000, share / 2, -4000]).unwrap_or(&0));
    set(&quota("rsa"), LENGTH_MS / 1000);
    let refill = *rng.choice(&[start, NOW_MS - 1500, NOW_MS - 30_000]).unwrap_or(&start);
    set("rf", refill);
    // A window: live or ended and applied, propagated and pending, older than the marker, or none.
    match rng.u8(..10) {
        0 => {}
        1 => set(&quota("ws"), start),
        2..=4 => {
            set(&quota("ws"), start);
            set(&quota("wa"), start - LENGTH_MS - rng.i64(0..10_000));
            set(&quota("gc"), i64::from(count));
            if rng.bool() {
                set(&quota("wtc"), consumed - rng.i64(0..5) * 1000);
            }
            set("vu", 0);
        }
        _ => {
            set(&quota("ws"), start);
            set(&quota("wa"), start);
            set(&quota("gc"), i64::from(count));
            if rng.u8(..4) > 0 {
                set("vu", start + LENGTH_MS);
            }
            if rng.u8(..8) == 0 {
                set(&quota("tu"), 10_000);
            }
        }
    }
    set(&format!("b_{RATE}_tk"), *rng.choice(&[60_000, 0, 2000, -3000]).unwrap_or(&0) / i64::from(count));
    set(&format!("b_{RATE}_cp"), RATE_CAPACITY * 1000);
    set(&format!("b_{RATE}_ra"), RATE_CAPACITY * 1000);
    set(&format!("b_{RATE}_rp"), 60_000);
    set(&format!("b_{RATE}_tc"), 0);
    for (field, value) in [("tk", 1_000_000), ("cp", 1_000_000), ("ra", 1_000_000), ("rp", 1000), ("tc", 0)] {
        set(&format!("b_wcu_{field}"), value);
    }
    set("shard_count", i64::from(count));
    set("ttl", NOW_MS / 1000 + if rng.u8(..12) == 0 { -5 } else { 600 });
    item
}

// ---- the two sides ----

fn limits() -> Vec<Limit> {
    let whole = |number: i64| u64::try_from(number).unwrap_or(1);
    vec![
        Limit::session(QUOTA, whole(CAPACITY), whole(LENGTH_MS / 1000)),
        Limit::drip(RATE, whole(RATE_CAPACITY), whole(RATE_CAPACITY), 60),
    ]
}

/// The acquire as the peer's process reads it.
fn spelled(entity: &str, ask: &Ask) -> String {
    let consume: BTreeMap<_, _> = ask.consume.iter().copied().collect();
    json!({
        "entity": entity, "now_ms": ask.now_ms, "shard": ask.shard, "count": ask.count, "consume": consume,
        "capacity": CAPACITY, "window_seconds": LENGTH_MS / 1000, "rate_capacity": RATE_CAPACITY,
    })
    .to_string()
}

/// Ours, drawing the same shard, follow-ups included.
async fn acquire(client: &Client, subject: &Subject, ask: &Ask) -> anyhow::Result<Outcome> {
    let hint = Hint { key: subject.hint_key(), shard_count: ask.count, rejections: Vec::new() };
    let request = AcquireRequest {
        subject: subject.clone(),
        consume: ask.consume.iter().map(|(name, tokens)| Amount::new(name, *tokens)).collect(),
        limits: limits(),
        hint: Some(hint),
        ..AcquireRequest::default()
    };
    let now_ms = u64::try_from(ask.now_ms)?;
    let wanted = format!("{:?}", subject.bucket_pk(ask.shard));
    let drawn = (0..4096).find_map(|seed| {
        let mut machine = Acquire::new(AcquireRequest { seed, ..request.clone() });
        let step = machine.advance(now_ms, &[]);
        matches!(&step, Step::Perform(calls) if calls[0].body.contains(&wanted)).then_some((machine, step))
    });
    let (mut machine, mut step) = drawn.context("no seed draws the shard")?;
    loop {
        match step {
            Step::Perform(calls) => step = machine.advance(now_ms, &perform(client, &calls).await),
            Step::Done(decision) => {
                perform(client, &decision.follow_ups).await;
                return Ok(decision.outcome);
            }
        }
    }
}

async fn perform(client: &Client, calls: &[Call]) -> Vec<Reply> {
    let deadline = Instant::now() + Duration::from_secs(10);
    if calls.is_empty() { Vec::new() } else { client.perform(calls, deadline, &mut Cost::default()).await }
}

async fn put(client: &Client, subject: &Subject, shard: u32, item: &Image) -> anyhow::Result<()> {
    let mut item = item.clone();
    let Subject { namespace, entity, resource, .. } = subject;
    for (name, value) in [
        ("PK", subject.bucket_pk(shard)),
        ("SK", "#STATE".into()),
        ("entity_id", entity.clone()),
        ("resource", resource.clone()),
        ("GSI2PK", format!("{namespace}/RESOURCE#{resource}")),
        ("GSI2SK", format!("BUCKET#{entity}#{shard}")),
        ("GSI3PK", format!("{namespace}/ENTITY#{entity}")),
        ("GSI3SK", format!("BUCKET#{resource}#{shard}")),
        ("GSI4PK", namespace.clone()),
        ("GSI4SK", format!("BUCKET#{entity}#{resource}#{shard}")),
    ] {
        item.insert(name.into(), json!({ "S": value }));
    }
    item.insert("cascade".into(), json!({ "BOOL": false }));
    let body = json!({ "TableName": subject.table, "Item": item }).to_string();
    let call = Call { operation: "PutItem", body, resend: Resend::Idempotent };
    let replies = perform(client, &[call]).await;
    ensure!(matches!(&replies[..], [Reply::Http { status: 200, .. }]), "{replies:?}");
    Ok(())
}

/// The bucket's balances, without what is about keys, lives and the write budget.
async fn read(client: &Client, subject: &Subject) -> anyhow::Result<Bucket> {
    let key = |shard: u32| json!({ "PK": { "S": subject.bucket_pk(shard) }, "SK": { "S": "#STATE" } });
    let keys: Vec<Value> = (0..8).map(key).collect();
    let body = json!({ "RequestItems": { &subject.table: { "Keys": keys, "ConsistentRead": true } } });
    let call = Call { operation: "BatchGetItem", body: body.to_string(), resend: Resend::Idempotent };
    let replies = perform(client, &[call]).await;
    let [Reply::Http { status: 200, body }] = &replies[..] else { anyhow::bail!("{replies:?}") };
    let body: Value = serde_json::from_str(body)?;
    let mut bucket = Bucket::new();
    for item in body["Responses"][&subject.table].as_array().into_iter().flatten() {
        let pk = item["PK"]["S"].as_str().context("an item without a key")?;
        let id = pk.rsplit('#').next().context("a key without a shard")?.parse()?;
        let mut image = item.as_object().cloned().unwrap_or_default();
        let counts = |name: &String| {
            (name.starts_with("b_") && !name.starts_with("b_wcu") && !name.ends_with("sched"))
                || matches!(name.as_str(), "rf" | "vu" | "shard_count")
        };
        image.retain(|name, _| counts(name));
        bucket.insert(id, image);
    }
    Ok(bucket)
}

// ---- the comparison ----

const NEVER: &str = "R9: an amount above what the capacity can hold is refused as never fitting";
const GATHERED: &str = "R9: served by a look at all shards where the drawn one is short";
const FORWARD: &str = "R6: rf strictly forward, and never behind a window it carries";
const FAST: &str = "R11: the fast write checks the window itself; the peer goes by vu alone";
const JOINED: &str = "R7, R8: a shard made beside others, in one transaction";
const UNMARKED: &str = "R5: every pass stamps wa and gc, on items older than the markers too";
const ELSEWHERE: &str =
    "section 6: ours makes the pass that serves on the drawn shard; the peer may try another first";
const REFUSED_MOVE: &str = "R1, R8: what a refused pass may write";

impl Table {
    /// Whether the sides may go on from here: they stand alike.
    fn compare(
        &mut self,
        case: u64,
        round: u32,
        ask: &Ask,
        before: &Bucket,
        (ours, theirs): (&Outcome, &Value),
        (ours_after, theirs_after): (Bucket, Bucket),
    ) -> bool {
        let told = theirs["outcome"].as_str().unwrap_or("error");
        let said = match ours {
            Outcome::Admitted(_) => "admitted",
            Outcome::Rejected { .. } => "rejected",
            Outcome::NeverFits { .. } => "never fits",
            _ => "error",
        };
        let reason = if said != told {
            outcome_reason(ask, before, said, told)
        } else if ours_after == theirs_after {
            self.agreed += 1;
            return true;
        } else {
            items_reason(ask, before, said, &ours_after, &theirs_after)
        };
        match reason {
            Some(reason) => *self.explained.entry(reason).or_default() += 1,
            None => self.unexplained.push(format!(
                "case {case}, round {round}: at {} {:?} of shard {} of {}: we {ours:?}, they {theirs}\n    before {}\n    ours   {}\n    theirs {}",
                ask.now_ms, ask.consume, ask.shard, ask.count,
                shown(before), shown(&ours_after), shown(&theirs_after),
            )),
        }
        // A difference that goes on to the next round would be counted again.
        false
    }

    fn print(&self, cases: u64) -> bool {
        println!("\n  {} acquires on {cases} random buckets, by both sides", self.acquires);
        println!("  {:>6}  alike: the answer, and the items after it", self.agreed);
        for (reason, times) in &self.explained {
            println!("  {times:>6}  {reason}");
        }
        for unexplained in self.unexplained.iter().take(8) {
            println!("  ✘ {unexplained}");
        }
        println!("\n  {} unexplained", self.unexplained.len());
        self.unexplained.is_empty()
    }
}

fn outcome_reason(ask: &Ask, before: &Bucket, said: &str, told: &str) -> Option<&'static str> {
    let sharded = ask.count > 1;
    match (said, told) {
        ("never fits", "rejected") => Some(NEVER),
        ("admitted", "rejected") if sharded => Some(GATHERED),
        _ if before.get(&ask.shard).is_some_and(|item| is_ungated(item, ask.now_ms)) => Some(FAST),
        _ => None,
    }
}

/// Without `vu` the peer spends a balance whose reset is due; ours resets it first.
fn is_ungated(item: &Image, now_ms: i64) -> bool {
    let of = |field: &str| number(item, &format!("b_{QUOTA}_{field}"));
    let is_live = of("ws").is_some_and(|start| start + i128::from(LENGTH_MS) > i128::from(now_ms));
    let applied = of("wa").or(number(item, "rf"));
    number(item, "vu").is_none() && !(is_live && of("ws") <= applied)
}

fn items_reason(
    ask: &Ask,
    before: &Bucket,
    said: &str,
    ours: &Bucket,
    theirs: &Bucket,
) -> Option<&'static str> {
    let drawn = before.get(&ask.shard);
    let without = |bucket: &Bucket, names: &[&str]| -> Bucket {
        let mut bucket = bucket.clone();
        bucket.values_mut().for_each(|item| item.retain(|name, _| !names.contains(&name.as_str())));
        bucket
    };
    let alike = |names: &[&str]| without(ours, names) == without(theirs, names);
    let (wa, gc) = (format!("b_{QUOTA}_wa"), format!("b_{QUOTA}_gc"));
    let sharded = ask.count > 1;
    match () {
        () if alike(&["rf"]) => Some(FORWARD),
        () if drawn.is_some_and(|item| number(item, &wa).is_none()) && alike(&["rf", &wa, &gc]) => {
            Some(UNMARKED)
        }
        () if drawn.is_none() && sharded => Some(JOINED),
        () if said == "rejected" => Some(REFUSED_MOVE),
        () if drawn.is_some_and(|item| is_ungated(item, ask.now_ms)) => Some(FAST),
        () if sharded && said == "admitted" && theirs.get(&ask.shard) == drawn => Some(ELSEWHERE),
        () if sharded && ours.iter().any(|(id, item)| *id != ask.shard && before.get(id) != Some(item)) => {
            Some(GATHERED)
        }
        () => None,
    }
}

fn shown(bucket: &Bucket) -> String {
    let text = |item: &Image| {
        let pairs =
            item.iter().filter(|(name, _)| !matches!(name.as_str(), "b_rpm_cp" | "b_rpm_ra" | "b_rpm_rp"));
        let pairs: Vec<String> = pairs
            .map(|(name, value)| {
                format!("{}={}", name.trim_start_matches("b_"), value["N"].as_str().unwrap_or("?"))
            })
            .collect();
        pairs.join(" ")
    };
    bucket.iter().map(|(id, item)| format!("[{id}: {}]", text(item))).collect::<Vec<_>>().join(" ")
}
