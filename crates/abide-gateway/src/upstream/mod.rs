//! The way to a provider: connections, and what an exchange may take.

mod address;
mod connect;
mod failure;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

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

struct Inner {
    client: legacy::Client<connect::Connector, Outgoing>,
    head: Duration,
}

impl Upstream {
    /// # Errors
    /// When TLS cannot be set up.
    pub(crate) fn new(
        limits: &Limits,
        reach: Reach,
        transport: &Transport,
    ) -> Result<Self, rustls::Error> {
        let client = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(limits.pool_idle)
            .pool_max_idle_per_host(limits.pool_size)
            .timer(TokioTimer::new())
            .build(connect::connector(limits, reach, transport)?);
        Ok(Self {
            inner: Arc::new(Inner {
                client,
                head: limits.head,
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
        let mut answer = self.inner.client.request(request);
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
