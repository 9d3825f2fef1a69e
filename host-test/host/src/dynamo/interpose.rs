//! A hook between the client and its transport, with which tests lose, delay and replace messages.

use futures_util::future::BoxFuture;
use onewindow::{Call, Reply};

/// What happens to a request that is about to be sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Before {
    /// It is sent.
    #[default]
    Send,
    /// It is not sent; the client receives this reply.
    Answer(Reply),
}

/// Receives every request and every reply, resends included. A method that waits delays them.
pub trait Interpose: Send + Sync {
    /// Before a request is sent.
    fn before<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Before> {
        let _ = call;
        Box::pin(async { Before::Send })
    }

    /// After a reply was received. The client receives the returned one instead.
    fn after<'a>(&'a self, call: &'a Call, reply: Reply) -> BoxFuture<'a, Reply> {
        let _ = call;
        Box::pin(async { reply })
    }
}
