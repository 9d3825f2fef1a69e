//! A hook between the client and the wire: what tests lose, delay and replace.

use futures_util::future::BoxFuture;
use onewindow::{Call, Reply};

/// What becomes of a request that is about to be sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Before {
    /// It is sent.
    #[default]
    Send,
    /// It never arrives; this is what the client sees instead of a reply.
    Answer(Reply),
}

/// Sees every request and every reply, resends too. Both methods may wait, which delays them.
pub trait Interpose: Send + Sync {
    /// Before a request is sent.
    fn before<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Before> {
        let _ = call;
        Box::pin(async { Before::Send })
    }

    /// After a reply came; what is returned is what the client sees instead.
    fn after<'a>(&'a self, call: &'a Call, reply: Reply) -> BoxFuture<'a, Reply> {
        let _ = call;
        Box::pin(async { reply })
    }
}
