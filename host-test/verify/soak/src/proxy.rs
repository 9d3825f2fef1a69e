//! A proxy between hosts and the table. It makes requests and replies fail, and records the writes that
//! the table carried out.
//!
//! Requests reach the table one at a time, so that the record is in the table's own order. An
//! embedded engine carries out one write at a time anyway.

use std::{
    collections::BTreeMap,
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Either, Full, StreamBody};
use hyper::{
    body::{Frame, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use onewindow_model::store::{self, Change, Effect};
use onewindow_relay::{Upstream, operation};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::JoinHandle,
    time::{sleep, timeout},
};

use crate::fault::{Fault, Plan};

/// How long a reply waits at most to be overtaken.
const OVERTAKEN_WITHIN: Duration = Duration::from_millis(100);

/// A write that the table carried out.
#[derive(Clone, Debug)]
pub struct CompletedWrite {
    /// The operation.
    pub operation: String,
    /// The body of the request, DynamoDB JSON.
    pub body: String,
}

/// How many requests reached the proxy, and how many faults happened.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    /// Requests that reached the proxy.
    pub requests: u64,
    /// Faults, by kind.
    pub faults: BTreeMap<Fault, u64>,
}

/// A proxy on a free port of 127.0.0.1, as long as this value lives.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    upstream: Upstream,
    plan: Mutex<Plan>,
    traffic: Mutex<Traffic>,
    /// Held while a request is with the table.
    history: tokio::sync::Mutex<Vec<CompletedWrite>>,
    reply_sent: Notify,
}

/// Cuts the connection.
#[derive(Debug)]
struct Cut;

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the connection is cut")
    }
}

impl std::error::Error for Cut {}

/// A whole body, or one that ends too early.
type Body =
    Either<Full<Bytes>, StreamBody<futures::stream::Iter<std::vec::IntoIter<Result<Frame<Bytes>, Cut>>>>>;

impl Proxy {
    /// Starts a proxy in front of the table at this URL.
    ///
    /// # Errors
    /// No port can be listened on, or no HTTP client can be made.
    pub async fn start(upstream: &str, plan: Plan) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            upstream: Upstream::new(upstream).map_err(io::Error::other)?,
            plan: Mutex::new(plan),
            traffic: Mutex::default(),
            history: tokio::sync::Mutex::default(),
            reply_sent: Notify::new(),
        });
        let server = tokio::spawn(serve(listener, shared.clone()));
        Ok(Self { address, shared, server })
    }

    /// Where it listens, as a URL.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Replaces the plan.
    pub fn set_plan(&self, plan: Plan) {
        *self.shared.plan.lock().unwrap_or_else(PoisonError::into_inner) = plan;
    }

    /// The requests and faults so far.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        self.shared.traffic.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The writes that the table carried out since the last call, in its own order.
    pub async fn take_history(&self) -> Vec<CompletedWrite> {
        std::mem::take(&mut *self.shared.history.lock().await)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(connection(stream, shared.clone()))),
            // For example out of file descriptors: open connections go on.
            Err(_) => sleep(Duration::from_millis(10)).await,
        }
    }
}

async fn connection(stream: TcpStream, shared: Arc<Shared>) {
    // Without this a reply may wait for an acknowledgement, which is no fault of the plan.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| {
        let shared = shared.clone();
        // In a task of its own: the request arrives, whether its sender still waits or not.
        async move { tokio::spawn(shared.handle(request)).await.unwrap_or(Err(Cut)) }
    });
    // An error is a connection that was cut: by a fault, or because a host was killed.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

impl Shared {
    async fn handle(self: Arc<Self>, request: Request<Incoming>) -> Result<Response<Body>, Cut> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.map_err(|_| Cut)?.to_bytes();
        let operation = operation(&parts.headers).to_owned();
        let (fault, delay) = self.draw(&operation, &body);
        if let Some((status, answer)) = fault.and_then(|fault| fault.answer(&operation))
            && fault != Some(Fault::ServerErrorAfter)
        {
            return Ok(whole(StatusCode::from_u16(status).unwrap_or_default(), answer.into()));
        }
        match fault {
            Some(Fault::RequestCut) => return Err(Cut),
            Some(Fault::RequestDelayed) => sleep(delay).await,
            Some(Fault::RequestDuplicated) => drop(self.forward(&operation, &parts.headers, &body).await),
            _ => {}
        }
        let answer = self.forward(&operation, &parts.headers, &body).await?;
        match fault {
            Some(Fault::ReplyCut) => return Err(Cut),
            Some(Fault::ReplyDelayed) => sleep(delay).await,
            Some(Fault::ReplyOvertaken) => {
                // If no later reply comes, this one is late and not overtaken.
                let _ = timeout(OVERTAKEN_WITHIN, self.reply_sent.notified()).await;
            }
            Some(Fault::ReplyTruncated) => return Ok(truncated(answer)),
            Some(Fault::ServerErrorAfter) => {
                let (status, body) = Fault::ServerErrorAfter.answer(&operation).unwrap_or_default();
                return Ok(whole(StatusCode::from_u16(status).unwrap_or_default(), body.into()));
            }
            _ => {}
        }
        self.reply_sent.notify_waiters();
        Ok(answer.map(|body| Either::Left(Full::new(body))))
    }

    fn draw(&self, operation: &str, body: &Bytes) -> (Option<Fault>, Duration) {
        let (mut fault, delay) = self.plan.lock().unwrap_or_else(PoisonError::into_inner).next(operation);
        if fault == Some(Fault::RequestDuplicated) && is_credit(operation, body) {
            // No host sends a credit twice, and a network under HTTP does not repeat a request by itself.
            fault = None;
        }
        let mut traffic = self.traffic.lock().unwrap_or_else(PoisonError::into_inner);
        traffic.requests += 1;
        if let Some(fault) = fault {
            *traffic.faults.entry(fault).or_default() += 1;
        }
        (fault, delay)
    }

    async fn forward(
        &self,
        operation: &str,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Result<Response<Bytes>, Cut> {
        let mut history = self.history.lock().await;
        let answer = self.upstream.forward(headers, body.clone()).await.map_err(|_| Cut)?;
        if answer.status() == StatusCode::OK
            && matches!(operation, "UpdateItem" | "PutItem" | "TransactWriteItems")
        {
            let body = String::from_utf8_lossy(body).into_owned();
            history.push(CompletedWrite { operation: operation.into(), body });
        }
        Ok(answer)
    }
}

/// Whether a write returns tokens to a balance.
fn is_credit(operation: &str, body: &Bytes) -> bool {
    let request = store::Request::parse(operation, &String::from_utf8_lossy(body));
    let credits =
        |change: &Change| matches!(change, Change::Add(name, number) if name.ends_with("_tc") && *number < 0);
    request.is_ok_and(|request| {
        let mut effects = request.writes().iter().map(|write| &write.effect);
        effects.any(|effect| matches!(effect, Effect::Update(changes) if changes.iter().any(credits)))
    })
}

fn whole(status: StatusCode, body: Bytes) -> Response<Body> {
    let mut response = Response::new(Either::Left(Full::new(body)));
    *response.status_mut() = status;
    response
}

/// Half of the answer, under headers that promise all of it.
fn truncated(answer: Response<Bytes>) -> Response<Body> {
    let length = answer.body().len();
    let mut response = answer.map(|body| {
        let frames = vec![Ok(Frame::data(body.slice(..length / 2))), Err(Cut)];
        Either::Right(StreamBody::new(futures::stream::iter(frames)))
    });
    response.headers_mut().insert(header::CONTENT_LENGTH, length.into());
    response
}
