//! Request bodies and queries, read into requests.

use std::fmt;

use onewindow::{Amount, Drip, Limit, Recovery};
use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, Visitor},
};

use super::number::Count;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AcquireInput {
    pub(super) entity: String,
    pub(super) resource: String,
    pub(super) consume: Amounts,
    #[serde(default)]
    pub(super) limits: Option<Limits>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SettleInput {
    pub(super) lease: String,
    pub(super) actual: Amounts,
}

/// The body of a preview, or its query. A query has no limits.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PreviewInput {
    pub(super) entity: String,
    pub(super) resource: String,
    #[serde(default)]
    pub(super) limits: Option<Limits>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PreviewQuery {
    pub(super) entity: String,
    pub(super) resource: String,
}

/// Amounts such as `{ "session": 1, … }`, in their order.
#[derive(Debug)]
pub(super) struct Amounts(pub(super) Vec<Amount>);

impl<'de> Deserialize<'de> for Amounts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AmountsVisitor;
        impl<'de> Visitor<'de> for AmountsVisitor {
            type Value = Amounts;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of limit names and whole numbers of tokens")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Amounts, A::Error> {
                let mut amounts = Vec::new();
                while let Some((limit, Count(tokens))) = map.next_entry::<String, Count>()? {
                    amounts.push(Amount { limit, tokens });
                }
                Ok(Amounts(amounts))
            }
        }
        deserializer.deserialize_map(AmountsVisitor)
    }
}

/// Limits as configured.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct Limits(#[serde(deserialize_with = "limits")] pub(super) Vec<Limit>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LimitInput {
    name: String,
    capacity: Count,
    reset_after_seconds: Option<Count>,
    refill_amount: Option<Count>,
    refill_period_seconds: Option<Count>,
}

fn limits<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Limit>, D::Error> {
    let inputs = Vec::<LimitInput>::deserialize(deserializer)?;
    inputs.into_iter().map(|input| limit(input).map_err(de::Error::custom)).collect()
}

fn limit(input: LimitInput) -> Result<Limit, String> {
    let LimitInput {
        name,
        capacity: Count(capacity),
        reset_after_seconds,
        refill_amount,
        refill_period_seconds,
    } = input;
    let recovery = match (reset_after_seconds, refill_amount, refill_period_seconds) {
        (Some(Count(length_seconds)), None, None) => Recovery::Session(length_seconds),
        (None, Some(Count(refill_amount)), Some(Count(refill_period_seconds))) => {
            Recovery::Drip(Drip { refill_amount, refill_period_seconds })
        }
        _ => {
            return Err(format!(
                "limit {:?}: expected either reset_after_seconds, or refill_amount and refill_period_seconds",
                name.chars().take(64).collect::<String>()
            ));
        }
    };
    Ok(Limit { name, capacity, recovery })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(limits: &str) -> Result<AcquireInput, String> {
        let body = format!(
            r#"{{"entity":"user-1","resource":"gpt-4","consume":{{"b":2,"a":"1"}},"limits":{limits}}}"#
        );
        serde_json::from_str(&body).map_err(|error| error.to_string())
    }

    #[test]
    fn a_request_is_read_in_its_order() {
        let input = read(
            r#"[{"name":"b","capacity":100,"reset_after_seconds":18000},
                {"name":"a","capacity":"60","refill_amount":60,"refill_period_seconds":60}]"#,
        )
        .unwrap();
        assert_eq!(input.consume.0, [Amount::new("b", 2), Amount::new("a", 1)]);
        let limits = input.limits.unwrap().0;
        assert_eq!(limits, [Limit::session("b", 100, 18_000), Limit::drip("a", 60, 60, 60)]);
    }

    #[test]
    fn a_limit_recovers_in_one_way() {
        for bad in [
            r#"[{"name":"a","capacity":1}]"#,
            r#"[{"name":"a","capacity":1,"refill_amount":1}]"#,
            r#"[{"name":"a","capacity":1,"reset_after_seconds":1,"refill_amount":1,"refill_period_seconds":1}]"#,
        ] {
            assert!(read(bad).unwrap_err().contains("expected either reset_after_seconds"), "{bad}");
        }
    }

    #[test]
    fn an_unknown_field_is_named() {
        let error = read(r#"[{"name":"a","capacity":1,"window":1}]"#).unwrap_err();
        assert!(error.contains("unknown field `window`"), "{error}");
    }
}
