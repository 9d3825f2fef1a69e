//! The table's history: writes that landed, in order.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// An item in DynamoDB JSON.
pub(crate) type Image = Map<String, Value>;

/// One item's part of a commit.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    pub(crate) pk: String,
    pub(crate) before: Option<Image>,
    pub(crate) after: Option<Image>,
}

/// One request that landed.
#[derive(Clone, Debug)]
pub(crate) struct Commit {
    pub(crate) sequence: u64,
    /// By the recorder's clock, epoch ms.
    pub(crate) at_ms: i64,
    /// The access key that signed it: which process wrote.
    pub(crate) client: String,
    pub(crate) operation: String,
    pub(crate) writes: Vec<Write>,
}

/// A whole number of an image; none where it is absent or something else.
pub(crate) fn number(image: &Image, name: &str) -> Option<i128> {
    image.get(name)?.get("N")?.as_str()?.parse().ok()
}

/// The bucket's key without the shard, and the shard; none: it is no bucket item.
pub(crate) fn place(pk: &str) -> Option<(&str, u32)> {
    let (bucket, shard) = pk.rsplit_once('#')?;
    bucket.contains("/BUCKET#").then_some(())?;
    Some((bucket, shard.parse().ok()?))
}

impl Commit {
    /// One line a write: what changed, from what to what.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.writes.iter().map(|write| self.line(write)).collect()
    }

    fn line(&self, write: &Write) -> String {
        let empty = Image::new();
        let (before, after) =
            (write.before.as_ref().unwrap_or(&empty), write.after.as_ref().unwrap_or(&empty));
        let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
        names.sort_unstable();
        names.dedup();
        let mut line =
            format!("{} {} {} {} {}", self.sequence, self.at_ms, self.client, self.operation, write.pk);
        for name in names.into_iter().filter(|name| !name.starts_with("GSI")) {
            let (old, new) = (before.get(name), after.get(name));
            if old != new {
                // Writing into a string cannot fail.
                let _ = write!(line, " {name}:{}→{}", plain(old), plain(new));
            }
        }
        line
    }
}

fn plain(value: Option<&Value>) -> String {
    let inner = value.and_then(Value::as_object).and_then(|tagged| tagged.values().next());
    match inner {
        None => "·".into(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}
