//! The vectors of `tests/vectors/`: pure decisions, computed by running another implementation on
//! the same table. Every field is compared exactly, through whichever backend implements [`Core`].

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, de::DeserializeOwned};

/// A shard of one limit, as the vectors spell it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShardInput {
    /// Whole tokens.
    pub(crate) capacity: u64,
    /// Whole tokens each period; 0 for a quota.
    #[serde(default)]
    pub(crate) refill_amount: u64,
    #[serde(default)]
    pub(crate) refill_period_ms: Option<u64>,
    pub(crate) reset_after_seconds: Option<u64>,
    pub(crate) shard_count: u32,
    pub(crate) last_refill_ms: i64,
    pub(crate) tokens_milli: i64,
    #[serde(rename = "total_consumed_milli")]
    pub(crate) consumed_milli: Option<i64>,
    pub(crate) consumed_mark_milli: Option<i64>,
    pub(crate) grant_count: Option<i64>,
    pub(crate) topped_up_milli: Option<i64>,
    pub(crate) window_start_ms: Option<i64>,
    pub(crate) window_applied_ms: Option<i64>,
}

/// What a pass over one shard came to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PassView {
    pub(crate) admitted: bool,
    /// Up to date, before anything is taken.
    pub(crate) balance_milli: i64,
    /// After the amount is taken, where it is admitted.
    pub(crate) tokens_milli: i64,
    pub(crate) ceiling_milli: i64,
    pub(crate) grant_count: Option<i64>,
    pub(crate) was_pending: bool,
    pub(crate) opened: bool,
    pub(crate) reset: bool,
    pub(crate) window_start_ms: Option<i64>,
    pub(crate) ends_at_ms: Option<u64>,
    pub(crate) retry_after_ms: u64,
}

/// What is left over some shards.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ReportView {
    /// What is reported: millitokens are summed over shards (R9) before they are rounded.
    pub(crate) available: i64,
    /// What each shard counts with.
    pub(crate) counted_milli: Vec<i64>,
    /// The reported reset instant.
    pub(crate) reported_reset_ms: Option<u64>,
    /// The latest end of a window in force, as stored.
    pub(crate) last_end_ms: Option<u64>,
    /// Whether each shard's window is in force and applied.
    pub(crate) current: Vec<bool>,
}

/// A sibling, as far as a grant is concerned.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SiblingInput {
    pub(crate) shard: u32,
    pub(crate) current: bool,
    pub(crate) grant_count: u32,
    pub(crate) tokens_milli: i64,
}

/// A backend: the library, or the component.
pub(crate) trait Core {
    fn pass(&mut self, shard: &ShardInput, amount: u64, now_ms: u64) -> PassView;
    fn report(&mut self, shards: &[ShardInput], now_ms: u64) -> ReportView;
    /// The balance and the donor.
    fn grant(&mut self, shard: u32, share_milli: i64, siblings: &[SiblingInput]) -> (i64, Option<u32>);
}

/// Runs every vector; how many there were.
pub(crate) fn run_all(core: &mut impl Core) -> [usize; 5] {
    [session_pass(core), drip(core), grant(core), current(core), preview(core)]
}

/// As many as the files hold.
pub(crate) const ALL: [usize; 5] = [500, 300, 300, 300, 200];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case<I, E> {
    input: I,
    expected: E,
}

/// The recorded vectors, found from the crate that runs them.
fn folder() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = here.ancestors().map(|folder| folder.join("component/tests/vectors"));
    folders.find(|folder| folder.is_dir()).expect("the vectors are in the checkout")
}

fn cases<I: DeserializeOwned, E: DeserializeOwned>(file: &str) -> Vec<(usize, I, E)> {
    let path = folder().join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let case = |(index, line)| {
        let Case { input, expected } =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{file}, line {}: {error}", index + 1));
        (index + 1, input, expected)
    };
    text.lines().enumerate().map(case).collect()
}

/// The lines of a file that holds results alone.
fn results<T: DeserializeOwned>(file: &str) -> Vec<T> {
    let path = folder().join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).expect("a result")).collect()
}

/// Whole tokens, rounded down.
fn tokens(milli: i64) -> i64 {
    milli.div_euclid(1000)
}

fn session_pass(core: &mut impl Core) -> usize {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Input {
        amount: u64,
        now_ms: u64,
        state: ShardInput,
    }
    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Expected {
        admitted: bool,
        available: i64,
        ceiling_milli: i64,
        grant_count: Option<i64>,
        opened: bool,
        pending_before: bool,
        reset: bool,
        resets_at_ms: Option<u64>,
        retry_after_ms: u64,
        tokens_milli: i64,
        window_start_ms: Option<i64>,
    }
    let cases = cases::<Input, Expected>("session_pass.jsonl");
    for (line, input, expected) in &cases {
        let materialisation = core.pass(&input.state, input.amount, input.now_ms);
        let found = Expected {
            admitted: materialisation.admitted,
            available: tokens(materialisation.balance_milli),
            ceiling_milli: materialisation.ceiling_milli,
            grant_count: materialisation.grant_count,
            opened: materialisation.opened,
            pending_before: materialisation.was_pending,
            reset: materialisation.reset,
            resets_at_ms: materialisation.ends_at_ms,
            retry_after_ms: materialisation.retry_after_ms,
            // A rejected pass writes nothing; where it resets nothing either, not even the clamp to
            // the ceiling is taken into account.
            tokens_milli: if materialisation.admitted || materialisation.reset {
                materialisation.tokens_milli
            } else {
                input.state.tokens_milli
            },
            window_start_ms: materialisation.window_start_ms,
        };
        assert_eq!(&found, expected, "session_pass, line {line}");
    }
    cases.len()
}

/// Milliseconds, as the vectors count them: beyond 2^53 in doubles, which our whole numbers are
/// only near; and beyond 64 bits, where ours stop.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Wait(u128);

impl PartialEq for Wait {
    #[expect(clippy::cast_precision_loss, reason = "it is the precision lost that is allowed for")]
    fn eq(&self, other: &Self) -> bool {
        let [ours, theirs] = [self.0, other.0].map(|wait| wait.min(u64::MAX.into()));
        if theirs < 1 << 53 { ours == theirs } else { (ours as f64 / theirs as f64 - 1.0).abs() < 1e-9 }
    }
}

fn drip(core: &mut impl Core) -> usize {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Input {
        amount: u64,
        capacity: u64,
        last_refill_ms: i64,
        now_ms: u64,
        refill_amount: u64,
        refill_period_ms: u64,
        shard_count: u32,
        tokens_milli: i64,
    }
    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Expected {
        admitted: bool,
        available: i64,
        retry_after_ms: Wait,
        tokens_after_refill_milli: i64,
        tokens_milli: i64,
    }
    let cases = cases::<Input, Expected>("drip.jsonl");
    for (line, input, expected) in &cases {
        let shard = ShardInput {
            capacity: input.capacity,
            refill_amount: input.refill_amount,
            refill_period_ms: Some(input.refill_period_ms),
            reset_after_seconds: None,
            shard_count: input.shard_count,
            last_refill_ms: input.last_refill_ms,
            tokens_milli: input.tokens_milli,
            consumed_milli: None,
            consumed_mark_milli: None,
            grant_count: None,
            topped_up_milli: None,
            window_start_ms: None,
            window_applied_ms: None,
        };
        let materialisation = core.pass(&shard, input.amount, input.now_ms);
        let found = Expected {
            admitted: materialisation.admitted,
            available: tokens(materialisation.balance_milli),
            retry_after_ms: Wait(u128::from(materialisation.retry_after_ms)),
            tokens_after_refill_milli: materialisation.balance_milli,
            tokens_milli: materialisation.tokens_milli,
        };
        assert_eq!(&found, expected, "drip, line {line}");
    }
    cases.len()
}

fn grant(core: &mut impl Core) -> usize {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Input {
        shard: u32,
        #[serde(rename = "shard_count")]
        _shard_count: u32,
        share_milli: i64,
        siblings: Vec<SiblingInput>,
    }
    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Expected {
        donor: Option<u32>,
        donor_grant_count: Option<u32>,
        tokens_milli: i64,
    }
    let cases = cases::<Input, Expected>("grant.jsonl");
    for (line, input, expected) in &cases {
        let (tokens_milli, donor) = core.grant(input.shard, input.share_milli, &input.siblings);
        // The vectors name no two siblings of one slot but with one grant count.
        let of_donor =
            |donor| input.siblings.iter().find(|sibling| sibling.shard == donor && sibling.current);
        let donor_grant_count = donor.and_then(of_donor).map(|sibling| sibling.grant_count);
        let found = Expected { donor, donor_grant_count, tokens_milli };
        assert_eq!(&found, expected, "grant, line {line}");
    }
    cases.len()
}

fn current(core: &mut impl Core) -> usize {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct State {
        last_refill_ms: i64,
        reset_after_seconds: u64,
        window_applied_ms: Option<i64>,
        window_start_ms: Option<i64>,
    }
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Input {
        now_ms: u64,
        state: State,
    }
    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Expected {
        current: bool,
    }
    let cases = cases::<Input, Expected>("current.jsonl");
    for (line, input, expected) in &cases {
        let shard = ShardInput {
            capacity: 1,
            refill_amount: 0,
            refill_period_ms: None,
            reset_after_seconds: Some(input.state.reset_after_seconds),
            shard_count: 1,
            last_refill_ms: input.state.last_refill_ms,
            tokens_milli: 0,
            consumed_milli: None,
            consumed_mark_milli: None,
            grant_count: None,
            topped_up_milli: None,
            window_start_ms: input.state.window_start_ms,
            window_applied_ms: input.state.window_applied_ms,
        };
        let report = core.report(&[shard], input.now_ms);
        assert_eq!(report.current, [expected.current], "current, line {line}");
    }
    cases.len()
}

fn preview(core: &mut impl Core) -> usize {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Input {
        now_ms: u64,
        shards: Vec<ShardInput>,
    }
    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Expected {
        available: i64,
        resets_at_ms: Option<u64>,
    }
    let cases = cases::<Input, Expected>("preview.jsonl");
    // What `edge-examples/browser` shows a person, line by line.
    let shown: Vec<Expected> = results("preview_shown.jsonl");
    assert_eq!(shown.len(), cases.len());
    for ((line, input, expected), shown) in cases.iter().zip(shown) {
        let report = core.report(&input.shards, input.now_ms);
        // The vectors round each shard down by itself, and never report more than the capacity.
        let capacity = i64::try_from(input.shards[0].capacity).unwrap();
        let whole: i64 = report.counted_milli.iter().map(|milli| tokens(*milli)).sum();
        let found = Expected { available: whole.min(capacity), resets_at_ms: report.last_end_ms };
        assert_eq!(&found, expected, "preview, line {line}");
        let topped_up: i64 = input.shards.iter().filter_map(|shard| shard.topped_up_milli).sum();
        let gathered = tokens(report.counted_milli.iter().sum());
        assert!(
            report.available <= gathered && report.available >= gathered.min(capacity),
            "preview, line {line}: {report:?}"
        );
        assert!(report.available <= capacity + tokens(topped_up), "preview, line {line}: {report:?}");
        // F15: the reported instant is never further away than one length.
        let length_ms =
            input.shards.iter().filter_map(|shard| shard.reset_after_seconds).max().unwrap_or(0) * 1000;
        let reported_reset_ms = expected.resets_at_ms.map(|end_ms| end_ms.min(input.now_ms + length_ms));
        assert_eq!(report.reported_reset_ms, reported_reset_ms, "preview, line {line}");
        let told = Expected { available: report.available, resets_at_ms: report.reported_reset_ms };
        assert_eq!(told, shown, "preview as shown, line {line}");
    }
    cases.len()
}
