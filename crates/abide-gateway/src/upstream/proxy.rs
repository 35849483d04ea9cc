//! A proxy on the way to a provider: everything goes through it as a tunnel, http too.

use std::io;

use http::{HeaderValue, Uri};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service as _;

use super::resolve::Resolver;
use crate::settings::Transport;

/// A proxy on the way.
#[derive(Clone, Debug)]
pub(super) struct Via {
    to: Uri,
    auth: Option<HeaderValue>,
}

impl Via {
    pub(super) fn of(transport: &Transport) -> Option<Self> {
        Some(Self {
            to: transport.proxy.clone()?,
            auth: transport.proxy_auth.clone(),
        })
    }

    /// A tunnel through it. The port is always named: the library takes every address without one
    /// for https.
    pub(super) async fn dial(
        &self,
        http: HttpConnector<Resolver>,
        to: &Uri,
    ) -> io::Result<TokioIo<TcpStream>> {
        let host = to.host().unwrap_or_default();
        let port = match (to.port_u16(), to.scheme_str()) {
            (Some(port), _) => port,
            (None, Some("http")) => 80,
            (None, _) => 443,
        };
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
pub(crate) struct Unled(Box<dyn std::error::Error + Send + Sync>);
