//! Which addresses a provider may have.
//!
//! A name that anybody can point anywhere must not lead a gateway into its own network: what it
//! resolves to is looked at when it is connected to, so that a second answer of the name server
//! does not pass. An address that the operator wrote down himself is his own business; so is a name
//! that he wrote down as a provider's, but for where clouds keep their secrets: nobody means that.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// How far connections may lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Anywhere: whoever asks could go there without us.
    Anywhere,
    /// Anywhere the operator's own words lead, but no name leads to a link-local address.
    Named,
    /// The public internet only.
    Public,
}

impl Reach {
    /// Whether an address may be connected to that a name leads to.
    pub(crate) fn allows(self, address: IpAddr) -> bool {
        match self {
            Self::Anywhere => true,
            Self::Named => !is_link_local(address),
            Self::Public => match address {
                IpAddr::V4(v4) => is_public_v4(v4),
                IpAddr::V6(v6) => is_public_v6(v6),
            },
        }
    }

    /// Whether an address may be connected to that stands there as it is.
    pub(crate) fn allows_written(self, address: IpAddr) -> bool {
        self == Self::Named || self.allows(address)
    }
}

fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => {
            v6.is_unicast_link_local() || worn(v6).is_some_and(|v4| v4.is_link_local())
        }
    }
}

/// Neither this machine, nor a network behind it, nor where clouds keep their secrets
/// (169.254.0.0/16): the registry of RFC 6890, as far as it is not global.
const fn is_public_v4(a: Ipv4Addr) -> bool {
    let [b0, b1, b2, _] = a.octets();
    !(b0 == 0
        || a.is_private()
        || a.is_loopback()
        || a.is_link_local()
        || a.is_multicast()
        || a.is_broadcast()
        || a.is_documentation()
        // Shared by carriers (RFC 6598), benchmarks (RFC 2544), protocols (RFC 6890), reserved.
        || (b0 == 100 && b1 & 0xc0 == 64)
        || (b0 == 198 && b1 & 0xfe == 18)
        || (b0 == 192 && b1 == 0 && b2 == 0)
        || b0 >= 240)
}

/// An IPv4 address in another dress is what it is: mapped, compatible, translated (RFC 6052), 6to4.
fn worn(a: Ipv6Addr) -> Option<Ipv4Addr> {
    let [s0, s1, s2, s3, s4, s5, s6, s7] = a.segments();
    let inner = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Some(Ipv4Addr::new(a, b, c, d))
    };
    match (s0, s1, s2, s3, s4, s5) {
        (0, 0, 0, 0, 0, 0 | 0xffff) | (0x64, 0xff9b, 0, 0, 0, 0) => inner(s6, s7),
        (0x2002, ..) => inner(s1, s2),
        _ => None,
    }
}

fn is_public_v6(a: Ipv6Addr) -> bool {
    if let Some(v4) = worn(a) {
        return is_public_v4(v4);
    }
    let [s0, s1, ..] = a.segments();
    // 2000::/3 is what is given out; documentation and Teredo are not for connecting to.
    s0 & 0xe000 == 0x2000 && !(s0 == 0x2001 && (s1 == 0xdb8 || s1 == 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn public(text: &str) -> bool {
        Reach::Public.allows(text.parse().unwrap())
    }

    #[test]
    fn gw_no_name_leads_to_where_clouds_keep_secrets() {
        for secret in [
            "169.254.169.254",
            "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "fe80::1",
        ] {
            let address = secret.parse().unwrap();
            assert!(!Reach::Named.allows(address), "{secret}");
            assert!(Reach::Named.allows_written(address), "{secret}");
            assert!(!Reach::Public.allows_written(address), "{secret}");
        }
        for inner in ["127.0.0.1", "10.1.2.3", "::1", "fd00::1"] {
            assert!(Reach::Named.allows(inner.parse().unwrap()), "{inner}");
        }
    }

    #[test]
    fn only_the_public_internet_is_reached_by_name() {
        for inside in [
            "127.0.0.1",
            "127.8.8.8",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "192.0.0.192",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "2002:7f00:1::",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "2001:db8::1",
        ] {
            assert!(!public(inside), "{inside}");
            assert!(Reach::Anywhere.allows(inside.parse().unwrap()));
        }
        for outside in [
            "8.8.8.8",
            "140.82.121.6",
            "2606:4700::1111",
            "64:ff9b::808:808",
        ] {
            assert!(public(outside), "{outside}");
        }
    }
}
