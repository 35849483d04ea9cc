//! Names of providers, and which of their addresses may be connected to.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper_util::client::legacy::connect::dns::Name;
use tower_service::Service;

use super::address::Reach;
use super::failure::Forbidden;

/// The addresses of a name that may be connected to; an error where it has none but others.
pub(super) fn allowed(all: Vec<SocketAddr>, reach: Reach) -> io::Result<Vec<SocketAddr>> {
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
    pub(super) reach: Reach,
    /// Name servers that do not answer are asked for minutes by some systems.
    pub(super) within: Duration,
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
