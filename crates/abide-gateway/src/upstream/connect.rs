//! Connecting: names are resolved, their addresses looked at, and TLS agreed on.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{HeaderValue, Uri};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

use super::address::Reach;
use super::failure::Forbidden;
use crate::settings::{Limits, Transport};

/// Makes connections to providers, each bounded as a whole: its name, its address and its TLS. The
/// client copies it for every request, and hardly ever uses the copy: so there is one, and copies
/// point to it.
#[derive(Clone)]
pub(crate) struct Connector {
    inner: Arc<HttpsConnector<Guarded>>,
    within: Duration,
}

/// A connection under way that ends in time.
type Bounded<T> = Pin<Box<dyn Future<Output = Result<T, BoxError>> + Send>>;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl Service<Uri> for Connector {
    type Response = <HttpsConnector<Guarded> as Service<Uri>>::Response;
    type Error = BoxError;
    type Future = Bounded<Self::Response>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        // Names are resolved and sockets made without waiting for leave to begin.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let mut inner = HttpsConnector::clone(&self.inner);
        let connecting = tokio::time::timeout(self.within, inner.call(to));
        Box::pin(async move {
            match connecting.await {
                Ok(connected) => connected,
                Err(_) => Err(io::Error::from(io::ErrorKind::TimedOut).into()),
            }
        })
    }
}

/// # Errors
/// When TLS cannot be set up.
pub(crate) fn connectors(
    limits: &Limits,
    reach: Reach,
    transport: &Transport,
) -> Result<Connectors, rustls::Error> {
    let within = transport.connect.unwrap_or(limits.connect);
    let mut http = HttpConnector::new_with_resolver(Resolver {
        reach,
        // Half of it, so that it is seen whose fault it was.
        within: within / 2,
    });
    http.set_nodelay(true);
    http.enforce_http(false);
    http.set_connect_timeout(Some(within));
    http.set_keepalive(Some(limits.pool_idle));
    let identity = transport.identity.as_ref();
    let identity = identity.map(|i| (i.0.clone(), i.1.clone_key()));
    let mut tls = abide::tls_config_as(transport.roots.clone(), identity)?;
    // The builder says itself what is spoken.
    tls.alpn_protocols.clear();
    let guarded = Guarded {
        http,
        reach,
        proxy: Via::of(transport),
    };
    let with = |tls| {
        let builder = HttpsConnectorBuilder::new().with_tls_config(tls);
        builder.https_or_http()
    };
    let bounded = |inner| Connector {
        inner: Arc::new(inner),
        within,
    };
    let all = with(tls.clone()).enable_all_versions();
    let one = with(tls).enable_http1();
    Ok(Connectors {
        all: bounded(all.wrap_connector(guarded.clone())),
        one: bounded(one.wrap_connector(guarded)),
    })
}

/// Two that differ in what they agree on over TLS.
pub(crate) struct Connectors {
    /// HTTP/1.1 or HTTP/2, as the provider likes.
    pub(crate) all: Connector,
    /// HTTP/1.1 alone, which can be left for another protocol.
    pub(crate) one: Connector,
}

/// A proxy on the way.
#[derive(Clone, Debug)]
struct Via {
    to: Uri,
    auth: Option<HeaderValue>,
}

impl Via {
    fn of(transport: &Transport) -> Option<Self> {
        Some(Self {
            to: transport.proxy.clone()?,
            auth: transport.proxy_auth.clone(),
        })
    }

    /// A tunnel through it. The port is always named: the library takes every address without one
    /// for https.
    async fn dial(
        &self,
        http: HttpConnector<Resolver>,
        to: &Uri,
    ) -> io::Result<TokioIo<TcpStream>> {
        let host = to.host().unwrap_or_default();
        let port = to.port_u16().unwrap_or_else(|| match to.scheme_str() {
            Some("http") => 80,
            _ => 443,
        });
        let to = Uri::builder()
            .scheme("http")
            .authority(format!("{host}:{port}"))
            .path_and_query("/")
            .build()
            .map_err(io::Error::other)?;
        let mut tunnel = Tunnel::new(self.to.clone(), http);
        if let Some(auth) = &self.auth {
            tunnel = tunnel.with_auth(auth.clone());
        }
        tunnel
            .call(to)
            .await
            .map_err(|e| io::Error::other(Unled(e.into())))
    }
}

/// The proxy on the way did not lead further.
#[derive(Debug, thiserror::Error)]
#[error("the proxy on the way: {0}")]
pub(crate) struct Unled(BoxError);

/// Refuses addresses that stand in a URI as they are: nothing is resolved of them.
#[derive(Clone, Debug)]
pub(crate) struct Guarded {
    http: HttpConnector<Resolver>,
    reach: Reach,
    /// On the way, for TLS as a tunnel. What a name resolves to is its business then.
    proxy: Option<Via>,
}

/// A connection under way.
type Connecting = Pin<Box<dyn Future<Output = Result<Quiet, io::Error>> + Send>>;

impl Service<Uri> for Guarded {
    type Response = Quiet;
    type Error = io::Error;
    type Future = Connecting;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        self.http.poll_ready(cx).map_err(io::Error::other)
    }

    fn call(&mut self, to: Uri) -> Connecting {
        if let Some(proxy) = self.proxy.clone() {
            let http = self.http.clone();
            return Box::pin(async move { proxy.dial(http, &to).await.map(Quiet) });
        }
        let host = to.host().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if let Ok(address) = host.parse::<IpAddr>()
            && !self.reach.allows_written(address)
        {
            return Box::pin(async move { Err(io::Error::other(Forbidden(address))) });
        }
        let connecting = self.http.call(to);
        Box::pin(async move { connecting.await.map(Quiet).map_err(io::Error::other) })
    }
}

/// A socket that tells nothing of its addresses: what it told would be put into the extensions of
/// every answer, and nobody asks.
#[derive(Debug)]
pub(crate) struct Quiet(TokioIo<TcpStream>);

impl Connection for Quiet {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl Read for Quiet {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl Write for Quiet {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

/// A connection of bytes to a host, for a tunnel; by the provider's proxy where it has one.
///
/// # Errors
/// As connecting has them, a forbidden address among them.
pub(crate) async fn dial(
    host: &str,
    port: u16,
    reach: Reach,
    transport: &Transport,
    within: Duration,
) -> io::Result<TcpStream> {
    let authority = format!("{host}:{port}");
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let connected = tokio::time::timeout(within, async {
        if let Some(proxy) = Via::of(transport) {
            let mut http = HttpConnector::new_with_resolver(Resolver {
                // The operator wrote down where the proxy is.
                reach: Reach::Named,
                within: within / 2,
            });
            http.set_nodelay(true);
            let to = authority.parse().map_err(io::Error::other)?;
            return Ok(proxy.dial(http, &to).await?.into_inner());
        }
        if let Ok(address) = host.parse::<IpAddr>() {
            return match reach.allows_written(address) {
                true => TcpStream::connect((address, port)).await,
                false => Err(io::Error::other(Forbidden(address))),
            };
        }
        let all: Vec<_> = tokio::net::lookup_host((host, port)).await?.collect();
        let allowed = allowed(all, reach)?;
        TcpStream::connect(allowed.as_slice()).await
    });
    let socket = connected.await.map_err(|_| io::ErrorKind::TimedOut)??;
    // Without it small pieces wait for acknowledgements; one that cannot be set is slow, not wrong.
    let _ = socket.set_nodelay(true);
    Ok(socket)
}

/// The addresses of a name that may be connected to; an error where it has none but others.
fn allowed(all: Vec<SocketAddr>, reach: Reach) -> io::Result<Vec<SocketAddr>> {
    let first = all.first().copied();
    let allowed: Vec<_> = all.into_iter().filter(|a| reach.allows(a.ip())).collect();
    match (allowed.is_empty(), first) {
        (true, Some(inside)) => Err(io::Error::other(Forbidden(inside.ip()))),
        _ => Ok(allowed),
    }
}

/// Resolves names by the system, off the worker's thread, and leaves out what may not be reached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resolver {
    reach: Reach,
    /// Name servers that do not answer are asked for minutes by some systems.
    within: Duration,
}

/// Nobody said in time where a name leads.
#[derive(Debug, thiserror::Error)]
#[error("the name was not resolved in time")]
struct NoName;

/// Addresses of a name.
type Resolving =
    Pin<Box<dyn Future<Output = Result<std::vec::IntoIter<SocketAddr>, io::Error>> + Send>>;

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Resolving;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Resolving {
        let Self { reach, within } = *self;
        Box::pin(async move {
            let found = tokio::time::timeout(within, tokio::net::lookup_host((name.as_str(), 0)));
            let all = found.await.map_err(|_| io::Error::other(NoName))??;
            Ok(allowed(all.collect(), reach)?.into_iter())
        })
    }
}
