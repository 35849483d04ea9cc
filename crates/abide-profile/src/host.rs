//! Hosts by which a provider is recognised.

use std::fmt;

/// A host, with all below it (`*.`) or without, on one port or on any.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Host {
    name: String,
    below: bool,
    port: Option<u16>,
}

impl Host {
    /// Reads a host: `api.example.org`, `*.example.org`, `localhost:8080`, `[::1]:80`. `None` for
    /// anything else, a URL among it.
    pub fn parse(text: &str) -> Option<Self> {
        let (below, rest) = match text.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (name, port) = match rest.rsplit_once(':') {
            Some((name, port)) if !port.contains(']') => (name, Some(port)),
            _ => (rest, None),
        };
        let port = match port {
            Some(p) if p.bytes().all(|b| b.is_ascii_digit()) => Some(p.parse().ok()?),
            Some(_) => return None,
            None => None,
        };
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        let fit = if let Some(inner) = name.strip_prefix('[') {
            let inner = inner.strip_suffix(']')?;
            !below && inner.parse::<std::net::Ipv6Addr>().is_ok()
        } else {
            is_name(&name)
        };
        fit.then_some(Self { name, below, port })
    }

    /// Whether a request to this host and port is meant.
    pub fn matches(&self, host: &str, port: u16) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host);
        let here = if self.below {
            let cut = host.len().checked_sub(self.name.len() + 1);
            cut.is_some_and(|cut| {
                let (front, end) = host.as_bytes().split_at(cut);
                !front.is_empty()
                    && end[0] == b'.'
                    && end[1..].eq_ignore_ascii_case(self.name.as_bytes())
            })
        } else {
            host.eq_ignore_ascii_case(&self.name)
        };
        here && self.port.is_none_or(|p| p == port)
    }

    /// Whether it is this host itself, whatever the port.
    pub(crate) fn is_named(&self, host: &str) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host);
        !self.below && host.eq_ignore_ascii_case(&self.name)
    }

    /// Whether all hosts below it are meant.
    pub const fn is_below(&self) -> bool {
        self.below
    }

    /// How closely it describes what it matches; of several the closest one counts.
    pub const fn closeness(&self) -> (bool, bool, usize) {
        (!self.below, self.port.is_some(), self.name.len())
    }
}

impl Host {
    /// Without its port, as hosts are looked up.
    pub(crate) fn without_port(&self) -> String {
        let below = if self.below { "*." } else { "" };
        format!("{below}{}", self.name)
    }
}

fn is_name(name: &str) -> bool {
    let label = |l: &str| {
        let fit = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        (1..=63).contains(&l.len()) && l.bytes().all(fit)
    };
    name.len() <= 253 && name.split('.').all(label)
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.below {
            f.write_str("*.")?;
        }
        f.write_str(&self.name)?;
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_recognised() {
        let is = |pattern: &str, host, port| Host::parse(pattern).unwrap().matches(host, port);
        assert!(is("api.example.org", "API.example.org.", 443));
        assert!(!is("api.example.org", "x.api.example.org", 443));
        assert!(is("*.example.org", "a.b.Example.org", 443));
        assert!(!is("*.example.org", "example.org", 443));
        assert!(!is("*.example.org", "badexample.org", 443));
        assert!(!is("*.example.org", ".example.org", 443));
        assert!(is("localhost:8080", "localhost", 8080));
        assert!(!is("localhost:8080", "localhost", 80));
        assert!(is("[::1]:80", "[::1]", 80));
        assert!(!is("*.org", "é", 80));
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for text in [
            "",
            "*",
            "*.",
            ".",
            "a..b",
            "https://a",
            "a/b",
            "a b",
            "a:",
            "a:x",
            "a:99999",
            "a:-1",
            "user@a",
            "[::1",
            "*.[::1]",
            "é.org",
        ] {
            assert_eq!(Host::parse(text), None, "{text:?}");
        }
    }
}
