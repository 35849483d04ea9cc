//! A change of protocol (WebSocket and others): asked for by a caller, agreed to by a provider, and
//! bytes from then on.

use std::sync::Arc;

use http::header::{CONNECTION, HeaderMap, HeaderValue, UPGRADE};
use http::{Request, StatusCode, response};
use hyper::upgrade::OnUpgrade;

use crate::door::Peer;
use crate::gateway::Gateway;
use crate::record::Record;
use crate::tunnel::{self, Caller};

const SAID: HeaderValue = HeaderValue::from_static("upgrade");

/// A caller's wish to leave HTTP.
pub(super) struct Upgrade {
    to: HeaderValue,
    caller: OnUpgrade,
}

/// Whether a list of protocols has this one, of whatever version.
fn names(protocols: &HeaderValue, name: &str) -> bool {
    let Ok(protocols) = protocols.to_str() else {
        return false;
    };
    protocols.split(',').any(|protocol| {
        let protocol = protocol.split('/').next().unwrap_or_default();
        protocol.trim().eq_ignore_ascii_case(name)
    })
}

impl Upgrade {
    /// Reads it, before the fields of one connection are taken out.
    pub(super) fn of<B>(request: &mut Request<B>) -> Option<Self> {
        let headers = request.headers();
        let to = headers.get(UPGRADE)?.clone();
        // HTTP/2 in clear text is agreed on hop by hop: behind a change to it, nobody would see or pace
        // the requests on it.
        if names(&to, "h2c") || names(&to, "h2") {
            return None;
        }
        let values = headers.get_all(CONNECTION).iter();
        let asks = values
            .filter_map(|v| v.to_str().ok())
            .flat_map(|v| v.split(','))
            .any(|option| option.trim().eq_ignore_ascii_case("upgrade"));
        asks.then(|| Self {
            to,
            caller: hyper::upgrade::on(request),
        })
    }

    /// Asks the provider for it.
    pub(super) fn ask(&self, headers: &mut HeaderMap) {
        headers.insert(CONNECTION, SAID);
        headers.insert(UPGRADE, self.to.clone());
    }

    /// Joins both sides where the provider agreed, and writes down what becomes of them; gives the
    /// record back where it did not. `to` is what it agreed to.
    pub(super) fn answer(
        self,
        gateway: &Arc<Gateway>,
        peer: &Peer,
        parts: &mut response::Parts,
        to: Option<HeaderValue>,
        record: Record,
    ) -> Option<Record> {
        if parts.status != StatusCode::SWITCHING_PROTOCOLS {
            return Some(record);
        }
        parts.headers.insert(CONNECTION, SAID);
        parts.headers.insert(UPGRADE, to.unwrap_or(self.to));
        let Some(provider) = parts.extensions.remove::<OnUpgrade>() else {
            return Some(record);
        };
        let caller = Caller {
            upgrade: self.caller,
            seat: Arc::clone(&peer.seat),
            record,
        };
        tunnel::join(gateway, caller, provider);
        None
    }
}
