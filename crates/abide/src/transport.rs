//! What a failed exchange was, read from the chain of errors below it.
//!
//! The evidence hides deep (a refused connection is an I/O error inside a connector's error inside
//! the client's), so the whole chain is walked. Nothing of a message's text counts except where a
//! library offers nothing else: for names that were not found.

use std::error::Error as StdError;
use std::io::ErrorKind;

use abide_core::classify::{Phase, Transport, TransportKind};

/// Reads a client error. `head` tells whether the head of the answer had arrived.
pub(crate) fn read(error: &reqwest::Error, head: bool) -> Transport {
    let phase = if head {
        Phase::Body
    } else if error.is_connect() {
        Phase::Connect
    } else if error.is_request() || error.is_timeout() {
        Phase::Head
    } else {
        Phase::Send
    };
    Transport {
        phase,
        kind: kind(error).unwrap_or_else(|| {
            if error.is_timeout() {
                TransportKind::Timeout
            } else if error.is_connect() {
                TransportKind::Other
            } else {
                TransportKind::Reset
            }
        }),
    }
}

/// What an error of an HTTP client, or one below it, says of the exchange; `None` where none of
/// them says anything.
pub fn kind(error: &(dyn StdError + 'static)) -> Option<TransportKind> {
    let mut found = None;
    let mut next = Some(error);
    while let Some(e) = next {
        if let Some(io) = e.downcast_ref::<std::io::Error>() {
            // What an I/O error was made of is not its source.
            if is_tls(io) {
                return Some(TransportKind::Tls);
            }
            found = found.or_else(|| of_io(io));
        }
        if e.downcast_ref::<rustls::Error>().is_some() {
            return Some(TransportKind::Tls);
        }
        if found.is_none() && e.to_string().starts_with("dns error") {
            found = Some(TransportKind::Dns);
        }
        next = e.source();
    }
    found
}

/// Whether an I/O error is made of one of TLS, however often it was wrapped.
fn is_tls(io: &std::io::Error) -> bool {
    let mut next: Option<&(dyn StdError + 'static)> = io.get_ref().map(|e| e as _);
    while let Some(e) = next {
        if e.is::<rustls::Error>() {
            return true;
        }
        let inner = e.downcast_ref::<std::io::Error>();
        next = match inner.and_then(std::io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => e.source(),
        };
    }
    false
}

fn of_io(e: &std::io::Error) -> Option<TransportKind> {
    Some(match e.kind() {
        ErrorKind::ConnectionRefused => TransportKind::Refused,
        ErrorKind::HostUnreachable => TransportKind::Unreachable,
        ErrorKind::NetworkUnreachable | ErrorKind::AddrNotAvailable | ErrorKind::NetworkDown => {
            TransportKind::NoNetwork
        }
        ErrorKind::TimedOut => TransportKind::Timeout,
        ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe
        | ErrorKind::UnexpectedEof => TransportKind::Reset,
        _ => return None,
    })
}

/// What happened, for a person.
pub const fn describe(t: &Transport) -> &'static str {
    match (t.kind, t.phase) {
        (TransportKind::Dns, _) => "its name could not be resolved",
        (TransportKind::Refused, _) => "it refused the connection",
        (TransportKind::Unreachable, _) => "it could not be reached",
        (TransportKind::NoNetwork, _) => "there is no way out of this machine",
        (TransportKind::Timeout, Phase::Body) => "its answer did not end in time",
        (TransportKind::Timeout, _) => "it did not answer in time",
        (TransportKind::Tls, _) => "no secure connection could be agreed on",
        (TransportKind::Reset, Phase::Body) => "its answer broke off",
        (TransportKind::Reset, _) => "it closed the connection",
        (_, Phase::Connect) => "no connection could be made",
        (_, Phase::Body) => "its answer could not be read",
        _ => "the exchange failed",
    }
}
