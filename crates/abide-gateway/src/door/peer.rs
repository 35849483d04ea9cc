//! Whom a connection is from.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use super::callers::Seat;
use super::place::Place;

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
