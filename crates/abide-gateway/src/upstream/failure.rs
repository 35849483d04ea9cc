//! Why an exchange with a provider came to nothing, and how far it had come.

use std::error::Error;
use std::net::IpAddr;
use std::time::Duration;

use abide::core::classify::{Phase, Transport, TransportKind};
use hyper_util::client::legacy;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The exchange failed.
    #[error("the exchange failed")]
    Exchange(#[source] legacy::Error),
    /// No connection could be made.
    #[error("no connection could be made")]
    Connect(#[source] Box<dyn Error + Send + Sync>),
    /// The exchange over a connection failed.
    #[error("the exchange failed")]
    Sent(#[source] hyper::Error),
    /// The address names no host that could be asked.
    #[error("the address names no host")]
    Hostless,
    /// No head came in time.
    #[error("no answer within {0:?}")]
    Late(Duration),
}

/// The name of a provider leads into our own network.
#[derive(Debug, thiserror::Error)]
#[error("{0} is an address of an inner network, and nobody named it as a provider's")]
pub(crate) struct Forbidden(pub(crate) IpAddr);

impl Forbidden {
    /// Where a name led that it must not lead to, if an error is about that.
    pub(crate) fn in_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Self> {
        let mut next = Some(error);
        while let Some(e) = next {
            if let Some(forbidden) = e.downcast_ref() {
                return Some(forbidden);
            }
            let inner = e.downcast_ref::<std::io::Error>();
            next = match inner.and_then(std::io::Error::get_ref) {
                Some(inner) => Some(inner),
                None => e.source(),
            };
        }
        None
    }
}

/// What a failure says of the provider. One that is ours (a forbidden address, a caller's body that
/// broke off) says nothing.
pub(crate) fn read(failure: &Failure) -> Option<Transport> {
    let (error, connects): (&(dyn Error + 'static), bool) = match failure {
        Failure::Hostless => return None,
        Failure::Late(_) => {
            return Some(Transport {
                phase: Phase::Head,
                kind: TransportKind::Timeout,
            });
        }
        Failure::Exchange(e) => (e, e.is_connect()),
        Failure::Connect(e) => (&**e, true),
        Failure::Sent(e) => (e, false),
    };
    if Forbidden::in_error(error).is_some() || is_callers(failure) {
        return None;
    }
    let phase = match connects {
        true => Phase::Connect,
        false => Phase::Head,
    };
    let kind = abide::transport_kind(error);
    Some(Transport {
        phase,
        kind: kind.unwrap_or(match connects {
            true => TransportKind::Other,
            false => TransportKind::Reset,
        }),
    })
}

/// The body that the caller sends broke off.
fn is_callers(failure: &Failure) -> bool {
    let below = match failure {
        Failure::Exchange(e) => e.source().and_then(|e| e.downcast_ref()),
        Failure::Sent(e) => Some(e),
        _ => None,
    };
    below.is_some_and(hyper::Error::is_user)
}
