//! The way to a provider: connections, and what an exchange may take.

mod address;
mod connect;
mod failure;
mod idle;
mod plain;
mod reply;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::{Request, Response};
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tower_service::Service;

pub(crate) use self::address::Reach;
pub(crate) use self::connect::dial;
pub(crate) use self::failure::{Failure, Forbidden, read};
use self::plain::Plain;
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

struct Inner {
    plain: Plain,
    client: legacy::Client<connect::Connector, Outgoing>,
    head: Bounds,
}

impl Upstream {
    /// # Errors
    /// When TLS cannot be set up.
    pub(crate) fn new(
        limits: &Limits,
        reach: Reach,
        transport: &Transport,
    ) -> Result<Self, rustls::Error> {
        let connector = connect::connector(limits, reach, transport)?;
        let plain = Plain::new(connector.clone(), limits);
        let client = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(limits.pool_idle)
            .pool_max_idle_per_host(limits.pool_size)
            .timer(TokioTimer::new())
            .build(connector);
        Ok(Self {
            inner: Arc::new(Inner {
                plain,
                client,
                head: Bounds::new(limits.head),
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
        Sending {
            before: 0,
            gone_by: request.body().gone_by(),
            answer: match Plain::takes(&request) {
                true => Answering::Plain(self.inner.plain.send(request)),
                false => Answering::Other(self.inner.client.request(request)),
            },
            head: self.inner.head.one(),
            within: self.inner.head.length(),
        }
    }
}
