//! Connecting: names are resolved, their addresses looked at, and TLS agreed on.

use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{HeaderValue, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

use super::address::Reach;
use super::failure::Forbidden;
use crate::settings::{Limits, Transport};

/// Makes connections to providers: names, TCP, a proxy's tunnel and TLS within one time.
pub(crate) type Connector = Bounded<HttpsConnector<Guarded>>;

/// # Errors
/// When TLS cannot be set up.
pub(crate) fn connectors(
    limits: &Limits,
    reach: Reach,
    transport: &Transport,
) -> Result<Connectors, rustls::Error> {
    let within = transport.connect.unwrap_or(limits.connect);
    let mut http = HttpConnector::new_with_resolver(Resolver { reach });
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
        proxy: transport.proxy.clone().map(|to| Via {
            to,
            auth: transport.proxy_auth.clone(),
        }),
    };
    let bounded = |inner| Bounded { inner, within };
    let with = |tls| {
        HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
    };
    Ok(Connectors {
        all: bounded(
            with(tls.clone())
                .enable_all_versions()
                .wrap_connector(guarded.clone()),
        ),
        one: bounded(with(tls).enable_http1().wrap_connector(guarded)),
    })
}

/// Both speak TLS alike.
pub(crate) struct Connectors {
    /// HTTP/1.1 or HTTP/2, as the provider likes.
    pub(crate) all: Connector,
    /// HTTP/1.1 alone, which can be left for another protocol.
    pub(crate) one: Connector,
}

/// Gives up after a time.
#[derive(Clone, Debug)]
pub(crate) struct Bounded<C> {
    inner: C,
    within: Duration,
}

/// What connecting fails with.
type Fault = Box<dyn Error + Send + Sync>;

impl<C> Service<Uri> for Bounded<C>
where
    C: Service<Uri, Error = Fault>,
    C::Future: Send + 'static,
    C::Response: 'static,
{
    type Response = C::Response;
    type Error = Fault;
    type Future = Pin<Box<dyn Future<Output = Result<C::Response, Fault>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let connecting = tokio::time::timeout(self.within, self.inner.call(to));
        Box::pin(async move {
            let late = |_| Fault::from(io::Error::from(io::ErrorKind::TimedOut));
            connecting.await.map_err(late)?
        })
    }
}

/// A proxy on the way.
#[derive(Clone, Debug)]
struct Via {
    to: Uri,
    auth: Option<HeaderValue>,
}

impl Via {
    /// A tunnel through it. Its port is always named: the proxy would have to guess it, and the
    /// library takes every address for one of https.
    async fn dial(
        &self,
        http: HttpConnector<Resolver>,
        to: &Uri,
    ) -> io::Result<TokioIo<TcpStream>> {
        let host = to.host().unwrap_or_default();
        let port = to.port_u16().unwrap_or(match to.scheme_str() {
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
        tunnel.call(to).await.map_err(io::Error::other)
    }
}

/// Refuses addresses that stand in a URI as they are: nothing is resolved of them.
#[derive(Clone, Debug)]
pub(crate) struct Guarded {
    http: HttpConnector<Resolver>,
    reach: Reach,
    /// On the way, for TLS as a tunnel. What a name resolves to is its business then.
    proxy: Option<Via>,
}

/// A connection under way.
type Connecting = Pin<Box<dyn Future<Output = Result<TokioIo<TcpStream>, io::Error>> + Send>>;

impl Service<Uri> for Guarded {
    type Response = TokioIo<TcpStream>;
    type Error = io::Error;
    type Future = Connecting;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        self.http.poll_ready(cx).map_err(io::Error::other)
    }

    fn call(&mut self, to: Uri) -> Connecting {
        if let Some(proxy) = self.proxy.clone() {
            let http = self.http.clone();
            return Box::pin(async move { proxy.dial(http, &to).await });
        }
        let host = to.host().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if let Ok(address) = host.parse::<IpAddr>()
            && !self.reach.allows_written(address)
        {
            return Box::pin(async move { Err(io::Error::other(Forbidden(address))) });
        }
        let connecting = self.http.call(to);
        Box::pin(async move { connecting.await.map_err(io::Error::other) })
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
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let connected = tokio::time::timeout(within, async {
        if let Some(to) = transport.proxy.clone() {
            let auth = transport.proxy_auth.clone();
            let mut http = HttpConnector::new_with_resolver(Resolver {
                reach: Reach::Named,
            });
            http.set_nodelay(true);
            let to_host = format!("{host}:{port}").parse().map_err(io::Error::other)?;
            let socket = Via { to, auth }.dial(http, &to_host).await?;
            return Ok(socket.into_inner());
        }
        if let Ok(address) = bare.parse::<IpAddr>() {
            return match reach.allows_written(address) {
                true => TcpStream::connect((address, port)).await,
                false => Err(io::Error::other(Forbidden(address))),
            };
        }
        let all: Vec<_> = tokio::net::lookup_host((bare, port)).await?.collect();
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
}

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
        let reach = self.reach;
        Box::pin(async move {
            let all = tokio::net::lookup_host((name.as_str(), 0)).await?;
            Ok(allowed(all.collect(), reach)?.into_iter())
        })
    }
}
