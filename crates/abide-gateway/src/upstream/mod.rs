//! The way to a provider: connections, and what an exchange may take.

mod address;
mod connect;
mod failure;
mod idle;
mod plain;
mod proxy;
mod reply;
mod resolve;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::header::UPGRADE;
use http::{Request, Response};
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tower_service::Service;

pub(crate) use self::address::Reach;
pub(crate) use self::connect::dial;
pub(crate) use self::failure::{Failure, Forbidden, read};
use self::plain::Plain;
pub(crate) use self::proxy::Unled;
pub(crate) use self::reply::Reply;

use crate::body::Outgoing;
use crate::bounds::{Bound, Bounds};
use crate::settings::{Limits, Transport};

/// The connections to providers of one worker. They stay on its thread: handing a wake-up from one
/// thread to another costs more than making a connection anew for each.
#[derive(Clone)]
pub(crate) struct Upstream {
    inner: Arc<Inner>,
}

type Client = legacy::Client<connect::Connector, Outgoing>;

struct Inner {
    plain: Plain,
    client: Client,
    /// For requests that want to leave HTTP, which HTTP/2 does not let them.
    leaving: Client,
    head: Bounds,
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
        let plain = Plain::new(connectors.all.clone(), limits);
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
                plain,
                client: builder.build(connectors.all),
                leaving: builder.build(connectors.one),
                head: Bounds::new(transport.head.unwrap_or(limits.head)),
            }),
        })
    }
}

/// An exchange under way.
pub(crate) struct Sending {
    answer: Answering,
    head: Bound,
    within: Duration,
    /// How much of what the caller sends went by, where that may take long.
    gone_by: Option<Arc<AtomicU64>>,
    before: u64,
}

enum Answering {
    Plain(plain::Sending),
    Other(legacy::ResponseFuture),
}

impl Future for Sending {
    type Output = Result<Response<Reply>, Failure>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let answer = match &mut self.answer {
                Answering::Plain(answer) => Pin::new(answer).poll(cx),
                Answering::Other(answer) => Pin::new(answer).poll(cx).map(|answer| match answer {
                    Ok(answer) => Ok(answer.map(Reply::of)),
                    Err(e) => Err(Failure::Exchange(e)),
                }),
            };
            if answer.is_ready() {
                return answer;
            }
            ready!(self.head.poll_over(cx));
            // While a large body goes by, nobody can answer yet.
            let gone_by = self.gone_by.as_ref();
            let now = gone_by.map_or(0, |n| n.load(Ordering::Relaxed));
            if now == self.before {
                return Poll::Ready(Err(Failure::Late(self.within)));
            }
            self.before = now;
            self.head.begins_anew();
        }
    }
}

impl Service<Request<Outgoing>> for Upstream {
    type Response = Response<Reply>;
    type Error = Failure;
    type Future = Sending;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Outgoing>) -> Sending {
        let leaves = request.headers().contains_key(UPGRADE);
        Sending {
            before: 0,
            gone_by: request.body().gone_by(),
            answer: match (Plain::takes(&request), leaves) {
                (true, _) => Answering::Plain(self.inner.plain.send(request)),
                (false, true) => Answering::Other(self.inner.leaving.request(request)),
                (false, false) => Answering::Other(self.inner.client.request(request)),
            },
            head: self.inner.head.one(),
            within: self.inner.head.length(),
        }
    }
}
