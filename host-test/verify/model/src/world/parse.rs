//! Reads the calls of the core.

use std::{cell::RefCell, collections::HashMap, sync::Arc};

use onewindow::Call;

use crate::{ablation::Ablation, setting::Setting, store::Request};

/// The request that a call makes, without the clause that the setting leaves out. It is remembered:
/// most worlds make the same requests.
pub(super) fn parse(setting: &Setting, call: &Call, clock_ms: i64) -> Arc<Request> {
    type Seen = HashMap<(Ablation, String, i64), Arc<Request>>;
    thread_local!(static SEEN: RefCell<Seen> = RefCell::default());
    let key = (setting.ablation, call.body.clone(), clock_ms);
    SEEN.with_borrow_mut(|seen| {
        if seen.len() > 200_000 {
            seen.clear();
        }
        seen.entry(key)
            .or_insert_with(|| {
                let mut request = Request::parse(call.operation, &call.body).unwrap_or_else(|reason| {
                    panic!("a request the model does not understand: {reason}: {}", call.body)
                });
                setting.ablation.apply(&mut request, clock_ms);
                Arc::new(request)
            })
            .clone()
    })
}
