//! Failures of the exchange itself, where no answer came or it broke off.
//!
//! They say that the provider, or the way to it, is broken just now; never that it asked for a
//! pause, so they hold only where a policy wants it. Whether it is our own network that is down is found elsewhere, from
//! several of them together.

use crate::finding::Finding;
use crate::verdict::{Health, Scope, Verdict};

/// One failure of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Transport {
    /// How far the exchange had come.
    pub phase: Phase,
    /// What went wrong.
    pub kind: TransportKind,
}

/// How far an exchange had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// No connection yet: nothing was sent.
    Connect,
    /// The request was being written.
    Send,
    /// The request was out, no head had come back.
    Head,
    /// The head was in; the body broke off.
    Body,
}

impl Phase {
    /// Nothing of the request can have reached the provider.
    pub const fn is_unsent(self) -> bool {
        matches!(self, Self::Connect)
    }
}

/// What went wrong with an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TransportKind {
    /// The name was not found, or nobody answered for it.
    Dns,
    /// The host is there and nobody listens.
    Refused,
    /// No way to the host.
    Unreachable,
    /// No way out of here: no network, or no address to send from.
    NoNetwork,
    /// It took too long.
    Timeout,
    /// The two sides could not agree on a secure channel.
    Tls,
    /// The connection was cut.
    Reset,
    /// Anything else.
    Other,
}

/// What a failure means of which nobody knows how far the exchange had come, or whether it was the
/// provider's at all: this one attempt came to nothing. It may have been sent.
pub const fn of_unknown() -> Finding {
    let mut finding = Finding::of(Verdict::Unavailable);
    finding.health = Health::Neutral;
    finding
}

/// What a failure of the exchange means: the provider is unavailable.
///
/// A body that broke off says something about that one answer only, since its head did arrive.
pub const fn of_transport(transport: &Transport) -> Finding {
    let mut finding = Finding::of(Verdict::Unavailable);
    finding.unanswered = !matches!(transport.phase, Phase::Body);
    finding.scope = match transport.phase {
        Phase::Body => {
            finding.health = Health::Neutral;
            Scope::Request
        }
        Phase::Connect | Phase::Send | Phase::Head => Scope::Provider,
    };
    finding
}
