//! What a failure of the exchange says about our own network.
//!
//! Only what our transport found counts, never what a provider said. A refused connection, a
//! broken one and a failed handshake all come from the other side, and say nothing of ours.

use crate::classify::{Phase, Transport, TransportKind};

/// How much a failure says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Says {
    /// Nothing about our network.
    Nothing,
    /// The host may be dead as well: what another host's failure has to bear out.
    OneHost,
    /// A name was not found; a neutral name that is not found either bears it out.
    Name,
    /// There is no way out of here at all.
    NoWayOut,
}

pub(super) const fn of(transport: &Transport) -> Says {
    // Its head did arrive.
    if matches!(transport.phase, Phase::Body) {
        return Says::Nothing;
    }
    match transport.kind {
        TransportKind::Dns => Says::Name,
        TransportKind::NoNetwork => Says::NoWayOut,
        TransportKind::Timeout | TransportKind::Unreachable => Says::OneHost,
        TransportKind::Other
        | TransportKind::Refused
        | TransportKind::Reset
        | TransportKind::Tls => Says::Nothing,
    }
}

/// A host, told apart from others. Two names that come out alike are taken for one host, which
/// only asks for more evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Host(u64);

/// Who bears witness by an answer: a host, or nobody where that is this machine. Whoever hears of
/// the same host again and again makes it once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Witness(pub(super) Option<Host>);

impl Witness {
    /// The host of this name.
    pub fn of(host: &str) -> Self {
        Self((!is_loopback(host)).then(|| Host::of(host)))
    }
}

impl Host {
    /// By its name without a port or the dot of a full name: one host is one witness.
    pub(super) fn of(name: &str) -> Self {
        let port = |p: &str| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit());
        let name = match name.rsplit_once(':') {
            Some((host, p)) if port(p) && !host.ends_with(':') => host,
            _ => name,
        };
        let name = name.strip_suffix('.').unwrap_or(name);
        // FNV-1a: an outage is looked for after every answer, and names are short.
        let bytes = name.bytes().map(|b| b.to_ascii_lowercase());
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325, |h: u64, b| {
            (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(hash)
    }
}

/// Whether a host is this machine: it is there without any network.
pub fn is_loopback(host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
    if let Ok(ip) = bare.unwrap_or(host).parse::<std::net::IpAddr>() {
        return match ip {
            std::net::IpAddr::V4(ip) => ip.is_loopback(),
            std::net::IpAddr::V6(ip) => ip.to_canonical().is_loopback(),
        };
    }
    let top = host.rsplit('.').next().unwrap_or(host);
    top.eq_ignore_ascii_case("localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_by_all_its_names() {
        for host in [
            "127.0.0.1",
            "127.8.9.1",
            "::1",
            "[::1]",
            "localhost",
            "LocalHost.",
            "a.localhost",
            "::ffff:127.0.0.1",
        ] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["localhost.example", "128.0.0.1", "", "[::2]", "10.0.0.1"] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
