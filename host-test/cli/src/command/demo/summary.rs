//! The end of the demo: a chart of the windows, the costs, and what each window admitted.

use anyhow::bail;
use serde_json::json;

use super::{
    session::{CAPACITY, CostRow, Session, WindowTotal},
    words::{plural, short_clock},
};

/// Prints the summary.
///
/// # Errors
/// Where a window admitted more than its capacity.
pub(super) async fn print(session: &Session) -> anyhow::Result<()> {
    let Session { output, chart, costs, windows, .. } = session;
    output.lines(&chart.draw(output.columns(), short_clock)).await;
    let mut lines = vec![String::new()];
    lines.extend(cost_table(costs, output.columns()));
    lines.push(String::new());
    for CostRow { kind, requests, round_trips, follow_ups } in costs {
        let event = json!({ "kind": kind, "requests": requests, "round_trips": round_trips, "follow_ups": follow_ups });
        output.event("cost", event);
    }
    for WindowTotal { ends_at_ms, admitted, rejected } in windows {
        let until = short_clock(*ends_at_ms);
        lines.push(format!(
            "the window until {until}: {admitted:>5} of {CAPACITY} tokens admitted, {rejected} requests rejected"
        ));
        let event = json!({ "ends_at_ms": ends_at_ms, "admitted": admitted, "rejected": rejected, "capacity": CAPACITY });
        output.event("window", event);
        if *admitted > CAPACITY {
            bail!("{admitted} tokens were admitted in a window of {CAPACITY}");
        }
    }
    lines.push(String::new());
    output.lines(&lines).await;
    output.text(
        "The quota of one user was spread over shards, so that no partition is too hot. It was never \
         exceeded, and no request was rejected while there were tokens left. It came back on every shard at \
         the reported instant. In the steady state a request costs one write.",
    );
    output.lines(&[String::new()]).await;
    output.text(
        "Next: `onewindow serve --limit session=100/5h` answers over HTTP; `onewindow preview --help` shows \
         what a table holds.",
    );
    Ok(())
}

/// What each kind of request cost: a table, or a list where a table does not fit.
fn cost_table(costs: &[CostRow], columns: usize) -> Vec<String> {
    let row = |name: &str, cells: [&str; 3]| {
        let [requests, round_trips, follow_ups] = cells;
        format!("{name:<36}{requests:>10}{round_trips:>10}{follow_ups:>10}")
    };
    let mut lines = Vec::new();
    if columns >= 66 {
        lines.push(row("", ["requests", "round", "after the"]));
        lines.push(row("", ["", "trips", "answer"]));
    }
    for CostRow { kind, requests, round_trips, follow_ups } in costs {
        if columns >= 66 {
            lines.push(row(
                kind,
                [requests, round_trips, follow_ups].map(u64::to_string).each_ref().map(String::as_str),
            ));
        } else {
            lines.push((*kind).to_owned());
            let (requests, trips) = (plural(*requests, "request"), plural(*round_trips, "round trip"));
            lines.push(format!("  {requests}, {trips}, {follow_ups} after"));
        }
    }
    lines
}
