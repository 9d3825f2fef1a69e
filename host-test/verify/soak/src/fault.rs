//! What can happen to a request on its way to the table, and to its reply on the way back.

use std::{collections::VecDeque, fmt, time::Duration};

/// Something that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// The connection is cut before the request reaches the table.
    RequestCut,
    /// The request waits on its way. Its sender may be gone when it arrives.
    RequestDelayed,
    /// The table gets the request twice; the second reply is returned.
    RequestDuplicated,
    /// The connection is cut after the request was carried out.
    ReplyCut,
    /// The reply waits on its way.
    ReplyDelayed,
    /// The reply waits until a later one has been sent.
    ReplyOvertaken,
    /// Half of the reply, then the connection is cut.
    ReplyTruncated,
    /// 500, nothing was carried out.
    ServerError,
    /// 500, although it was carried out.
    ServerErrorAfter,
    /// The partition refuses requests for now.
    Throttled,
    /// Another transaction is at work on the item.
    Conflicted,
    /// The request was signed too long ago, by the table's clock.
    SignatureExpired,
}

impl Fault {
    /// Every kind.
    pub const ALL: [Self; 12] = [
        Self::RequestCut,
        Self::RequestDelayed,
        Self::RequestDuplicated,
        Self::ReplyCut,
        Self::ReplyDelayed,
        Self::ReplyOvertaken,
        Self::ReplyTruncated,
        Self::ServerError,
        Self::ServerErrorAfter,
        Self::Throttled,
        Self::Conflicted,
        Self::SignatureExpired,
    ];

    /// The status and the error body that the table would answer with; none: the fault is no answer.
    pub(crate) fn answer(self, operation: &str) -> Option<(u16, String)> {
        let transaction = operation == "TransactWriteItems";
        let (status, name, message) = match self {
            Self::ServerError | Self::ServerErrorAfter => {
                (500, "com.amazonaws.dynamodb.v20120810#InternalServerError", "Internal server error")
            }
            Self::Throttled if transaction => (
                400,
                "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
                "Transaction cancelled, please refer cancellation reasons for specific reasons [ThrottlingError]",
            ),
            Self::Throttled => (
                400,
                "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",
                "The level of configured provisioned throughput for the table was exceeded.",
            ),
            Self::Conflicted if transaction => (
                400,
                "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
                "Transaction cancelled, please refer cancellation reasons for specific reasons [TransactionConflict]",
            ),
            Self::Conflicted => (
                400,
                "com.amazonaws.dynamodb.v20120810#TransactionConflictException",
                "Transaction is ongoing for the item",
            ),
            Self::SignatureExpired => (
                400,
                "com.amazon.coral.service#InvalidSignatureException",
                "Signature expired: 20150830T123600Z is now earlier than 20150830T124100Z (20150830T124600Z - 5 min.)",
            ),
            _ => return None,
        };
        let reasons = match self {
            Self::Throttled if transaction => {
                r#","CancellationReasons":[{"Code":"ThrottlingError","Message":"Throughput exceeds the current capacity of your table or index."}]"#
            }
            Self::Conflicted if transaction => {
                r#","CancellationReasons":[{"Code":"TransactionConflict","Message":"Transaction is ongoing for the item"}]"#
            }
            _ => "",
        };
        Some((status, format!(r#"{{"__type":"{name}","message":"{message}"{reasons}}}"#)))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RequestCut => "connection cut before the request",
            Self::RequestDelayed => "request delayed",
            Self::RequestDuplicated => "request duplicated",
            Self::ReplyCut => "connection cut after the request",
            Self::ReplyDelayed => "reply delayed",
            Self::ReplyOvertaken => "reply overtaken by a later one",
            Self::ReplyTruncated => "reply truncated",
            Self::ServerError => "500, not carried out",
            Self::ServerErrorAfter => "500, carried out",
            Self::Throttled => "throttled",
            Self::Conflicted => "transaction conflict",
            Self::SignatureExpired => "signature expired",
        })
    }
}

/// Which faults happen.
///
/// Faults that a test asked for come first, each for the next request of its operation. The others are
/// drawn at random.
#[derive(Clone, Debug)]
pub struct Plan {
    asked: VecDeque<(String, Fault)>,
    per_mille: u32,
    longest_delay: Duration,
    dice: fastrand::Rng,
}

impl Plan {
    /// No faults, except those that a test asks for.
    #[must_use]
    pub fn none() -> Self {
        Self::drawn(0, Duration::ZERO, 0)
    }

    /// Each kind happens to `per_mille` of 1000 requests. Delays last up to `longest_delay`.
    /// Another `seed` is another plan.
    #[must_use]
    pub fn drawn(per_mille: u32, longest_delay: Duration, seed: u64) -> Self {
        Self { asked: VecDeque::new(), per_mille, longest_delay, dice: fastrand::Rng::with_seed(seed) }
    }

    /// The next request of this operation has this fault.
    #[must_use]
    pub fn then(mut self, operation: &str, fault: Fault) -> Self {
        self.asked.push_back((operation.into(), fault));
        self
    }

    /// What happens to a request, and how long a delay would be.
    pub(crate) fn next(&mut self, operation: &str) -> (Option<Fault>, Duration) {
        if let Some(index) = self.asked.iter().position(|(of, _)| of == operation) {
            let fault = self.asked.remove(index).map(|(_, fault)| fault);
            return (fault, self.longest_delay);
        }
        let delay = self.longest_delay.mul_f64(self.dice.f64());
        let drawn = self.dice.usize(..1000 * Fault::ALL.len());
        let kind = drawn % Fault::ALL.len();
        let happens =
            drawn / Fault::ALL.len() < usize::try_from(self.per_mille).unwrap_or(0) * Fault::ALL.len();
        (happens.then_some(Fault::ALL[kind]), delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_happens_as_often_as_it_was_asked_for() {
        let mut plan = Plan::drawn(5, Duration::from_secs(1), 1);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..100_000 {
            let (fault, delay) = plan.next("UpdateItem");
            assert!(delay <= Duration::from_secs(1));
            *counts.entry(fault).or_insert(0) += 1;
        }
        for fault in Fault::ALL {
            let count = counts[&Some(fault)];
            assert!((400..600).contains(&count), "{fault}: {count} of 100000, 500 expected");
        }
    }

    #[test]
    fn what_is_asked_for_comes_in_order_and_to_its_operation() {
        let mut plan = Plan::none()
            .then("UpdateItem", Fault::ReplyCut)
            .then("BatchGetItem", Fault::Throttled)
            .then("UpdateItem", Fault::ServerError);
        assert_eq!(plan.next("TransactWriteItems").0, None);
        assert_eq!(plan.next("BatchGetItem").0, Some(Fault::Throttled));
        assert_eq!(plan.next("UpdateItem").0, Some(Fault::ReplyCut));
        assert_eq!(plan.next("UpdateItem").0, Some(Fault::ServerError));
        assert_eq!(plan.next("UpdateItem").0, None);
    }
}
