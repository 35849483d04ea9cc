//! Where a connection comes in, and what is answered there.

use std::net::IpAddr;

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
