//! One connection of a caller: HTTP/1.1, or HTTP/2 where it begins with that.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;

use http::header::{CONNECTION, HeaderValue, UPGRADE};
use http::{Method, Request, StatusCode, Version};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;

use super::guarded::Guarded;
use crate::body::Asked;
use crate::bounds::Beside;
use crate::door::Peer;
use crate::forward::forward;
use crate::front::{Front, Own};
use crate::life::{drains, ends};

/// Agrees on TLS first, where that is spoken.
pub(super) async fn begin<T>(
    front: Front,
    ways: Arc<Own>,
    socket: T,
    peer: Peer,
    tls: Option<TlsAcceptor>,
) where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let Some(tls) = tls else {
        return serve(front, ways, socket, peer).await;
    };
    let within = front.now().settings().limits.head_read;
    match tokio::time::timeout(within, Box::pin(tls.accept(socket))).await {
        // Apart: whoever comes in the clear would take the room that TLS takes.
        Ok(Ok(socket)) => Box::pin(serve(front, ways, socket, peer)).await,
        Ok(Err(e)) => tracing::debug!(error = %e, "no TLS could be agreed on with a caller"),
        Err(_) => tracing::debug!("a caller took too long to agree on TLS"),
    }
}

const CLOSE: HeaderValue = HeaderValue::from_static("close");

/// Whether what follows a request may be no HTTP: then it was not looked at, and where the connection stays
/// HTTP it ends with the answer. Tells which answers leave HTTP.
fn leaving<B>(request: &Request<B>) -> Option<fn(StatusCode) -> bool> {
    if request.version() >= Version::HTTP_2 {
        return None;
    }
    match *request.method() == Method::CONNECT {
        true => Some(|status| status.is_success()),
        false => {
            let asks = request.headers().contains_key(UPGRADE);
            asks.then_some(|status| status == StatusCode::SWITCHING_PROTOCOLS)
        }
    }
}

async fn serve<T>(front: Front, ways: Arc<Own>, socket: T, peer: Peer)
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let gateway = front.now();
    let mut phase = gateway.life().watch();
    let socket = Guarded::new(socket, &gateway.settings().limits);
    let mut builder = auto::Builder::new(TokioExecutor::new());
    let limits = &gateway.settings().limits;
    builder
        .http1()
        .timer(Beside::new())
        .header_read_timeout(limits.head_read)
        .max_buf_size(limits.head_size);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(u32::try_from(limits.head_size).unwrap_or(u32::MAX))
        .keep_alive_interval(limits.head_read)
        .keep_alive_timeout(limits.head_read);
    let asked = Arc::new(Asked::default());
    let shared = Arc::new((front, ways, peer, Arc::clone(&asked)));
    let service = service_fn(move |request: Request<Incoming>| {
        let shared = Arc::clone(&shared);
        async move {
            let (front, ways, peer, asked) = &*shared;
            let gateway = front.now();
            let ways = ways.of(&gateway);
            let leaving = leaving(&request);
            let (busy, multiplexed) = (asked.one(), request.version() == Version::HTTP_2);
            let mut answer = forward(&gateway, &ways, peer, request).await;
            if leaving.is_some_and(|has_left| !has_left(answer.status())) {
                answer.headers_mut().insert(CONNECTION, CLOSE);
            }
            Ok::<_, Infallible>(answer.map(|body| match multiplexed {
                true => body.watched().keeps(busy),
                false => body.keeps(busy),
            }))
        }
    });
    // Pinned where it is made: a name of its own would take its room once more.
    let mut connection =
        pin!(builder.serve_connection_with_upgrades(TokioIo::new(socket), service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = drains(&mut phase) => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                ended = connection.as_mut() => ended,
                () = ends(&mut phase) => return,
            }
        }
        // The HTTP library looks after connections that speak HTTP/1.1; one that has said nothing yet,
        // or speaks HTTP/2 and asks for nothing, is none of those.
        () = asked.is_quiet(limits.head_read) => {
            connection.as_mut().graceful_shutdown();
            let ended = tokio::time::timeout(limits.head_read, connection.as_mut()).await;
            let Ok(ended) = ended else {
                return;
            };
            ended
        }
    };
    if let Err(e) = ended {
        tracing::debug!(error = %e, "a caller's connection ended early");
    }
}
