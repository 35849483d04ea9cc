//! One connection of a caller: HTTP/1.1, or HTTP/2 where it begins with that.

use std::convert::Infallible;
use std::sync::Arc;

use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::net::TcpStream;

use super::guarded::Guarded;
use crate::forward::{Peer, forward};
use crate::gateway::{Gateway, Ways};
use crate::life::drains;

pub(super) async fn serve(gateway: Arc<Gateway>, ways: Ways, socket: TcpStream, peer: Peer) {
    let mut phase = gateway.life().watch();
    let socket = Guarded::new(socket, gateway.settings().limits.body_idle);
    let mut builder = auto::Builder::new(TokioExecutor::new());
    let limits = &gateway.settings().limits;
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_read)
        .max_buf_size(limits.head_size);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(u32::try_from(limits.head_size).unwrap_or(u32::MAX))
        .keep_alive_interval(limits.head_read)
        .keep_alive_timeout(limits.head_read);
    let shared = Arc::new((gateway, ways, peer));
    let service = service_fn(move |request: Request<Incoming>| {
        let shared = Arc::clone(&shared);
        async move {
            let (gateway, ways, peer) = &*shared;
            Ok::<_, Infallible>(forward(gateway, ways, peer, request).await)
        }
    });
    let connection = builder.serve_connection_with_upgrades(TokioIo::new(socket), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = drains(&mut phase) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(e) = ended {
        tracing::debug!(error = %e, "a caller's connection ended early");
    }
}
