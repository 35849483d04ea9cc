//! Whom a connection is from, and what is answered where it came in.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use super::callers::Seat;

/// What a listener answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Faces {
    /// All of it.
    #[default]
    All,
    /// What is proxied, and whether the gateway is there.
    Data,
    /// Only what is asked of the gateway itself.
    Admin,
}

/// Where a connection came in.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    /// What is answered there.
    pub(crate) faces: Faces,
    /// The address listened at; `None` for a socket of this machine's file system.
    pub(crate) ip: Option<IpAddr>,
}

impl Place {
    /// Only this machine's own programs come in there.
    pub(crate) fn is_local(&self) -> bool {
        self.ip.is_none_or(|ip| ip.to_canonical().is_loopback())
    }
}

/// Whom a connection is from.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// `None` over a socket of this machine's file system.
    pub(crate) address: Option<IpAddr>,
    /// In front of the gateway's own addresses: `http` or `https`.
    pub(crate) scheme: &'static str,
    /// Where it came in.
    pub(crate) door: Option<SocketAddr>,
    /// The same, as a caller writes it.
    pub(crate) named: Box<str>,
    /// The listener it came in by, and what is answered there.
    pub(crate) place: Place,
    /// Its place among all connections; whatever becomes of the connection keeps it.
    pub(crate) seat: Arc<Seat>,
}

impl Peer {
    /// Whether an address is the one at which the caller came in: it asks the gateway itself then, in
    /// full, as any server must take it.
    pub(crate) fn names_us(&self, authority: &http::uri::Authority) -> bool {
        let Some(door) = self.door else {
            return false;
        };
        let host = authority.host().trim_matches(['[', ']']);
        let here = host
            .parse()
            .is_ok_and(|ip: IpAddr| ip.to_canonical() == door.ip().to_canonical())
            || (host.eq_ignore_ascii_case("localhost") && door.ip().to_canonical().is_loopback());
        here && authority.port_u16() == Some(door.port())
    }
}
