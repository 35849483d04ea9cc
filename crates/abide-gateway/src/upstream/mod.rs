//! The way to a provider: connections, and what an exchange may take.

mod address;
mod connect;
mod failure;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use http::header::UPGRADE;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tower_service::Service;

pub(crate) use self::address::Reach;
pub(crate) use self::connect::dial;
pub(crate) use self::failure::{Failure, Forbidden, read};

use crate::body::Outgoing;
use crate::settings::{Limits, Transport};

/// The connections to providers of one worker. They stay on its thread: handing a wake-up from one
/// thread to another costs more than making a connection anew for each.
#[derive(Clone)]
pub(crate) struct Upstream {
    inner: Arc<Inner>,
}

type Client = legacy::Client<connect::Connector, Outgoing>;

struct Inner {
    client: Client,
    /// For requests that want to leave HTTP, which HTTP/2 does not let them.
    leaving: Client,
    head: Duration,
}

/// How often a provider that is asked over HTTP/2 is asked whether it is still there, while it owes
/// an answer. All requests to a host share the one connection: one that died without a word would hold
/// up every one of them until its own time is up. Rarer than what servers take for a flood.
const PING: Duration = Duration::from_secs(20);
/// How long its answer may take: twice what a lost packet costs on a bad line.
const PONG: Duration = Duration::from_secs(10);

impl Upstream {
    /// # Errors
    /// When TLS cannot be set up.
    pub(crate) fn new(
        limits: &Limits,
        reach: Reach,
        transport: &Transport,
    ) -> Result<Self, rustls::Error> {
        let connectors = connect::connectors(limits, reach, transport)?;
        let mut builder = legacy::Client::builder(TokioExecutor::new());
        builder
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(limits.pool_idle)
            .pool_max_idle_per_host(limits.pool_size)
            .timer(TokioTimer::new())
            .http2_keep_alive_interval(PING)
            .http2_keep_alive_timeout(PONG);
        Ok(Self {
            inner: Arc::new(Inner {
                client: builder.build(connectors.all),
                leaving: builder.build(connectors.one),
                head: transport.head.unwrap_or(limits.head),
            }),
        })
    }
}

/// An exchange under way.
pub(crate) type Sending =
    std::pin::Pin<Box<dyn Future<Output = Result<Response<Incoming>, Failure>> + Send>>;

impl Service<Request<Outgoing>> for Upstream {
    type Response = Response<Incoming>;
    type Error = Failure;
    type Future = Sending;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Outgoing>) -> Sending {
        let head = self.inner.head;
        let gone_by = request.body().gone_by();
        let client = match request.headers().contains_key(UPGRADE) {
            true => &self.inner.leaving,
            false => &self.inner.client,
        };
        let mut answer = client.request(request);
        Box::pin(async move {
            let mut before = 0;
            loop {
                match tokio::time::timeout(head, &mut answer).await {
                    Ok(Ok(response)) => return Ok(response),
                    Ok(Err(e)) => return Err(Failure::Exchange(e)),
                    Err(_) => {}
                }
                // While a large body goes by, nobody can answer yet.
                let now = gone_by.as_ref().map_or(0, |n| n.load(Ordering::Relaxed));
                if now == before {
                    return Err(Failure::Late(head));
                }
                before = now;
            }
        })
    }
}
