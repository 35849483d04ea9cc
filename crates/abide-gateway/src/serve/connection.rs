//! One connection of a caller: HTTP/1.1, or HTTP/2 where it begins with that.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;

use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;

use super::guarded::Guarded;
use crate::bounds::Beside;
use crate::forward::{Peer, forward};
use crate::front::{Front, Own};
use crate::life::drains;

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

async fn serve<T>(front: Front, ways: Arc<Own>, socket: T, peer: Peer)
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let gateway = front.now();
    let mut phase = gateway.life().watch();
    let socket = Guarded::new(socket, gateway.settings().limits.body_idle);
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
    let shared = Arc::new((front, ways, peer));
    let service = service_fn(move |request: Request<Incoming>| {
        let shared = Arc::clone(&shared);
        async move {
            let (front, ways, peer) = &*shared;
            let gateway = front.now();
            let ways = ways.of(&gateway);
            Ok::<_, Infallible>(forward(&gateway, &ways, peer, request).await)
        }
    });
    let now = phase.clone();
    // Pinned where they are made: a name of its own would take each its room once more.
    let mut draining = pin!(drains(&mut phase));
    let mut connection =
        pin!(builder.serve_connection_with_upgrades(TokioIo::new(socket), service));
    let (mut told, mut drained) = (false, false);
    let ended = poll_fn(|cx| {
        // Told once, this task is woken when the phase changes: until then there is nothing to ask.
        if !drained && (!told || now.has_changed().unwrap_or(true)) {
            told = true;
            if draining.as_mut().poll(cx).is_ready() {
                drained = true;
                connection.as_mut().graceful_shutdown();
            }
        }
        connection.as_mut().poll(cx)
    });
    let ended = ended.await;
    if let Err(e) = ended {
        tracing::debug!(error = %e, "a caller's connection ended early");
    }
}

#[cfg(test)]
mod tests {
    use abide::Governor;
    use abide::core::call::CallPolicy;

    use super::*;
    use crate::gateway::Gateway;
    use crate::inside::Place;
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
            place: Place::default(),
        };
        let (_caller, socket) = tokio::io::duplex(64);
        let size = size_of_val(&begin(front, ways, socket, peer, None));
        assert!(size < 4096, "{size} bytes");
    }
}
