//! One connection of a caller: HTTP/1.1, or HTTP/2 where it begins with that.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use http::header::{CONNECTION, HeaderValue, UPGRADE};
use http::{Method, Request, StatusCode, Version};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use super::guarded::Guarded;
use crate::body::Asked;
use crate::bounds::Beside;
use crate::door::Peer;
use crate::forward::forward;
use crate::front::{Front, Own};
use crate::life::{Phase, drains, ends};

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
    let now = phase.clone();
    // Pinned where they are made: a name of its own would take each its room once more.
    let mut draining = pin!(drains(&mut phase));
    // The HTTP library looks after connections that speak HTTP/1.1; one that has said nothing yet, or
    // speaks HTTP/2 and asks for nothing, is none of those.
    let mut quiet = pin!(asked.is_quiet(limits.head_read));
    let mut connection =
        pin!(builder.serve_connection_with_upgrades(TokioIo::new(socket), service));
    let (mut told, mut leaves) = (false, false);
    let ended = poll_fn(|cx| {
        // Told once, this task is woken when the phase changes: until then there is nothing to ask.
        if !leaves && (!told || now.has_changed().unwrap_or(true)) {
            told = true;
            leaves = draining.as_mut().poll(cx).is_ready();
            if leaves {
                connection.as_mut().graceful_shutdown();
            }
        }
        if !leaves && quiet.as_mut().poll(cx).is_ready() {
            leaves = true;
            connection.as_mut().graceful_shutdown();
        }
        match connection.as_mut().poll(cx) {
            Poll::Ready(ended) => Poll::Ready(Some(ended)),
            Poll::Pending if leaves => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    });
    let ended = match ended.await {
        Some(ended) => ended,
        // It has as long again as it may say nothing, and no longer than anybody may.
        None => tokio::select! {
            ended = connection => ended,
            () = over(now, limits.head_read) => return,
        },
    };
    if let Err(e) = ended {
        tracing::debug!(error = %e, "a caller's connection ended early");
    }
}

/// Waits until a connection that was asked to end may be cut off: where the gateway drains, when
/// that has an end, else after `long`.
async fn over(mut phase: watch::Receiver<Phase>, long: Duration) {
    let ended = tokio::time::timeout(long, ends(&mut phase)).await;
    if ended.is_err() && *phase.borrow() == Phase::Draining {
        ends(&mut phase).await;
    }
}

#[cfg(test)]
mod tests {
    use abide::Governor;
    use abide::core::call::CallPolicy;

    use super::*;
    use crate::door::{Callers, Place};
    use crate::gateway::Gateway;
    use crate::record::Log;
    use crate::settings::Settings;

    /// Each caller that waits has one of these: what only few requests need lies in boxes.
    #[tokio::test]
    async fn inv12_a_connection_takes_little() {
        let governor = Governor::builder().build().unwrap();
        let gateway = Gateway::new(
            Settings::default(),
            governor,
            CallPolicy::default(),
            Log::none(),
        );
        let front = Front::new(gateway.unwrap());
        let ways = Arc::new(Own::new(&front).unwrap());
        let peer = Peer {
            address: None,
            scheme: "http",
            door: None,
            named: "".into(),
            place: Place::default(),
            seat: Arc::new(Callers::new(&front.now().settings().limits).seat()),
        };
        let (_caller, socket) = tokio::io::duplex(64);
        let size = size_of_val(&begin(front, ways, socket, peer, None));
        assert!(size < 4096, "{size} bytes");
    }
}
