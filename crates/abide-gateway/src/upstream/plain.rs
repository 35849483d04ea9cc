//! Connections to providers that are asked in the clear.
//!
//! There only ever is HTTP/1.1, so one exchange at a time has a connection, and all it takes is a
//! list of those that lie idle. The client that is used for all else looks for two versions of HTTP,
//! begins to connect for every request and starts a task behind every answer, which together cost
//! more than an exchange does here.
//!
//! The connection used last is used next: it is the likeliest to be alive. A request of which nothing
//! was sent, since the connection it was to go by had ended, goes by another.

use std::future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::header::{HOST, HeaderValue};
use http::uri::{Authority, Scheme};
use http::{Request, Response, Uri};
use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http1};
use tower_service::Service as _;

use super::connect::Connector;
use super::failure::Failure;
use super::idle::{Lent, Pool, Sender};
use super::reply::Reply;
use crate::body::Outgoing;
use crate::settings::Limits;

/// The connections of one worker.
#[derive(Clone)]
pub(super) struct Plain(Arc<Shared>);

pub(super) struct Shared {
    connector: Connector,
    pool: Arc<Pool>,
}

impl Plain {
    pub(super) fn new(connector: Connector, limits: &Limits) -> Self {
        Self(Arc::new(Shared {
            connector,
            pool: Arc::new(Pool::new(limits.pool_size, limits.pool_idle)),
        }))
    }

    /// Whether a request is for here.
    pub(super) fn takes(request: &Request<Outgoing>) -> bool {
        request.uri().scheme() == Some(&Scheme::HTTP)
    }

    /// Sends a request to the host that its address names.
    pub(super) fn send(&self, request: Request<Outgoing>) -> Sending {
        let shared = &self.0;
        let (mut parts, body) = request.into_parts();
        let mut address = parts.uri.into_parts();
        parts.uri = address.path_and_query.map_or_else(Uri::default, Uri::from);
        let authority = address.authority.take();
        let host = authority.as_ref().and_then(host);
        let (Some(authority), Some(host)) = (authority, host) else {
            return Sending::Slowly(Box::pin(future::ready(Err(Failure::Hostless))));
        };
        parts.headers.entry(HOST).or_insert(host);
        let request = Request::from_parts(parts, body);
        match shared.pool.take(authority.as_str()) {
            Some((to, mut sender)) => Sending::AtOnce {
                answer: Box::pin(sender.try_send_request(request)),
                lent: Some(Lent::new(sender, to, Arc::clone(&shared.pool))),
                again: Some((Arc::clone(shared), authority)),
            },
            None => {
                let shared = Arc::clone(shared);
                Sending::Slowly(Box::pin(shared.slowly(authority, request)))
            }
        }
    }
}

/// What a request that was sent comes to. One of which nothing was sent comes back.
type Came = Result<Response<Incoming>, TrySendError<Request<Outgoing>>>;

/// An exchange under way.
pub(super) enum Sending {
    /// Over a connection that was there.
    AtOnce {
        answer: Pin<Box<dyn Future<Output = Came> + Send>>,
        lent: Option<Lent>,
        /// For the case that nothing of it was sent.
        again: Option<(Arc<Shared>, Authority)>,
    },
    /// Over one that has to be made first.
    Slowly(Pin<Box<dyn Future<Output = Result<Response<Reply>, Failure>> + Send>>),
}

impl Future for Sending {
    type Output = Result<Response<Reply>, Failure>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let (answer, lent, again) = match &mut *self {
                Self::Slowly(answer) => return answer.as_mut().poll(cx),
                Self::AtOnce {
                    answer,
                    lent,
                    again,
                } => (answer, lent, again),
            };
            let mut failed = match ready!(answer.as_mut().poll(cx)) {
                Ok(response) => {
                    let lent = lent.take();
                    return Poll::Ready(Ok(response.map(|body| Reply::new(body, lent))));
                }
                Err(e) => e,
            };
            let (Some(request), Some((shared, to))) = (failed.take_message(), again.take()) else {
                return Poll::Ready(Err(Failure::Sent(failed.into_error())));
            };
            let again = shared.slowly(to, request);
            *self = Self::Slowly(Box::pin(again));
        }
    }
}

/// As `Host` names it: without the port that is the scheme's own.
fn host(authority: &Authority) -> Option<HeaderValue> {
    let named = match authority.port_u16() {
        Some(80) => authority.host(),
        _ => authority.as_str(),
    };
    HeaderValue::from_str(named).ok()
}

impl Shared {
    /// Over whatever connection there is, or a new one.
    async fn slowly(
        self: Arc<Self>,
        authority: Authority,
        mut request: Request<Outgoing>,
    ) -> Result<Response<Reply>, Failure> {
        let shared = self;
        loop {
            let known = shared.pool.take(authority.as_str());
            let again = known.is_some();
            let (to, mut sender) = match known {
                Some(known) => known,
                None => (authority.as_str().into(), shared.connect(&authority).await?),
            };
            let mut failed = match sender.try_send_request(request).await {
                Ok(response) => {
                    let lent = Lent::new(sender, to, Arc::clone(&shared.pool));
                    return Ok(response.map(|body| Reply::new(body, Some(lent))));
                }
                Err(e) => e,
            };
            match failed.take_message() {
                // A fresh connection that takes nothing is no accident.
                Some(unsent) if again => request = unsent,
                _ => return Err(Failure::Sent(failed.into_error())),
            }
        }
    }

    async fn connect(&self, to: &Authority) -> Result<Sender, Failure> {
        let address = Uri::builder()
            .scheme(Scheme::HTTP)
            .authority(to.clone())
            .path_and_query("/");
        let address = address.build().map_err(|_| Failure::Hostless)?;
        let socket = self.connector.clone().call(address).await;
        let socket = socket.map_err(Failure::Connect)?;
        let made = http1::handshake(socket).await;
        let (mut sender, connection) = made.map_err(Failure::Sent)?;
        tokio::spawn(async move {
            if let Err(e) = connection.with_upgrades().await {
                tracing::debug!(error = %e, "a connection to a provider ended early");
            }
        });
        sender.ready().await.map_err(Failure::Sent)?;
        Ok(sender)
    }
}
